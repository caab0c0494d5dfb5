"""Deformable spatial pyramid matching (DSP): regions agree on displacements, then pixels.

Three levels of 1, 4 and 16 regions choose among a lattice of displacements by belief propagation;
each pixel then searches twice around the displacement of its region.

Reference:
- [Deformable Spatial Pyramid Matching for Fast Dense Correspondences](https://openaccess.thecvf.com/content_cvpr_2013/html/Kim_Deformable_Spatial_Pyramid_2013_CVPR_paper.html)
"""

import functools
import math
import numbers

import numpy as np
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matching.belief_propagation import propagate_beliefs
from anchornet_tf.matching.cells import check_same_depth, flow_from_cells
from anchornet_tf.matching.flow import Flow
from anchornet_tf.matching.pixel_search import (
    flow_distances,
    locate,
    pack_source,
    pack_target,
    search_pixels,
)

# Constants of the published program. The last two are on the scale of SIFT descriptors.
NUM_LEVELS = 3
NUM_SAMPLES = 2500  # The lattice has about this many points.
SEARCHES = ((20, 4), (4, 1))  # Radius and step in pixels of each pixel search.
FEATURE_SCALE = 512.0  # Norm of a SIFT descriptor.
TRUNCATION = 500.0  # Largest distance of two descriptors, and that to anything outside.
PIXEL_DEFORMATION = 2.5  # Cost of one pixel of departure from the region's displacement.

_LEVEL_SIDES = tuple(2**level for level in range(NUM_LEVELS))
_MIN_SIDE = _LEVEL_SIDES[-1]


class DspMatcher:
    """Matches two images by a deformable spatial pyramid.

    It works on grids of pixel resolution: coarser feature maps are resampled to the size of their
    images, or less, see `max_side`.

    Args:
        feature_scale: float or None. Descriptors are normalised to this Euclidean norm, since the
            method's constants are distances. None (or `"literal"`) takes them as they are: right
            for raw SIFT, while unit vectors would lie so close together that the flow collapses
            to 16 rigid blocks.
        reference: bool. Whether to do exactly as the published program does, mistakes included:
            children send nothing to their parents, and regions leave out their first row and
            column. Distances are then computed in float64, at about twice the cost.
        bottom_up: bool or None. Whether children send messages to their parents. None means
            `not reference`.
        max_side: int or None. Longest side of the working grid in cells; None for no limit.

    Example:

    >>> match = DspMatcher()
    >>> flow = match(source_features, target_features)
    """

    def __init__(
        self,
        feature_scale: float | str | None = FEATURE_SCALE,
        reference: bool = False,
        bottom_up: bool | None = None,
        max_side: int | None = 640,
    ):
        self.feature_scale = _check_feature_scale(feature_scale)
        if max_side is not None and (
            not isinstance(max_side, numbers.Integral) or max_side < _MIN_SIDE
        ):
            raise ValueError(
                f"`max_side` must be an integer of at least {_MIN_SIDE}, or None. "
                f"Received: max_side={max_side!r}"
            )
        self.reference = reference
        self.bottom_up = bottom_up
        self.max_side = max_side

    def __call__(self, source: FeatureMap, target: FeatureMap, **_) -> Flow:
        """Returns the flow.

        Its confidence falls from 1 for equal descriptors to 0 at the truncated distance. Pixels
        whose match lies outside the target are not valid; their vectors end at its border.

        Raises:
            ValueError: If the maps differ in depth or an image is smaller than 4 pixels a side.
        """
        check_same_depth(source, target)
        source, target = self._resample(source), self._resample(target)
        displacement, distances = dsp_flow(
            tf.constant(source.values)[tf.newaxis],
            tf.constant(target.values)[tf.newaxis],
            feature_scale=self.feature_scale,
            reference=self.reference,
            bottom_up=self.bottom_up,
        )
        size = source.grid_size
        positions = np.moveaxis(np.indices(size), 0, -1) + displacement[0].numpy()
        inside = ((positions >= 0) & (positions < target.grid_size)).all(axis=-1)
        confidence = np.maximum(1 - distances[0].numpy() / TRUNCATION, 0)
        return flow_from_cells(
            positions,
            target.grid_size,
            source.image_size,
            target.image_size,
            valid=inside,
            confidence=confidence,
        )

    def _resample(self, feature_map: FeatureMap) -> FeatureMap:
        height, width = feature_map.image_size
        if min(height, width) < _MIN_SIDE:
            raise ValueError(
                f"DSP needs images of at least {_MIN_SIDE} pixels a side. "
                f"Received: image_size={feature_map.image_size}"
            )
        factor = min(1.0, (self.max_side or math.inf) / max(height, width))
        size = (max(_MIN_SIDE, round(side * factor)) for side in (height, width))
        return feature_map.resized(*size)


