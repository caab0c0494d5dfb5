"""Where tokens are: position embeddings for grids of any size, as the makers interpolate them."""

import math

import tensorflow as tf

# Constants of the cubic kernels that PyTorch resizes with: without and with its antialias filter.
_PLAIN, _ANTIALIASED = -0.75, -0.5
# DINOv2 without registers enlarges the grid by this much, lest rounding loses a row.
_OFFSET = 0.1


def interpolated(embeddings: tf.Tensor, rows, columns, antialias: bool) -> tf.Tensor:
    """Returns learned embeddings of a square grid for a grid of another size.

    DINOv2's makers resize by a cubic kernel: those of the plain models without a filter and with
    the scale of a grid that is a tenth of a cell larger, those with registers with the filter and
    the true scale. A grid of the original size is left as it is.

    Args:
        embeddings: `(side, side, channels)`.
        rows: int or scalar tensor.
        columns: int or scalar tensor.
        antialias: bool. Whether to filter, as the makers do for models with registers.

    Returns:
        `(rows, columns, channels)`.
    """
    side = embeddings.shape[0]
    rows, columns = tf.convert_to_tensor(rows), tf.convert_to_tensor(columns)
    kernel = antialiased_weights if antialias else plain_weights
    offset = 0.0
    if not antialias:
        same = (rows == side) & (columns == side)
        offset = tf.where(same, 0.0, _OFFSET)
    down, across = (kernel(side, count, offset) for count in (rows, columns))
    return tf.einsum("Yy,yxc,Xx->YXc", down, embeddings, across)


def plain_weights(small: int, large, offset=0.0) -> tf.Tensor:
    """Returns cubic interpolation of a line of `small` cells at `large` places.

    Args:
        small: int.
        large: scalar tensor.
        offset: float. Added to `large` for the scale alone.

    Returns:
        `(large, small)` weights; cells beyond the ends repeat the last ones.
    """
    places = _places(small, large, tf.cast(large, tf.float32) + offset)
    first = tf.floor(places)
    weights = tf.zeros((large, small))
    for step in (-1, 0, 1, 2):
        cell = tf.cast(tf.clip_by_value(first + step, 0, small - 1), tf.int32)
        weights += _cubic(places - first - step, _PLAIN)[:, tf.newaxis] * tf.one_hot(cell, small)
    return weights


def antialiased_weights(small: int, large, offset=0.0) -> tf.Tensor:
    """Returns cubic interpolation with a kernel that grows with the reduction.

    Args:
        small: int.
        large: scalar tensor.
        offset: As in `plain_weights`.

    Returns:
        `(large, small)` weights that add up to one.
    """
    target = tf.cast(large, tf.float32) + offset
    width = tf.maximum(small / target, 1.0)
    cells = tf.range(small, dtype=tf.float32)
    places = _places(small, large, target)
    weights = _cubic((cells - places[:, tf.newaxis]) / width, _ANTIALIASED)
    return weights / tf.reduce_sum(weights, axis=1, keepdims=True)


def _places(small: int, large, target) -> tf.Tensor:
    """Returns where the centres of the new cells are among the old ones."""
    return (tf.range(tf.cast(large, tf.float32)) + 0.5) * (small / target) - 0.5


def _cubic(distance, constant: float) -> tf.Tensor:
    near, far = tf.abs(distance), tf.abs(distance)
    inside = ((constant + 2) * near - (constant + 3)) * near * near + 1
    outside = ((constant * far - 5 * constant) * far + 8 * constant) * far - 4 * constant
    return tf.where(near <= 1, inside, tf.where(far < 2, outside, 0.0))


def rotary(rows, columns, head_size: int, theta: float) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns what DINOv3 turns queries and keys by: cosines and sines of angles of places.

    Places are those of the centres of patches in a frame from -1 to 1, whatever the size.

    Args:
        rows: int or scalar tensor.
        columns: int or scalar tensor.
        head_size: int. Channels of an attention head.
        theta: float. Base of the periods.

    Returns:
        Two tensors `(rows * columns, head_size)`.
    """
    frequencies = theta ** -tf.range(0, 1, 4 / head_size, dtype=tf.float32)
    down, across = (
        2 * (tf.range(tf.cast(count, tf.float32)) + 0.5) / tf.cast(count, tf.float32) - 1
        for count in (rows, columns)
    )
    places = tf.stack(tf.meshgrid(down, across, indexing="ij"), axis=-1)
    angles = 2 * math.pi * places[..., tf.newaxis] * frequencies
    angles = tf.tile(tf.reshape(angles, (rows * columns, head_size // 2)), (1, 2))
    return tf.cos(angles), tf.sin(angles)
