"""Descriptors that a network computes on a regular grid of each image."""

import copy
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.image import gaussian_smoothing

Network = Callable[[tf.Tensor], tf.Tensor]


class DeepDescriptor:
    """Turns any network into a descriptor of images.

    `get_descriptor` uses it for the networks of AnchorNet.

    Args:
        network: Callable from `(batch, height, width, 3)` float32 RGB images with values from 0 to
            255 to `(batch, rows, columns, depth)` maps that cover them. Compiled once.
        image_size: int or `(height, width)` that images are resized to (paper: 224), or None to
            keep the size of each image.
        batch_size: int. Images per pass of the network.
        blur: float. Standard deviation, in cells, of a Gaussian that smooths the maps; 0 for none,
            as in the paper. A blur of one cell makes nearest neighbours more reliable, above all
            those of the hypercolumn.
        confidence: What `Matcher` needs to tell how sure matches of these descriptors are: the
            contents of a file that `trainers.fit_confidence` wrote. None for what was fitted to
            the hypercolumn.

    Raises:
        ValueError: If a number is out of range.

    Example:

    ```python
    import keras
    import numpy as np
    from anchornet_tf import DeepDescriptor

    describe = DeepDescriptor(keras.layers.Conv2D(8, 3, strides=4), image_size=64)
    (features,) = describe([np.zeros((100, 120, 3), np.uint8)])
    assert features.image_size == (100, 120)
    ```
    """

    def __init__(
        self,
        network: Network,
        image_size: int | tuple[int, int] | None = 224,
        batch_size: int = 8,
        blur: float = 0.0,
        confidence: Mapping | None = None,
    ):
        if not callable(network):
            raise ValueError(f"Expected a callable network. Received: network={network!r}")
        if batch_size < 1:
            raise ValueError(f"Expected a positive `batch_size`. Received: {batch_size}")
        if not blur >= 0:
            raise ValueError(f"Expected a `blur` of at least 0. Received: {blur}")
        self.network = network
        self.image_size = _checked_size(image_size)
        self.batch_size = batch_size
        self.blur = float(blur)
        self.confidence = confidence
        signature = [tf.TensorSpec((None, None, None, 3), tf.float32)]
        self._compute = tf.function(self._maps, input_signature=signature)

    def at_size(self, image_size: int | tuple[int, int] | None) -> "DeepDescriptor":
        """Returns the same descriptor of images in another size; nothing is compiled again.

        Args:
            image_size: As in `DeepDescriptor`.
        """
        other = copy.copy(self)
        other.image_size = _checked_size(image_size)
        return other

    def _maps(self, images):
        return gaussian_smoothing(self.network(images), self.blur)

    def __call__(self, images: Sequence[np.ndarray]) -> list[FeatureMap]:
        """Returns the feature map of each `(height, width, 3)` image with values from 0 to 255.

        Raises:
            ValueError: If an image has another shape or values that are not finite.
        """
        maps: list[FeatureMap] = []
        for start in range(0, len(images), self.batch_size):
            chunk = images[start : start + self.batch_size]
            inputs = [self._resized(image) for image in chunk]
            # Images that keep their own size can share a pass only if their sizes agree.
            together = len({tuple(image.shape) for image in inputs}) == 1
            groups = [tf.stack(inputs)] if together else [image[None] for image in inputs]
            values = [row for group in groups for row in self._compute(group).numpy()]
            for image, value in zip(chunk, values, strict=True):
                maps.append(FeatureMap(value, tuple(np.shape(image)[:2])))
        return maps

    def _resized(self, pixels: np.ndarray) -> tf.Tensor:
        image = tf.convert_to_tensor(pixels)
        if image.shape.rank != 3 or image.shape[-1] != 3:
            raise ValueError(
                "Expected RGB images of shape (height, width, 3). "
                f"Received: shape={tuple(image.shape)}"
            )
        if image.dtype.is_floating and not bool(tf.reduce_all(tf.math.is_finite(image))):
            raise ValueError(
                "Expected finite pixel values. Received: an image with NaN or infinity"
            )
        if self.image_size is None:
            return tf.cast(image, tf.float32)
        # Without the antialias filter, a large photograph would alias into noise.
        return tf.image.resize(image, self.image_size, antialias=True)


def _checked_size(size) -> tuple[int, int] | None:
    """Returns a size as (height, width), or None for the images' own sizes."""
    if size is None:
        return None
    sides = tuple(size) if isinstance(size, tuple | list) else (size, size)
    if len(sides) != 2 or not all(isinstance(side, int) and side >= 1 for side in sides):
        raise ValueError(
            "Expected an `image_size` that is a positive integer, a (height, width) pair of them "
            f"or None. Received: {size!r}"
        )
    return sides
