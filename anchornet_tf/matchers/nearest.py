"""Cosine nearest neighbours between two feature maps."""

import numpy as np
import tensorflow as tf
from absl import logging

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.cells import (
    check_same_depth,
    flow_from_cells,
    grid_pair,
    same_place,
    unravel,
)
from anchornet_tf.matchers.flow import Flow, check_interpolation

# Similarities are computed in tiles of this many source times target cells: large enough for matrix
# products at full speed, small enough that a tile is still in the cache when its maxima are taken.
_TILE_ROWS = 1024
_TILE_COLUMNS = 512
_EPSILON = 1e-6
_ALIKE = 1e-5
# Products of two numbers above which it is said beforehand that matching takes long: ten seconds or
# so on two cores.
_MANY_PRODUCTS = 10**12


class NearestMatcher:
    """Matches each cell of the source to the target cell of the most similar descriptor.

    Every cell is compared with every cell, in tiles, so that memory stays bounded: a few tens of
    megabytes beside copies of the maps themselves, whatever their sizes. Time grows with the
    product of the numbers of cells: maps of pixel resolution, as those of SIFT, take a minute or
    more at 500 x 375 pixels, which a warning says before it starts.

    Args:
        mutual: bool. Whether the flow is valid only where the match of the match is the cell
            itself. Doubles the cost.
        refine: bool. Whether to place matches between target cells (see `cell_offsets`).
        coarse: bool. Whether to search a target of half the resolution first and then only around
            what was found there: about a third of the cost, and nearly the same matches where
            neighbouring cells are alike.
        interpolation: How the flow is spread over the pixels of a cell, see `Flow.from_grid`.
        grid_size: int or `(height, width)`: cells that both maps are resampled to first; None to
            take them as they are. The published trials of descriptors match on 112 x 112 cells.

    Raises:
        ValueError: If `interpolation` is unknown or `grid_size` is not positive.
    """

    name = "nearest"
    # The images' sizes are all that it needs of them, see `Matcher`.
    on_grid = True

    def __init__(
        self,
        mutual: bool = False,
        refine: bool = True,
        coarse: bool = False,
        interpolation: str = "bilinear",
        grid_size: int | tuple[int, int] | None = None,
    ):
        self.grid_size = None if grid_size is None else grid_pair(grid_size)
        self.mutual = mutual
        self.refine = refine
        self.coarse = coarse
        self.interpolation = check_interpolation(interpolation)
        self._warned = False

    def __call__(self, source: FeatureMap, target: FeatureMap, **_) -> Flow:
        """Returns the flow; its confidence is the cosine similarity of the match.

        Raises:
            ValueError: If the maps differ in depth.
        """
        check_same_depth(source, target)
        if self.grid_size is not None:
            source, target = source.resized(*self.grid_size), target.resized(*self.grid_size)
        self._warn_of_long_search(source, target)
        positions, similarity, valid = nearest_cells(
            tf.constant(source.values)[tf.newaxis],
            tf.constant(target.values)[tf.newaxis],
            mutual=self.mutual,
            refine=self.refine,
            coarse=self.coarse,
        )
        return flow_from_cells(
            positions[0].numpy(),
            target.grid_size,
            source.image_size,
            target.image_size,
            valid=valid[0].numpy(),
            confidence=similarity[0].numpy(),
            interpolation=self.interpolation,
        )

    def _warn_of_long_search(self, source: FeatureMap, target: FeatureMap) -> None:
        effort = source.depth * (2 if self.mutual else 1) / (4 if self.coarse else 1)
        if self._warned or effort * source.num_cells * target.num_cells < _MANY_PRODUCTS:
            return
        counts = np.count_nonzero(source.values.any(axis=-1)), target.num_cells
        if effort * counts[0] * counts[1] < _MANY_PRODUCTS or not target.values.any():
            return  # Cells of zeros are not compared.
        self._warned = True
        logging.warning(
            "nearest compares %s x %s descriptors of %d channels, which may take minutes. "
            "grid_size=112 compares far fewer%s.",
            *(f"{count:,}" for count in counts),
            source.depth,
            "" if self.coarse else ", coarse=True takes about a third of the time",
        )


