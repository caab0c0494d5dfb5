"""Descriptors of single pixels, read from a feature map of any resolution when they are needed.

A deep map of 56 x 56 cells takes a few megabytes; at the resolution of its image it takes a hundred
times as many. DSP looks at pixels a region at a time, and only that region is interpolated.
"""

import tensorflow as tf

_EPSILON = 1e-12  # Of a squared norm, as in tf.math.l2_normalize.


class PixelDescriptors:
    """The descriptors of an image's pixels.

    Args:
        cells: float32 tensor `(grid height, grid width, depth)` that covers the image as a
            `FeatureMap` does.
        size: int32 tensor `(2,)`, the image's height and width in pixels.
        norm: float, float32 tensor or None. Euclidean norm that descriptors are scaled to; None
            takes them as they are.
    """

    def __init__(self, cells: tf.Tensor, size: tf.Tensor, norm: float | tf.Tensor | None = None):
        self._cells = cells
        self.size = tf.convert_to_tensor(size)
        self._norm = norm

    def at(self, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
        """Returns the descriptors where given rows and columns of pixels meet.

        Args:
            rows: int32 tensor `(r,)`, in increasing order, at least one.
            columns: int32 tensor `(c,)`, in increasing order, at least one.

        Returns:
            float32 tensor `(r, c, depth)`.
        """
        values = _read(self._cells, rows, self.size[0], axis=0)
        values = _read(values, columns, self.size[1], axis=1)
        if self._norm is None:
            return values
        squares = tf.reduce_sum(tf.square(values), axis=-1, keepdims=True)
        return values * (self._norm * tf.math.rsqrt(tf.maximum(squares, _EPSILON)))

    def every(self, step: tf.Tensor, first: tf.Tensor = 0) -> tf.Tensor:
        """Returns the descriptors of every `step`-th pixel along each axis: `(r, c, depth)`.

        Args:
            step: int32 tensor, a scalar or one number for each axis.
            first: int32 tensor of the same kind, the first row and column.
        """
        step, first = (tf.broadcast_to(part, (2,)) for part in (step, first))
        return self.at(*(tf.range(first[axis], self.size[axis], step[axis]) for axis in range(2)))


def _read(values: tf.Tensor, pixels: tf.Tensor, num_pixels: tf.Tensor, axis: int) -> tf.Tensor:
    """Interpolates along one axis of `(rows, columns, depth)` at given pixels of the image."""
    num_cells = tf.shape(values)[axis]

    def interpolate():
        scale = tf.cast(num_cells, tf.float64) / tf.cast(num_pixels, tf.float64)
        places = (tf.cast(pixels, tf.float64) + 0.5) * scale - 0.5
        places = tf.clip_by_value(places, 0.0, tf.cast(num_cells - 1, tf.float64))
        # Only the cells that these pixels lie between take part.
        first, last = tf.cast(places[0], tf.int32), tf.cast(tf.math.ceil(places[-1]), tf.int32)
        cells = tf.range(first, last + 1)
        distances = tf.abs(places[:, tf.newaxis] - tf.cast(cells, tf.float64))
        weights = tf.cast(tf.nn.relu(1 - distances), tf.float32)  # (pixels, cells)
        if axis == 0:
            part = values[first : last + 1]
            flat = tf.matmul(weights, tf.reshape(part, (last + 1 - first, -1)))
            return tf.reshape(flat, tf.concat([[-1], tf.shape(values)[1:]], axis=0))
        return tf.matmul(weights, values[:, first : last + 1])

    return tf.cond(
        num_cells == num_pixels, lambda: tf.gather(values, pixels, axis=axis), interpolate
    )
