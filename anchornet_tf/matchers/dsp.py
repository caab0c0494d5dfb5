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
from anchornet_tf.matchers.belief_propagation import propagate_beliefs
from anchornet_tf.matchers.cells import check_same_depth, flow_from_cells
from anchornet_tf.matchers.depth_reduction import reduce_depth
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.pixel_descriptors import PixelDescriptors
from anchornet_tf.matchers.pixel_search import flow_distances, pixel_grid, search_pixels
from anchornet_tf.matchers.spatial_pyramid import (
    LEVEL_SIDES,
    NUM_LEVELS,
    lattice,
    leaf_regions,
    node_costs,
    normalize_levels,
)

# Constants of the published program. The last two are on the scale of SIFT descriptors.
SEARCHES = ((20, 4), (4, 1))  # Radius and step in pixels of each pixel search.
REACH = sum(radius for radius, _ in SEARCHES)  # Pixels by which a match can leave its region's.
AUTO = "auto"
TRUNCATION = 500.0  # Largest distance of two descriptors, and that to anything outside.
PIXEL_DEFORMATION = 2.5  # Cost of one pixel of departure from the region's displacement.

_AUTO_DIMENSIONS = 64
_AUTO_MIN_DEPTH = 129  # The published program searches in all of SIFT's 128 dimensions.
_MIN_SIDE = LEVEL_SIDES[-1]
_SAMPLE_SIDE = 20  # Pixels along each side that the scale is estimated from.
_LARGEST_MEDIAN = 0.875


