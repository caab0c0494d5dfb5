"""A preset or the folder of a model, as what describes a corpus."""

import os

import tensorflow as tf

from anchornet_tf.corpus.quantization import strongest_directions
from anchornet_tf.features.networks import load_model
from anchornet_tf.models.anchor_peaks import anchor_peaks
from anchornet_tf.models.anchornet import AnchorNet


class OwnNetwork:
    """Finds peaks and descriptors with an `AnchorNet`.

    Args:
        model: An `AnchorNet`, the folder of one, or the name of a preset.

    Attributes:
        classes: Names of the model's classes.
        num_filters: int. Filters of a bank.
        directions: `(depth, directions)` that descriptors are projected on.
    """

    def __init__(self, model: AnchorNet | str | os.PathLike):
        self._model = load_model(model)
        self.classes = tuple(self._model.classes)
        self.num_filters = self._model.num_filters
        encoder = self._model.autoencoder.kernel.numpy()[0, 0]
        equalizer = self._model.code_equalizer.matrix.numpy()
        self.directions = strongest_directions(encoder, equalizer)
        # What follows the maps is linear: encoder, equalizer and directions are one matrix.
        self._projection = tf.constant(encoder @ equalizer @ self.directions)
        mean = self._model.autoencoder.running_mean.numpy()
        self._offset = tf.constant(mean @ self._projection.numpy())

    def codes(self, images: tf.Tensor) -> tf.Tensor:
        """Returns the descriptors of all cells, `(batch, height, width, directions)`.

        Args:
            images: `(batch, height, width, 3)`, float.
        """
        return self._codes(self._model.linear_responses(self._model.taps(images)))

    def anchors(self, images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Finds where each anchor fires strongest.

        Args:
            images: `(batch, height, width, 3)`, float.

        Returns:
            As `anchor_peaks` does, strengths and cells; and the descriptors of all cells.
        """
        linear = self._model.linear_responses(self._model.taps(images))
        return *anchor_peaks(self._model, linear), self._codes(linear)

    def _codes(self, linear):
        return tf.tensordot(self._model.gamma_maps(linear), self._projection, 1) - self._offset
