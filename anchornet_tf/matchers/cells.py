"""What matchers of grid cells share: checks, and the way from matched cells to a flow."""

import functools
import math
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap, cell_centers, check_size
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.kept import KeptOfMaps

_EPSILON = 1e-6


def grid_pair(grid_size: int | tuple[int, int]) -> tuple[int, int]:
    """Returns `(height, width)` of a grid that is given as such or as one side.

    Raises:
        ValueError: If a side is not a positive integer.
    """
    pair = (grid_size, grid_size) if np.ndim(grid_size) == 0 else grid_size
    return check_size(pair, "grid_size")


def check_same_depth(source: FeatureMap, target: FeatureMap) -> None:
    """Raises ValueError unless both maps have the same number of channels."""
    if source.depth != target.depth:
        raise ValueError(
            "Two feature maps can only be matched when they have the same depth. "
            f"Received: source.depth={source.depth}, target.depth={target.depth}"
        )


def flow_from_cells(
    positions: np.ndarray,
    target_grid: tuple[int, int],
    source_size: tuple[int, int],
    target_size: tuple[int, int],
    **options,
) -> Flow:
    """Turns matches between cells into a flow between pixels.

    Args:
        positions: array `(source grid height, source grid width, 2)` of `(row, column)` in target
            cells, fractional where between cells.
        target_grid: `(height, width)` of the target's grid in cells.
        source_size: `(height, width)` of the source image in pixels.
        target_size: `(height, width)` of the target image in pixels.
        **options: `valid`, `confidence` and `interpolation` of `Flow.from_grid`.
    """
    pixels = (positions + 0.5) * np.divide(target_size, target_grid) - 0.5
    rows = cell_centers(positions.shape[0], source_size[0])
    columns = cell_centers(positions.shape[1], source_size[1])
    origin = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1)
    return Flow.from_grid(pixels - origin, source_size, target_size, **options)


def unit_cells(values: tf.Tensor, grid_size: tuple[int, int]) -> tf.Tensor:
    """Resamples maps `(batch, height, width, depth)` to unit vectors `(batch, cells, depth)`."""
    # Unit length first: otherwise the strongest of the averaged cells drowns the others.
    values = tf.math.l2_normalize(values, axis=-1, epsilon=_EPSILON**2)
    values = tf.image.resize(values, grid_size, antialias=True)
    values = tf.math.l2_normalize(values, axis=-1, epsilon=_EPSILON**2)
    return tf.reshape(values, (tf.shape(values)[0], math.prod(grid_size), tf.shape(values)[-1]))


def cells_of(maps: Sequence[FeatureMap], grid_size: tuple[int, int]) -> list[tf.Tensor]:
    """Returns `unit_cells` `(1, cells, depth)` of each map; computed once for those used lately."""
    return _cells_on(grid_size)(maps)


@functools.lru_cache(maxsize=8)
def _cells_on(grid_size) -> KeptOfMaps:
    compiled = tf.function(
        lambda values: unit_cells(values, grid_size), reduce_retracing=True, autograph=False
    )
    return KeptOfMaps(lambda features: compiled(tf.constant(features.values)[tf.newaxis]))


def unravel(index: tf.Tensor, width) -> tf.Tensor:
    """Returns float `(..., 2)`: the (row, column) of indices into a flattened grid."""
    return tf.cast(tf.stack([index // width, index % width], axis=-1), tf.float32)


def same_place(size: tf.Tensor, target_size: tf.Tensor) -> tf.Tensor:
    """Returns for each cell of one grid the cell position in another that covers the same place.

    Args:
        size: int32 tensor `(2,)`: height and width of the grid.
        target_size: int32 tensor `(2,)`: height and width of the other grid.

    Returns:
        float32 tensor `(height * width, 2)` of (row, column), inside the other grid.
    """
    cells = unravel(tf.range(size[0] * size[1]), size[1])
    scale = tf.cast(target_size, tf.float32) / tf.cast(size, tf.float32)
    last = tf.cast(target_size - 1, tf.float32)
    return tf.clip_by_value((cells + 0.5) * scale - 0.5, 0, last)
