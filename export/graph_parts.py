"""Parts of images that show their objects, inside a graph.

The numbers are those of `anchornet_tf.features.look_twice`: `object_box`, `Box.snapped` and
`Box.pixels`, for all images of a batch at once.
"""

from typing import NamedTuple

import tensorflow as tf

from anchornet_tf.features.look_twice import LEFT_OUT, MARGIN, SLOPE, SMALLEST

# A small crop is as large as the smallest one, but for rounding.
_ROUNDING = 1e-9


class Parts(NamedTuple):
    """A part of each image of a batch, in whole pixels.

    Attributes:
        start: int32 `(batch, 2)`: the first (row, column).
        stop: int32 `(batch, 2)`: the (row, column) behind the last ones.
        image_size: int32 `(2,)`: height and width of the images.
    """

    start: tf.Tensor
    stop: tf.Tensor
    image_size: tf.Tensor

    @property
    def size(self) -> tf.Tensor:
        """int32 `(batch, 2)`: height and width of each part."""
        return self.stop - self.start

    def shares(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns where parts begin and end, as shares of the sides: float64 `(batch, 2)` each."""
        whole = tf.cast(self.image_size, tf.float64)
        return tf.cast(self.start, tf.float64) / whole, tf.cast(self.stop, tf.float64) / whole

    def cut_out(self, images: tf.Tensor, size: tuple[int, int]) -> tf.Tensor:
        """Returns the parts in one size.

        Args:
            images: `(batch, height, width, 3)`, uint8 or float.
            size: (height, width) that each part is resized to.

        Returns:
            float32 `(batch, *size, 3)`.
        """

        def one_image(values):
            image, start, stop = values
            part = image[start[0] : stop[0], start[1] : stop[1]]
            return tf.ensure_shape(tf.image.resize(part, size, antialias=True), (*size, 3))

        # One by one: what resizes a batch of boxes, `tf.image.crop_and_resize`, has no antialiasing
        # filter.
        return tf.map_fn(
            one_image,
            (images, self.start, self.stop),
            fn_output_signature=tf.TensorSpec((*size, 3), tf.float32),
        )


def object_parts(logits: tf.Tensor, image_size: tf.Tensor) -> Parts:
    """Returns the part of each image that shows its object.

    Args:
        logits: float `(batch, rows, columns)` over the images: above 0 where there is an object.
        image_size: int32 `(2,)`: height and width of the images.
    """
    # Double precision decides which pixel is the nearest as NumPy does.
    weights = 1 / (1 + tf.exp(-SLOPE * tf.cast(logits, tf.float64)))
    extents = [_extents(tf.reduce_sum(weights, axis=axis)) for axis in (2, 1)]
    first, last = (tf.stack(sides, axis=-1) for sides in zip(*extents, strict=True))  # (batch, 2)
    whole = tf.cast(image_size, tf.float64)
    # Halves are rounded to even numbers, as in Python.
    start, stop = (tf.cast(tf.round(border * whole), tf.int32) for border in (first, last))
    start = tf.minimum(start, image_size - 1)
    return Parts(start, tf.maximum(start + 1, stop), image_size)


def _extents(weights):
    """Returns from where to where most of the weight `(batch, n)` lies: shares `(batch,)`."""
    passed = tf.pad(tf.cumsum(weights, axis=1), [[0, 0], [1, 0]])
    passed /= passed[:, -1:]
    first, last = (_place_of(share, passed) for share in (LEFT_OUT, 1 - LEFT_OUT))
    margin = tf.maximum(MARGIN * (last - first), (SMALLEST - (last - first)) / 2)
    first, last = first - margin, last + margin
    # A small crop at the border of the image is moved inside.
    shift = tf.maximum(-first, 0.0) - tf.maximum(last - 1, 0.0)
    shift = tf.where(last - first <= SMALLEST + _ROUNDING, shift, tf.zeros_like(shift))
    return tf.maximum(first + shift, 0.0), tf.minimum(last + shift, 1.0)


def _place_of(share, passed):
    """Returns where rising rows `(batch, n + 1)` from 0 to 1 reach a share, as shares of n."""
    count = passed.shape[1] - 1
    below = tf.reduce_sum(tf.cast(passed[:, 1:-1] <= share, tf.int32), axis=1)  # (batch,)
    before, after = (tf.gather(passed, below + step, batch_dims=1) for step in (0, 1))
    return (tf.cast(below, tf.float64) + (share - before) / (after - before)) / count
