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
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.pixel_search import flow_distances, search_pixels
from anchornet_tf.matchers.spatial_pyramid import (
    LEVEL_SIDES,
    NUM_LEVELS,
    lattice,
    leaf_displacement,
    node_costs,
    normalize_levels,
)

# Constants of the published program. The last two are on the scale of SIFT descriptors.
SEARCHES = ((20, 4), (4, 1))  # Radius and step in pixels of each pixel search.
AUTO_SCALE = "auto"
TRUNCATION = 500.0  # Largest distance of two descriptors, and that to anything outside.
PIXEL_DEFORMATION = 2.5  # Cost of one pixel of departure from the region's displacement.

_MIN_SIDE = LEVEL_SIDES[-1]
_SAMPLE_SIDE = 20  # Cells a side that the scale is estimated from.
_LARGEST_MEDIAN = 0.875


class DspMatcher:
    """Matches two images by a deformable spatial pyramid.

    It works on grids of pixel resolution: coarser feature maps are resampled to the size of their
    images, or less, see `max_side`.

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

    Example:

    ```python
    match = DspMatcher()
    flow = match(source_features, target_features)
    ```
    """

    def __init__(
        self,
        feature_scale: float | str | None = AUTO_SCALE,
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
    feature_scale: float | str | None = AUTO_SCALE,
    reference: bool = False,
    bottom_up: bool | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Matches batches of pixel-resolution feature maps.

    Args:
        source: float tensor `(batch, height, width, depth)`; any of the sizes may be unknown.
        target: float tensor `(batch, target height, target width, depth)`.
        feature_scale: `"auto"`, float or None. See `DspMatcher`.
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
def _pair_matcher(feature_scale: float | str | None, reference: bool, bottom_up: bool):
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
        source = tf.math.l2_normalize(source, axis=-1)
        target = tf.math.l2_normalize(target, axis=-1)
        if feature_scale == AUTO_SCALE:
            feature_scale = _scale_to_truncation(source, target)
        source, target = source * feature_scale, target * feature_scale
    step, num_steps = lattice(tf.shape(source)[:2], tf.shape(target)[:2])
    costs = node_costs(source, target, step, num_steps, truncation=TRUNCATION, reference=reference)
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


def _scale_to_truncation(source, target):
    """Returns the norm at which the median distance of unit vectors, any cell to any, is the truncation."""
    cosine = tf.matmul(_some_cells(source), _some_cells(target), transpose_b=True)
    cosine = tf.sort(tf.reshape(cosine, (-1,)))
    median = cosine[tf.size(cosine) // 2]
    # Cells that are all alike (a constant image) have no scale of their own.
    return TRUNCATION / tf.sqrt(2 - 2 * tf.minimum(median, _LARGEST_MEDIAN))


def _some_cells(values):
    """Returns about `_SAMPLE_SIDE` squared cells, spread evenly: `(cells, depth)`."""
    height, width = tf.unstack(tf.maximum(tf.shape(values)[:2] // _SAMPLE_SIDE, 1))
    sample = values[height // 2 :: height, width // 2 :: width]
    return tf.reshape(sample, (-1, tf.shape(values)[-1]))


def _check_feature_scale(feature_scale: float | str | None) -> float | str | None:
    if feature_scale is None or feature_scale == "literal":
        return None
    if feature_scale == AUTO_SCALE:
        return AUTO_SCALE
    if not isinstance(feature_scale, numbers.Real) or not 0 < feature_scale < math.inf:
        raise ValueError(
            '`feature_scale` must be a positive number, "auto", or None to take features as they are. '
            f"Received: feature_scale={feature_scale!r}"
        )
    return float(feature_scale)
