"""A SavedModel that `export.saved_model` wrote, as what describes a corpus."""

import os

import tensorflow as tf

from anchornet_tf.corpus.quantization import strongest_directions


class ExportedNetwork:
    """Finds peaks and descriptors with an exported model; as `OwnNetwork`, up to rounding.

    Args:
        folder: Of a version.
        classes: Names of the model's classes.
        num_filters: int. Filters of a bank.

    Attributes:
        classes: Names of the model's classes.
        num_filters: int. Filters of a bank.
        directions: `(depth, directions)` that descriptors are projected on.
    """

    def __init__(self, folder: str | os.PathLike, classes: tuple[str, ...], num_filters: int):
        self._loaded = tf.saved_model.load(os.fspath(folder))
        self.classes, self.num_filters = classes, num_filters
        self.directions = strongest_directions(
            self._loaded.encoder.numpy()[0, 0], self._loaded.equalizer.numpy()
        )

    def codes(self, images: tf.Tensor) -> tf.Tensor:
        """As `OwnNetwork.codes`."""
        return tf.tensordot(self._loaded.features(images)["features"], self.directions, 1)

    def anchors(self, images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """As `OwnNetwork.anchors`."""
        found = self._loaded.anchors(images)
        codes = tf.tensordot(found["features"], self.directions, 1)
        return found["strengths"], found["cells"], codes
