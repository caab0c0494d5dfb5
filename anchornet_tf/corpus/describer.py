"""What a worker does to images: from pixels to anchors. Made once per process."""

import os
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.corpus.anchors import DescribedImage, described_image
from anchornet_tf.corpus.quantization import strongest_directions
from anchornet_tf.features.networks import load_model
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.utils.image_io import ScaledImage


class AnchorDescriber:
    """Finds the anchors of images, all classes at once.

    Args:
        model: An `AnchorNet`, the folder of one, or the name of a preset.
        peaks: int. How many anchors of an image to keep, or None for one of every filter.
        dense: bool. Whether to keep the descriptors of all cells too.
        image_size: int. Side in pixels of the squares that the network sees.

    Attributes:
        classes: Names of the model's classes.
        directions: `(depth, directions)` that descriptors are projected on.
    """

    def __init__(
        self,
        model: AnchorNet | str | os.PathLike,
        peaks: int | None = None,
        dense: bool = False,
        image_size: int = 224,
    ):
        self._model = load_model(model)
        self._num_filters = self._model.num_filters
        every = self._num_filters * len(self._model.classes)
        self._peaks = every if peaks is None else min(peaks, every)
        self._dense = dense
        self._size = (image_size, image_size)
        self.classes = tuple(self._model.classes)
        encoder = self._model.autoencoder.kernel.numpy()[0, 0]
        equalizer = self._model.code_equalizer.matrix.numpy()
        self.directions = strongest_directions(encoder, equalizer)
        # What follows the maps is linear: encoder, equalizer and directions are one matrix.
        self._projection = tf.constant(encoder @ equalizer @ self.directions)
        mean = self._model.autoencoder.running_mean.numpy()
        self._offset = tf.constant(mean @ self._projection.numpy())
        statistics = [bank.statistics() for bank in self._model.banks]
        self._mean, self._deviation = (
            tf.concat(parts, axis=0) for parts in zip(*statistics, strict=True)
        )
        signature = [tf.TensorSpec((None, *self._size, 3), tf.float32)]
        self._compute = tf.function(self._anchors, input_signature=signature)

    def __call__(self, images: Sequence[ScaledImage]) -> list[DescribedImage]:
        """Describes images together.

        Args:
            images: As `anchornet_tf.utils.image_io.read_scaled` gives them.
        """
        inputs = [tf.image.resize(image.pixels, self._size, antialias=True) for image in images]
        grid, *found = self._compute(tf.stack(inputs))
        grid = tuple(int(side) for side in grid)
        columns = [array.numpy() for array in found]
        # (image, ...) of filters, cells, strengths, descriptors and, where asked for, all cells.
        return [
            described_image(
                image.original_size,
                grid,
                *(column[number] for column in columns[:4]),
                self._num_filters,
                columns[4][number] if self._dense else None,
            )
            for number, image in enumerate(images)
        ]

    def at_point(self, image: ScaledImage, point: Sequence[float]) -> np.ndarray:
        """Returns the descriptor of one point, `(directions,)`, between the cells' centres.

        Args:
            image: As `anchornet_tf.utils.image_io.read_scaled` gives it.
            point: (x, y) in pixels of the original image.
        """
        resized = tf.image.resize(image.pixels, self._size, antialias=True)
        linear = self._model.linear_responses(self._model.taps(resized[tf.newaxis]))
        codes = self._descriptors(self._model.gamma_maps(linear))[0].numpy()
        (height, width), (rows, columns) = image.original_size, codes.shape[:2]
        row = np.clip((point[1] + 0.5) * rows / height - 0.5, 0, rows - 1)
        column = np.clip((point[0] + 0.5) * columns / width - 0.5, 0, columns - 1)
        top, left = int(row), int(column)
        bottom, right = min(top + 1, rows - 1), min(left + 1, columns - 1)
        down, across = row - top, column - left
        upper = codes[top, left] * (1 - across) + codes[top, right] * across
        lower = codes[bottom, left] * (1 - across) + codes[bottom, right] * across
        return upper * (1 - down) + lower * down

    def _descriptors(self, gamma):
        return tf.tensordot(gamma, self._projection, 1) - self._offset

    def _anchors(self, images):
        linear = self._model.linear_responses(self._model.taps(images))
        shape = tf.shape(linear)
        cells = shape[1] * shape[2]
        flat = tf.reshape(linear, (shape[0], cells, linear.shape[-1]))
        # Whitening moves and stretches a map, and leaves its peak where it is.
        best = tf.math.argmax(flat, axis=1, output_type=tf.int32)
        response = tf.reduce_max(flat, axis=1)
        strengths, filters = tf.math.top_k(
            (response - self._mean) / self._deviation, k=self._peaks, sorted=True
        )
        places = tf.gather(best, filters, batch_dims=1)
        if self._dense:
            dense = self._descriptors(self._model.gamma_maps(linear))
            codes = tf.reshape(dense, (shape[0], cells, dense.shape[-1]))
            codes = tf.gather(codes, places, batch_dims=1)
            return shape[1:3], filters, places, strengths, codes, dense
        gamma = self._model.gamma_maps(tf.gather(flat, places, batch_dims=1))
        return shape[1:3], filters, places, strengths, self._descriptors(gamma)