@tf.function(reduce_retracing=True, autograph=False)
def nearest_cells(
    source: tf.Tensor,
    target: tf.Tensor,
    mutual: bool = False,
    refine: bool = True,
    coarse: bool = False,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Finds for each source cell the target cell of highest cosine similarity.

    A source cell of zeros has nothing to say, and neither has a target that is zero everywhere:
    cells then match the same relative position with similarity zero.

    Args:
        source: float tensor `(batch, height, width, depth)`; any of the sizes may be unknown.
        target: float tensor `(batch, target height, target width, depth)`.
        mutual: bool. Whether to check matches in the other direction.
        refine: bool. Whether to refine matches to fractions of a cell.
        coarse: bool. Whether to search from coarse to fine.

    Returns:
        `positions` `(batch, height, width, 2)`: (row, column) in target cells; `similarity`
        `(batch, height, width)`; and `valid` `(batch, height, width)`: bool, whether the match is
        mutual (True everywhere without `mutual`).
    """
    source = tf.math.l2_normalize(source, axis=-1, epsilon=_EPSILON**2)
    target = tf.math.l2_normalize(target, axis=-1, epsilon=_EPSILON**2)
    return tf.map_fn(
        lambda pair: _match_one(*pair, mutual, refine, coarse),
        (source, target),
        parallel_iterations=1,  # One pair's tiles keep all cores busy.
        fn_output_signature=(tf.float32, tf.float32, tf.bool),
    )


def _match_one(source, target, mutual, refine, coarse):
    height, width, depth = tf.unstack(tf.shape(source))
    cells = tf.reshape(source, (-1, depth))  # (n, depth)
    index, similarity, offsets = _search(cells, target, refine, coarse)
    valid = tf.ones_like(index, tf.bool)
    if mutual:
        backward, _, _ = _search(tf.reshape(target, (-1, depth)), source, False, coarse)
        valid = tf.equal(tf.gather(backward, index), tf.range(height * width))
    positions = unravel(index, tf.shape(target)[1]) + offsets
    unmoved = same_place(tf.stack([height, width]), tf.shape(target)[:2])
    empty = tf.reduce_all(tf.equal(cells, 0.0), axis=-1, keepdims=True)
    empty |= tf.reduce_all(tf.equal(target, 0.0))
    positions = tf.where(empty, unmoved, positions)
    return (
        tf.reshape(positions, (height, width, 2)),
        tf.reshape(similarity, (height, width)),
        tf.reshape(valid, (height, width)),
    )


def _search(cells, target, refine, coarse):
    """Matches `(n, depth)` cells to a `(height, width, depth)` target, a tile of rows at a time.

    Cells of zeros, as the descriptors of a constant image are, are not compared.

    Returns:
        Index `(n,)` into the flattened target, dot product `(n,)` and offset `(n, 2)` in cells; all
        zero for cells of zeros.
    """
    num_cells = tf.shape(cells)[0]
    grid = _half_resolution(target) if coarse else target
    grid_cells = tf.reshape(grid, (-1, tf.shape(grid)[2]))  # (m, depth)
    # With nothing but zeros to find, nothing is sought.
    sought = _not_empty(cells)[: tf.where(tf.reduce_any(tf.not_equal(grid, 0.0)), num_cells, 0)]
    num_tiles = tf.maximum(-(-tf.size(sought) // _TILE_ROWS), 1)

    def match_tile(tile, arrays):
        rows = tf.gather(cells, sought[tile * _TILE_ROWS : (tile + 1) * _TILE_ROWS])  # (r, depth)
        index, value = best_matches(rows, grid_cells)
        if coarse:
            index, value = _best_around(rows, target, index, tf.shape(grid)[1])
        if refine:
            offset = cell_offsets(rows, target, index)
        else:
            offset = tf.zeros((tf.shape(rows)[0], 2), cells.dtype)
        results = (index, value, offset)
        return tile + 1, [array.write(tile, x) for array, x in zip(arrays, results, strict=True)]

    arrays = [
        tf.TensorArray(dtype, num_tiles, infer_shape=False, element_shape=shape)
        for dtype, shape in (
            (tf.int32, (None,)),
            (cells.dtype, (None,)),
            (cells.dtype, (None, 2)),
        )
    ]
    _, arrays = tf.while_loop(
        lambda tile, _: tile < num_tiles, match_tile, (0, arrays), parallel_iterations=1
    )
    index, value, offset = (array.concat() for array in arrays)
    sought = sought[:, tf.newaxis]
    return (
        tf.scatter_nd(sought, index, [num_cells]),
        tf.scatter_nd(sought, value, [num_cells]),
        tf.scatter_nd(sought, offset, [num_cells, 2]),
    )


def _not_empty(cells):
    """Returns int32 numbers of the `(n, depth)` cells that are not all zeros."""
    return tf.cast(tf.where(tf.reduce_any(tf.not_equal(cells, 0.0), axis=-1))[:, 0], tf.int32)


def best_matches(source: tf.Tensor, target: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds for each of n vectors the one of m with the largest dot product.

    Args:
        source: float tensor `(n, depth)`.
        target: float tensor `(m, depth)`; taken in tiles.

    Returns:
        int32 indices `(n,)`, the first among equals, and the dot products `(n,)`.
    """
    n, m = tf.shape(source)[0], tf.shape(target)[0]
    columns = tf.clip_by_value(m, 1, _TILE_COLUMNS)
    num_tiles = -(-m // columns)

    def compare_tile(tile, index, value):
        # The last tile reaches back over the one before: tiles of one size need no padding, and
        # what is seen twice does not exceed itself.
        first = tf.minimum(tile * columns, m - columns)
        products = tf.matmul(source, target[first : first + columns], transpose_b=True)
        tile_index = tf.argmax(products, axis=-1, output_type=tf.int32)
        tile_value = tf.gather(products, tile_index, batch_dims=1)
        better = tile_value > value
        index = tf.where(better, first + tile_index, index)
        return tile + 1, index, tf.where(better, tile_value, value)

    start = (0, tf.zeros((n,), tf.int32), tf.fill((n,), source.dtype.min))
    _, index, value = tf.while_loop(
        lambda tile, *_: tile < num_tiles, compare_tile, start, parallel_iterations=1
    )
    return index, value


def _half_resolution(grid):
    """Returns the mean of each 2 x 2 cells, as unit vectors."""
    pooled = tf.nn.avg_pool2d(grid[tf.newaxis], 2, 2, "SAME")[0]
    return tf.math.l2_normalize(pooled, axis=-1, epsilon=_EPSILON**2)


def _best_around(rows, target, coarse_index, coarse_width):
    """Compares with the four cells of each coarse match and the ring of twelve around them."""
    height, width, depth = tf.unstack(tf.shape(target))
    cells = tf.reshape(target, (-1, depth))
    steps = tf.range(-1, 3)
    down = tf.clip_by_value(
        2 * (coarse_index // coarse_width)[:, tf.newaxis] + steps, 0, height - 1
    )
    across = tf.clip_by_value(
        2 * (coarse_index % coarse_width)[:, tf.newaxis] + steps, 0, width - 1
    )
    window = down[:, :, tf.newaxis] * width + across[:, tf.newaxis, :]  # (r, 4, 4)
    window = tf.reshape(window, (-1, 16))
    products = tf.linalg.matvec(tf.gather(cells, window), rows)  # (r, 16)
    best = tf.argmax(products, axis=-1, output_type=tf.int32)
    return tf.gather(window, best, batch_dims=1), tf.gather(products, best, batch_dims=1)


def cell_offsets(source: tf.Tensor, target: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    """Places matches between the cells of the target's grid.

    Between a cell `u` and its neighbour `v` the target's descriptor is taken as the mix
    `(1 - t) u + t v`. With the cosines `c = <s, u>`, `a = <s, v>` and `b = <u, v>`, its cosine
    with the source's descriptor `s` is highest at `t = (a - b c) / ((1 - b) (a + c))`: zero where
    `s` equals `u`, a half where `s` is as similar to both.

    Args:
        source: float tensor `(n, depth)` of unit vectors (or zeros).
        target: float tensor `(height, width, depth)` of unit vectors (or zeros).
        index: int32 tensor `(n,)`: matches as indices into the flattened target.

    Returns:
        float tensor `(n, 2)`: (row, column) offsets in cells, from -0.5 to 0.5.
    """
    height, width, depth = tf.unstack(tf.shape(target))
    cells = tf.reshape(target, (-1, depth))
    row, column = index // width, index % width
    best = tf.gather(cells, index)  # (n, depth)
    to_best = tf.reduce_sum(source * best, axis=-1)  # (n,)

    def mix(inside, step):
        """Returns `t` towards the neighbour `step` further on in the flattened target."""
        neighbor = tf.gather(cells, tf.where(inside, index + step, index))
        to_neighbor = tf.reduce_sum(source * neighbor, axis=-1)
        between = tf.reduce_sum(best * neighbor, axis=-1)
        denominator = (1 - between) * (to_neighbor + to_best)
        # Neighbours that are nearly alike say nothing about where between them the match is.
        sound = inside & (between < 1 - _ALIKE) & (to_neighbor + to_best > _ALIKE)
        share = (to_neighbor - between * to_best) / tf.where(sound, denominator, 1)
        return tf.where(sound, tf.clip_by_value(share, 0, 0.5), 0)

    down, up = mix(row < height - 1, width), mix(row > 0, -width)
    right, left = mix(column < width - 1, 1), mix(column > 0, -1)
    return tf.stack([down - up, right - left], axis=-1)
