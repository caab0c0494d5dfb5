"""What a worker does to images: from pixels to anchors. Made once per process."""

import os
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.corpus.anchors import DescribedImage, described_image
from anchornet_tf.corpus.config import BLUR
from anchornet_tf.corpus.exported_network import ExportedNetwork
from anchornet_tf.corpus.model_folder import ModelFolder
from anchornet_tf.corpus.own_network import OwnNetwork
from anchornet_tf.image import gaussian_smoothing
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.utils.image_io import ScaledImage

Model = AnchorNet | str | os.PathLike


class AnchorDescriber:
    """Finds the anchors of images, all classes at once.

    Args:
        model: An `AnchorNet`, the folder of one, the name of a preset, or the folder of an export.
        peaks: int. How many anchors of an image to keep, or None for one of every filter.
        dense: bool. Whether to keep the descriptors of all cells too.
        image_size: int. Side in pixels of the squares that the network sees.
        blur: float. Standard deviation, in cells, of a Gaussian that smooths the descriptors of
            places and points; those of all cells stay as they are.

    Attributes:
        classes: Names of the model's classes.
        directions: `(depth, directions)` that descriptors are projected on.
    """

    def __init__(
        self,
        model: Model,
        peaks: int | None = None,
        dense: bool = False,
        image_size: int = 224,
        blur: float = BLUR,
    ):
        self._network = _network(model)
        self.classes, self.directions = self._network.classes, self._network.directions
        every = self._network.num_filters * len(self.classes)
        self._peaks = every if peaks is None else min(peaks, every)
        self._dense = dense
        self._size = (image_size, image_size)
        self._blur = float(blur)
        signature = [tf.TensorSpec((None, *self._size, 3), tf.float32)]
        self._compute = tf.function(self._anchors, input_signature=signature, autograph=False)

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
                self._network.num_filters,
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
        codes = gaussian_smoothing(self._network.codes(resized[tf.newaxis]), self._blur)[0].numpy()
        (height, width), (rows, columns) = image.original_size, codes.shape[:2]
        row = np.clip((point[1] + 0.5) * rows / height - 0.5, 0, rows - 1)
        column = np.clip((point[0] + 0.5) * columns / width - 0.5, 0, columns - 1)
        top, left = int(row), int(column)
        bottom, right = min(top + 1, rows - 1), min(left + 1, columns - 1)
        down, across = row - top, column - left
        upper = codes[top, left] * (1 - across) + codes[top, right] * across
        lower = codes[bottom, left] * (1 - across) + codes[bottom, right] * across
        return upper * (1 - down) + lower * down

    def _anchors(self, images):
        response, best, codes = self._network.anchors(images)
        strengths, filters = tf.math.top_k(response, k=self._peaks, sorted=True)
        places = tf.gather(best, filters, batch_dims=1)
        shape = tf.shape(codes)
        smooth = gaussian_smoothing(codes, self._blur)
        smooth = tf.reshape(smooth, (shape[0], shape[1] * shape[2], codes.shape[-1]))
        there = tf.gather(smooth, places, batch_dims=1)
        found = shape[1:3], filters, places, strengths, there
        return (*found, codes) if self._dense else found


def _network(model: Model) -> OwnNetwork | ExportedNetwork:
    if isinstance(model, str | os.PathLike):
        folder = ModelFolder.find(model)
        if folder.is_exported:
            return ExportedNetwork(folder.path, folder.classes, folder.num_filters)
    return OwnNetwork(model)
