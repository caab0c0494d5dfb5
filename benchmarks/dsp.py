"""Deformable spatial pyramid matching of SIFT, at the original's sizes, and of deep descriptors."""

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.sift import SiftDescriptor
from anchornet_tf.matchers.dsp import DspMatcher
from benchmarks.pictures import drawn_image
from benchmarks.results import Goal, Results
from benchmarks.settings import Settings
from benchmarks.timing import in_turn

_SOURCE, _TARGET = (351, 538), (311, 477)
_PHOTOGRAPH = (375, 500)
_SMALL = (24, 30), (20, 26)


def dsp_20(settings: Settings) -> Results:
    """20-D descriptors, SIFT projected as the original does."""
    return _match(settings, 20, Goal(6), "original C++ with OpenMP: 15")


def dsp_128(settings: Settings) -> Results:
    """128-D SIFT."""
    return _match(settings, 128, Goal(25), "original C++ with OpenMP: 107")


def dsp_256(settings: Settings) -> Results:
    """256-D on 56x56 cells, as deep descriptors give them."""
    sizes = settings.choose((_PHOTOGRAPH, _PHOTOGRAPH), _SMALL)
    cells, depth = settings.choose(56, 6), 256
    # Maps of a picture rather than noise: how pixels share their work depends on a smooth flow.
    source, target = (
        _with_depth(feature_map.resized(cells, cells, antialias=True), depth)
        for feature_map in _sift(sizes)
    )
    reduced, full = DspMatcher(), DspMatcher(dimensions=None)
    timed = in_turn(
        {"reduced": lambda: reduced(source, target), "full": lambda: full(source, target)},
        settings.repeats,
    )
    (height, width), _ = sizes
    name = f"DSP, {height}x{width}, {depth}-D on {cells}x{cells} cells"
    return Results(
        (
            timed.row("reduced", name, goal=Goal(12)),
            timed.row("full", f"{name}, in all dimensions"),
        )
    )


def _match(settings, depth, goal, reference) -> Results:
    sizes = settings.choose((_SOURCE, _TARGET), _SMALL)
    source, target = (_with_depth(feature_map, depth) for feature_map in _sift(sizes))
    matcher = DspMatcher()
    timed = in_turn({"dsp": lambda: matcher(source, target)}, settings.repeats)
    (height, width), (target_height, target_width) = sizes
    name = f"DSP, {height}x{width} against {target_height}x{target_width}, {depth}-D"
    return Results((timed.row("dsp", name, goal=goal, reference=reference),))


def _sift(sizes) -> list[FeatureMap]:
    return SiftDescriptor()([drawn_image(index, size) for index, size in enumerate(sizes)])


def _with_depth(feature_map: FeatureMap, depth: int) -> FeatureMap:
    if depth == feature_map.depth:
        return feature_map
    normal = np.random.default_rng(0).normal(size=(feature_map.depth, depth))
    # Orthonormal columns, or rows where the depth grows.
    basis = np.linalg.qr(normal)[0] if depth < feature_map.depth else np.linalg.qr(normal.T)[0].T
    basis = basis.astype(np.float32)
    return FeatureMap(feature_map.values @ basis, feature_map.image_size)