class DspMatcher:
    """Matches two images by a deformable spatial pyramid.

    It works at pixel resolution: coarser feature maps are interpolated at the size of their images,
    or less, see `max_side`.

    Pixels are interpolated for one of 16 regions at a time, together with what they can reach in
    the target, so that memory is bounded by a sixteenth of the source and about an eighth of the
    target at pixel resolution. For images of 500 x 375 pixels that is 140 MB and 0.55 MB for each
    channel (0.9 MB with `reference`), beside the maps themselves: 560 MB for 768 channels.

    Args:
        feature_scale: `"auto"`, float or None. Descriptors are normalised to this Euclidean norm,
            since the method's constants are distances. `"auto"` puts unrelated cells of the two
            images, by their median, at the truncated distance: about the norm 512 for SIFT (the
            published scale), less for descriptors without a common part, which would all
            lie beyond the truncation at 512. None (or `"literal"`) takes them as they are: right
            for raw SIFT, while unit vectors would lie so close together that the flow collapses
            to 16 rigid blocks.
        reference: bool. Whether to do exactly as the published program does, mistakes included:
            children send nothing to their parents, and regions leave out their first row and
            column. Pixels' distances are then computed in float64, which takes longer.
        bottom_up: bool or None. Whether children send messages to their parents. None means
            `not reference`.
        max_side: int or None. Longest side of the working grid in cells; None for no limit.
        dimensions: int, `"auto"` or None. Directions in which descriptors are compared. Deeper
            descriptors are projected onto the principal directions of the two maps before they are
            scaled, see `reduce_depth`; distances and the confidence are those of the projected
            descriptors. `"auto"` is 64 for maps deeper than SIFT's 128, and all for others, with
            `reference`, and for descriptors that are taken as they are. None always compares all.

    Example:

    ```python
    match = DspMatcher()
    flow = match(source_features, target_features)
    ```
    """

    name = "dsp"

    def __init__(
        self,
        feature_scale: float | str | None = AUTO,
        reference: bool = False,
        bottom_up: bool | None = None,
        max_side: int | None = 640,
        dimensions: int | str | None = AUTO,
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
        self.dimensions = _check_dimensions(dimensions)

    def __call__(self, source: FeatureMap, target: FeatureMap, **_) -> Flow:
        """Returns the flow.

        Its confidence falls from 1 for equal descriptors to 0 at the truncated distance. Pixels
        whose match lies outside the target are not valid; their vectors end at its border.

        Raises:
            ValueError: If the maps differ in depth.
        """
        check_same_depth(source, target)
        size, target_size = self._working_size(source), self._working_size(target)
        displacement, distances = dsp_flow(
            tf.constant(source.values)[tf.newaxis],
            tf.constant(target.values)[tf.newaxis],
            size,
            target_size,
            feature_scale=self.feature_scale,
            reference=self.reference,
            bottom_up=self.bottom_up,
            dimensions=self.dimensions,
        )
        positions = np.moveaxis(np.indices(size), 0, -1) + displacement[0].numpy()
        inside = ((positions >= 0) & (positions < target_size)).all(axis=-1)
        confidence = np.maximum(1 - distances[0].numpy() / TRUNCATION, 0)
        return flow_from_cells(
            positions,
            target_size,
            source.image_size,
            target.image_size,
            valid=inside,
            confidence=confidence,
        )

    def _working_size(self, feature_map: FeatureMap) -> tuple[int, int]:
        """Returns the size at which a map is matched: at least one pixel per region and side."""
        height, width = feature_map.image_size
        factor = min(1.0, (self.max_side or math.inf) / max(height, width))
        return max(_MIN_SIDE, round(height * factor)), max(_MIN_SIDE, round(width * factor))


@tf.autograph.experimental.do_not_convert
def dsp_flow(
    source: tf.Tensor,
    target: tf.Tensor,
    size: tuple[int, int] | tf.Tensor | None = None,
    target_size: tuple[int, int] | tf.Tensor | None = None,
    *,
    feature_scale: float | str | None = AUTO,
    reference: bool = False,
    bottom_up: bool | None = None,
    dimensions: int | str | None = AUTO,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Matches batches of feature maps pixel by pixel.

    Args:
        source: float tensor `(batch, grid height, grid width, depth)`; any of the sizes may be
            unknown.
        target: float tensor `(batch, target grid height, target grid width, depth)`.
        size: `(height, width)` of the source images in pixels; None if the map has one cell for
            each pixel.
        target_size: `(height, width)` of the target images in pixels, or None.
        feature_scale: `"auto"`, float or None. See `DspMatcher`.
        reference: bool. See `DspMatcher`.
        bottom_up: bool or None. See `DspMatcher`.
        dimensions: int, `"auto"` or None. See `DspMatcher`.

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
    size = tf.shape(source)[1:3] if size is None else size
    target_size = tf.shape(target)[1:3] if target_size is None else target_size
    feature_scale, dimensions = _check_feature_scale(feature_scale), _check_dimensions(dimensions)
    return _pair_matcher(feature_scale, reference, bottom_up, dimensions)(
        tf.cast(source, tf.float32),
        tf.cast(target, tf.float32),
        tf.cast(size, tf.int32),
        tf.cast(target_size, tf.int32),
    )


@functools.lru_cache
def _pair_matcher(
    feature_scale: float | str | None,
    reference: bool,
    bottom_up: bool,
    dimensions: int | str | None,
):
    """Returns the graph for a set of options: traced once, for maps of any size and depth."""

    maps, sizes = tf.TensorSpec((None, None, None, None)), tf.TensorSpec((2,), tf.int32)

    @tf.function(input_signature=[maps, maps, sizes, sizes], autograph=False)
    def match_pairs(source, target, size, target_size):
        # One pair's matrix products keep all cores busy, and memory stays bounded. The function is
        # mapped over numbers: slices share the memory of the maps, but mapped maps are copied.
        def match_pair(pair):
            maps = _reduced(source[pair], target[pair], feature_scale, reference, dimensions)
            return _match_pair(*maps, size, target_size, feature_scale, reference, bottom_up)

        return tf.map_fn(
            match_pair,
            tf.range(tf.shape(source)[0]),
            parallel_iterations=1,
            fn_output_signature=(tf.int32, tf.float32),
        )

    return match_pairs


def _reduced(source, target, feature_scale, reference, dimensions):
    """Returns the maps in the dimensions that `DspMatcher` says."""
    if dimensions == AUTO:
        if reference or feature_scale is None:
            return source, target
        deep = tf.shape(source)[-1] >= _AUTO_MIN_DEPTH
        dimensions = tf.where(deep, _AUTO_DIMENSIONS, _AUTO_MIN_DEPTH)
    return (source, target) if dimensions is None else reduce_depth(source, target, dimensions)


def _match_pair(source, target, size, target_size, feature_scale, reference, bottom_up):
    if feature_scale == AUTO:
        units = PixelDescriptors(source, size, 1.0), PixelDescriptors(target, target_size, 1.0)
        feature_scale = _scale_to_truncation(*units)
    source = PixelDescriptors(source, size, feature_scale)
    target = PixelDescriptors(target, target_size, feature_scale)
    step, num_steps = lattice(size, target_size)
    costs = node_costs(
        source.every(step),
        target.every(step),
        num_steps,
        truncation=TRUNCATION,
        reference=reference,
    )
    costs = normalize_levels(costs, reference)
    states, _ = propagate_beliefs(costs, num_levels=NUM_LEVELS, bottom_up=bottom_up)
    regions = leaf_regions(states, size, step, num_steps)

    def match_region(index, displacement, distances):
        first, end, moved = (tf.gather(part, index) for part in regions)
        pixels = pixel_grid(end - first) + first
        found, found_distances = _match_region(source, target, first, end, moved, reference)
        return (
            index + 1,
            tf.tensor_scatter_nd_update(displacement, pixels, found),
            tf.tensor_scatter_nd_update(distances, pixels, found_distances),
        )

    _, displacement, distances = tf.while_loop(
        lambda index, *_: index < tf.shape(regions[0])[0],
        match_region,
        (0, tf.zeros(tf.concat([size, [2]], axis=0), tf.int32), tf.zeros(size)),
        parallel_iterations=1,  # The memory of one region at a time.
    )
    return displacement, distances


def _match_region(source, target, first, end, moved, reference):
    """Searches the matches of a region's pixels around those that the region's displacement gives.

    Args:
        source: PixelDescriptors.
        target: PixelDescriptors.
        first: int32 tensor `(2,)`, the region's first pixel.
        end: int32 tensor `(2,)`, the pixel after its last.
        moved: int32 tensor `(2,)`, its displacement.

    Returns:
        Displacement `(region height, region width, 2)` and distance of the pixels.
    """
    # What lies off this window of the target is out of reach, or off the target. A region that has
    # left the target keeps one pixel of it, likewise out of reach.
    target_first = tf.clip_by_value(first + moved - REACH, 0, target.size - 1)
    target_end = tf.clip_by_value(end + moved + REACH, 1, target.size)
    source, target = (
        descriptors.at(tf.range(start[0], stop[0]), tf.range(start[1], stop[1]))
        for descriptors, start, stop in (
            (source, first, end),
            (target, target_first, target_end),
        )
    )
    # Between the two windows, pixels that have not moved lie apart by this.
    offset = first - target_first
    displacement = tf.broadcast_to(moved + offset, tf.concat([end - first, [2]], axis=0))
    for radius, step in SEARCHES:
        displacement = search_pixels(
            source,
            target,
            displacement,
            radius=radius,
            step=step,
            deformation=PIXEL_DEFORMATION,
            outside_distance=TRUNCATION,
            dtype=tf.float64 if reference else tf.float32,
        )
    return displacement - offset, flow_distances(source, target, displacement, TRUNCATION)


def _scale_to_truncation(source: PixelDescriptors, target: PixelDescriptors) -> tf.Tensor:
    """Returns the norm at which the median distance, any pixel to any, is the truncation."""
    cosine = tf.matmul(_some_pixels(source), _some_pixels(target), transpose_b=True)
    cosine = tf.sort(tf.reshape(cosine, (-1,)))
    median = cosine[tf.size(cosine) // 2]
    # Pixels that are all alike (a constant image) have no scale of their own.
    return TRUNCATION / tf.sqrt(2 - 2 * tf.minimum(median, _LARGEST_MEDIAN))


def _some_pixels(descriptors: PixelDescriptors) -> tf.Tensor:
    """Returns about `_SAMPLE_SIDE` squared descriptors, spread evenly: `(pixels, depth)`."""
    step = tf.maximum(descriptors.size // _SAMPLE_SIDE, 1)
    sample = descriptors.every(step, step // 2)
    return tf.reshape(sample, (-1, tf.shape(sample)[-1]))


def _check_feature_scale(feature_scale: float | str | None) -> float | str | None:
    if feature_scale is None or feature_scale == "literal":
        return None
    if feature_scale == AUTO:
        return AUTO
    if not isinstance(feature_scale, numbers.Real) or not 0 < feature_scale < math.inf:
        raise ValueError(
            '`feature_scale` must be a positive number, "auto", or None to take features as they '
            f"are. Received: feature_scale={feature_scale!r}"
        )
    return float(feature_scale)


def _check_dimensions(dimensions: int | str | None) -> int | str | None:
    if dimensions is None or dimensions == AUTO:
        return dimensions
    # True is an integer to Python.
    if not isinstance(dimensions, numbers.Integral) or dimensions is True or dimensions < 1:
        raise ValueError(
            '`dimensions` must be a positive integer, "auto", or None for all. '
            f"Received: dimensions={dimensions!r}"
        )
    return int(dimensions)
