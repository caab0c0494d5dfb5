"""Fewer numbers per descriptor, in a space of the two images at hand.

A deep descriptor of 256 numbers describes every image there is. What two images show varies along
far fewer directions, and distances between their descriptors need only those.
"""

import tensorflow as tf


def reduce_depth(
    source: tf.Tensor, target: tf.Tensor, dimensions: int | tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Projects two maps onto the directions in which their descriptors are largest.

    The directions are orthonormal, so distances never grow, and shrink as little as they can.
    Nothing is subtracted: the angle between descriptors keeps its meaning, and so does a scaling
    to one norm that follows.

    Args:
        source: float32 tensor `(height, width, depth)`.
        target: float32 tensor `(target height, target width, depth)`.
        dimensions: int or int32 tensor. Directions to keep.

    Returns:
        The two maps with depth `dimensions`, or as they are if they are not deeper than that.
    """
    depth = tf.shape(source)[-1]

    def reduce():
        # The largest eigenvalues come last.
        _, directions = tf.linalg.eigh(_second_moments(source) + _second_moments(target))
        basis = directions[:, depth - dimensions :]
        return tuple(_along_depth(cells, basis) for cells in (source, target))

    return tf.cond(depth > dimensions, reduce, lambda: (source, target))


def _second_moments(cells: tf.Tensor) -> tf.Tensor:
    """Returns the mean `(depth, depth)` of the products of cells' numbers, cells of norm one."""
    # Cells have one vote each however large their numbers are, since matchers compare angles. It
    # also keeps the sums finite. The mean gives a small image the same say as a large one.
    cells = tf.reshape(cells, (-1, tf.shape(cells)[-1]))
    cells = tf.math.l2_normalize(cells, axis=-1)
    return tf.matmul(cells, cells, transpose_a=True) / tf.cast(tf.shape(cells)[0], cells.dtype)


def _along_depth(cells: tf.Tensor, basis: tf.Tensor) -> tf.Tensor:
    shape = tf.shape(cells)
    flat = tf.matmul(tf.reshape(cells, (-1, shape[-1])), basis)
    return tf.reshape(flat, tf.concat([shape[:-1], [-1]], axis=0))