@tf.autograph.experimental.do_not_convert
def dsp_flow(
    source: tf.Tensor,
    target: tf.Tensor,
    *,
    feature_scale: float | None = FEATURE_SCALE,
    reference: bool = False,
    bottom_up: bool | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Matches batches of pixel-resolution feature maps.

    Args:
        source: float tensor `(batch, height, width, depth)`; any of the sizes may be unknown.
        target: float tensor `(batch, target height, target width, depth)`.
        feature_scale: float or None. See `DspMatcher`.
        reference: bool. See `DspMatcher`.
        bottom_up: bool or None. See `DspMatcher`.

    Returns:
        Tuple of the displacement `(batch, height, width, 2)`, int32 `(dy, dx)` in pixels, and the
        distance `(batch, height, width)`, float32, of the matched descriptors.

    Raises:
        ValueError: If the tensors do not have rank 4 or differ in batch size or depth.
    """
    source, target = tf.convert_to_tensor(source), tf.convert_to_tensor(target)
    shapes = source.shape, target.shape
    if any(shape.rank != 4 for shape in shapes) or not all(
        tf.TensorShape([shapes[0][axis]]).is_compatible_with([shapes[1][axis]]) for axis in (0, -1)
    ):
        raise ValueError(
            "`source` and `target` must have shape (batch, height, width, depth) with the same "
            f"batch and depth. Received: source.shape={shapes[0]}, target.shape={shapes[1]}"
        )
    bottom_up = not reference if bottom_up is None else bottom_up
    return _pair_matcher(_check_feature_scale(feature_scale), reference, bottom_up)(
        tf.cast(source, tf.float32), tf.cast(target, tf.float32)
    )


@functools.lru_cache
def _pair_matcher(feature_scale: float | None, reference: bool, bottom_up: bool):
    """Returns the graph for a set of options: traced once, for maps of any size and depth."""

    @tf.function(input_signature=[tf.TensorSpec((None, None, None, None))] * 2, autograph=False)
    def match_pairs(source, target):
        # One pair's matrix products keep all cores busy, and memory stays bounded.
        return tf.map_fn(
            lambda pair: _match_pair(*pair, feature_scale, reference, bottom_up),
            (source, target),
            parallel_iterations=1,
            fn_output_signature=(tf.int32, tf.float32),
        )

    return match_pairs


def _match_pair(source, target, feature_scale, reference, bottom_up):
    if feature_scale is not None:
        source = tf.math.l2_normalize(source, axis=-1) * feature_scale
        target = tf.math.l2_normalize(target, axis=-1) * feature_scale
    step, num_steps = lattice(tf.shape(source)[:2], tf.shape(target)[:2])
    costs = node_costs(source, target, step, num_steps, reference)
    costs = normalize_levels(costs, reference)
    states, _ = propagate_beliefs(costs, num_levels=NUM_LEVELS, bottom_up=bottom_up)
    displacement = leaf_displacement(states, tf.shape(source)[:2], step, num_steps)
    for radius, pixel_step in SEARCHES:
        displacement = search_pixels(
            source,
            target,
            displacement,
            radius=radius,
            step=pixel_step,
            deformation=PIXEL_DEFORMATION,
            outside_distance=TRUNCATION,
            dtype=tf.float64 if reference else tf.float32,
        )
    return displacement, flow_distances(source, target, displacement, TRUNCATION)


def lattice(size: tf.Tensor, target_size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses the lattice of samples and displacements for two images.

    Args:
        size: int32 tensor `(2,)`, the source's height and width.
        target_size: int32 tensor `(2,)`, the target's.

    Returns:
        Tuple of the distance of neighbouring samples in pixels, and of the number `(2,)` of
        lattice steps (along y and x) that a displacement can reach in either direction.
    """
    area = tf.cast(tf.reduce_prod(size), tf.float64)
    step = tf.maximum(tf.cast(tf.sqrt(area / NUM_SAMPLES) + 0.5, tf.int32), 1)
    radius = (tf.maximum(size, target_size) + 1) // 2
    return step, radius // step


def node_costs(
    source: tf.Tensor, target: tf.Tensor, step: tf.Tensor, num_steps: tf.Tensor, reference: bool
) -> tf.Tensor:
    """Averages the distances of descriptors over each region for each displacement.

    Args:
        source: float32 tensor `(height, width, depth)`.
        target: float32 tensor `(target height, target width, depth)`.
        step: int32. Distance of neighbouring samples, see `lattice`.
        num_steps: int32 tensor `(2,)`. Reach of displacements, see `lattice`.
        reference: bool. Whether regions leave out their first row and column.

    Returns:
        float32 tensor `(nodes, x states, y states)`, truncated distances.
    """
    source, target = source[::step, ::step], target[::step, ::step]
    rows, columns = tf.shape(source)[0], tf.shape(source)[1]
    states_y, states_x = 2 * num_steps[0] + 1, 2 * num_steps[1] + 1
    # Sample (i, j) moved by (dy, dx) steps meets the target's sample (i + dy, j + dx): with a
    # margin of `num_steps` around the source's lattice every such place exists.
    places = locate(
        tf.range(-num_steps[0], rows + num_steps[0])[:, tf.newaxis],
        tf.range(-num_steps[1], columns + num_steps[1]),
        tf.shape(target)[:2],
    )
    target = tf.gather(pack_target(tf.cast(target, tf.float64), TRUNCATION), places)
    source = pack_source(tf.cast(source, tf.float64))
    corner_rows, corner_columns, areas = _corners(rows, columns, reference)

    def add_row(row, column_sums, integrals):
        squares = tf.matmul(
            source[row], target[row : row + states_y], transpose_b=True
        )  # (y states, columns, padded columns)
        squares = _skew(tf.cast(squares, tf.float32), states_x)  # (y states, columns, x states)
        column_sums += tf.sqrt(tf.clip_by_value(squares, 0.0, TRUNCATION**2))
        here = corner_rows == row  # (corners,)

        def read_corners():
            integral = tf.pad(tf.cumsum(column_sums, axis=1), [[0, 0], [1, 0], [0, 0]])
            met = tf.gather(integral, corner_columns + 1, axis=1)
            return integrals + tf.where(here[:, tf.newaxis], met, 0.0)

        integrals = tf.cond(tf.reduce_any(here), read_corners, lambda: integrals)
        return row + 1, column_sums, integrals

    _, _, integrals = tf.while_loop(
        lambda row, *_: row < rows,
        add_row,
        (
            0,
            tf.zeros((states_y, columns, states_x)),
            tf.zeros((states_y, tf.size(corner_rows), states_x)),
        ),
    )
    last_last, first_first, first_last, last_first = tf.split(integrals, 4, axis=1)
    sums = last_last + first_first - first_last - last_first  # (y states, nodes, x states)
    # A lattice narrower than the finest level leaves regions empty: they have no say.
    return tf.math.divide_no_nan(tf.transpose(sums, (1, 2, 0)), areas[:, tf.newaxis, tf.newaxis])


def normalize_levels(costs: tf.Tensor, reference: bool = False) -> tf.Tensor:
    """Divides the costs of each level by their mean.

    Args:
        costs: float32 tensor `(nodes, x states, y states)`.
        reference: bool. Whether to add up one by one in float32, whose errors reach 3e-4 here.

    Returns:
        Tensor of the same shape.
    """
    normalized = []
    for level in tf.split(costs, [side * side for side in _LEVEL_SIDES]):
        mean = tf.reduce_mean(level)
        if reference:
            mean = tf.cumsum(tf.reshape(level, [-1]))[-1] / tf.cast(tf.size(level), tf.float32)
        normalized.append(tf.math.divide_no_nan(level, mean))
    return tf.concat(normalized, axis=0)


def leaf_displacement(
    states: tf.Tensor, size: tf.Tensor, step: tf.Tensor, num_steps: tf.Tensor
) -> tf.Tensor:
    """Gives each pixel the displacement of its region in the finest level.

    Args:
        states: int32 tensor `(nodes,)` from `propagate_beliefs`.
        size: int32 tensor `(2,)`, the source's height and width.
        step: int32. See `lattice`.
        num_steps: int32 tensor `(2,)`. See `lattice`.

    Returns:
        int32 tensor `(height, width, 2)` of `(dy, dx)` in pixels.
    """
    side = _LEVEL_SIDES[-1]
    states_y = 2 * num_steps[0] + 1
    leaves = tf.reshape(states[-side * side :], (side, side))  # (x, y)
    leaves = tf.stack([leaves % states_y, leaves // states_y], axis=-1) - num_steps
    inner_borders = tf.range(1, side) * (size[:, tf.newaxis] - 1) // side  # (2, side - 1)
    block_rows, block_columns = (
        tf.searchsorted(inner_borders[axis], tf.range(size[axis]), side="right")
        for axis in range(2)
    )
    blocks = tf.gather(tf.transpose(leaves, (1, 0, 2)), block_rows)
    return step * tf.gather(blocks, block_columns, axis=1)


def _corners(
    rows: tf.Tensor, columns: tf.Tensor, reference: bool
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Finds where to read an integral image of the lattice for the sums over the regions.

    Args:
        rows: int32. Rows of the lattice.
        columns: int32. Columns of the lattice.
        reference: bool. Whether regions leave out their first row and column.

    Returns:
        Rows and columns `(4 * nodes,)` of four corners a region: its last row and last column;
        the row and the column before its first; the former with its last column; its last row
        with the latter. And the areas `(nodes,)`, float32.
    """
    before = 0 if reference else -1
    ends, areas = [], []
    for side in _LEVEL_SIDES:
        height, width = rows // side, columns // side
        x, y = (
            tf.reshape(part, [-1]) for part in tf.meshgrid(*2 * [tf.range(side)], indexing="ij")
        )
        first_row, first_column = y * height, x * width
        ends.append(
            tf.stack(
                [
                    first_row + before,
                    first_row + height - 1,
                    first_column + before,
                    first_column + width - 1,
                ]
            )
        )
        areas.append(tf.fill([side * side], height * width))
    first_rows, last_rows, first_columns, last_columns = tf.unstack(tf.concat(ends, axis=1))
    return (
        tf.concat([last_rows, first_rows, first_rows, last_rows], axis=0),
        tf.concat([last_columns, first_columns, last_columns, first_columns], axis=0),
        tf.cast(tf.concat(areas, axis=0), tf.float32),
    )


def _skew(values: tf.Tensor, width: tf.Tensor) -> tf.Tensor:
    """Shifts row `j` of each `(rows, rows + width - 1)` matrix left by `j`.

    Args:
        values: tensor `(batch, rows, rows + width - 1)`.

    Returns:
        Tensor `(batch, rows, width)`.
    """
    batch, rows, columns = (tf.shape(values)[axis] for axis in range(3))
    # Read with rows one longer than they are, the flat matrix starts each row one further on.
    flat = tf.pad(tf.reshape(values, (batch, rows * columns)), [[0, 0], [0, rows]])
    return tf.reshape(flat, (batch, rows, columns + 1))[:, :, :width]


def _check_feature_scale(feature_scale: float | str | None) -> float | None:
    if feature_scale is None or feature_scale == "literal":
        return None
    if not isinstance(feature_scale, numbers.Real) or not 0 < feature_scale < math.inf:
        raise ValueError(
            "`feature_scale` must be a positive number, or None to take features as they are. "
            f"Received: feature_scale={feature_scale!r}"
        )
    return float(feature_scale)
