"""Tells objects from background: a linear function of a descriptor, cell by cell of a grid."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

# Images are looked at on this grid, which is that of the dense Hough matcher.
GRID = (28, 28)
_SMALLEST = 1e-6


class ObjectProbe(NamedTuple):
    """A linear function of a descriptor that tells objects from background.

    Attributes:
        weights: float `(depth,)`, on the descriptor as a unit vector.
        length_weight: float, on the logarithm of the descriptor's length: anchors that fire make
            it long.
        bias: float.
    """

    weights: tf.Tensor
    length_weight: tf.Tensor
    bias: tf.Tensor

    @classmethod
    def from_contents(cls, contents: Mapping | None) -> "ObjectProbe | None":
        """Makes the probe of the contents of a confidence's file, or None if it has none.

        Args:
            contents: What `trainers.fit_confidence` wrote, or None.

        Raises:
            KeyError: If it is something else.
        """
        found = None if contents is None else contents["probe"]
        if found is None:
            return None
        return cls(*(tf.constant(found[name], tf.float32) for name in cls._fields))

    def logits(self, values: tf.Tensor) -> tf.Tensor:
        """Returns `(batch, *GRID)` for maps `(batch, height, width, depth)`: above 0, an object."""
        directions, lengths = directions_and_lengths(values)
        logits = tf.linalg.matvec(directions, self.weights) + self.length_weight * lengths
        return tf.reshape(logits + self.bias, (-1, *GRID))


def directions_and_lengths(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns what an `ObjectProbe` sees of maps, cell by cell of the grid.

    Args:
        values: float tensor `(batch, height, width, depth)`.

    Returns:
        Unit vectors `(batch, cells, depth)` and logarithms of lengths `(batch, cells)`.
    """
    cells = tf.image.resize(values, GRID, antialias=True)
    cells = tf.reshape(cells, (tf.shape(values)[0], math.prod(GRID), tf.shape(values)[-1]))
    squares = tf.reduce_sum(cells**2, axis=-1)
    directions = cells * tf.math.rsqrt(tf.maximum(squares, _SMALLEST**2))[..., tf.newaxis]
    return directions, 0.5 * tf.math.log(tf.maximum(squares, _SMALLEST))
