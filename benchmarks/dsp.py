"""Deformable spatial pyramid matching at the sizes that the original was timed at."""

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.sift import SiftDescriptor
from anchornet_tf.matchers.dsp import DspMatcher
from benchmarks.pictures import drawn_image
from benchmarks.results import Goal, Results
from benchmarks.settings import Settings
from benchmarks.timing import in_turn

_SOURCE, _TARGET = (351, 538), (311, 477)
_SMALL = (24, 30), (20, 26)


def dsp_20(settings: Settings) -> Results:
    """20-D descriptors, SIFT projected as the original does."""
    return _match(settings, 20, Goal(6), "original C++ with OpenMP: 15")


def dsp_128(settings: Settings) -> Results:
    """128-D SIFT."""
    return _match(settings, 128, Goal(25), "original C++ with OpenMP: 107")


def _match(settings, depth, goal, reference) -> Results:
    sizes = settings.choose((_SOURCE, _TARGET), _SMALL)
    maps = SiftDescriptor()([drawn_image(index, size) for index, size in enumerate(sizes)])
    source, target = (_with_depth(feature_map, depth) for feature_map in maps)
    matcher = DspMatcher()
    timed = in_turn({"dsp": lambda: matcher(source, target)}, settings.repeats)
    (height, width), (target_height, target_width) = sizes
    name = f"DSP, {height}x{width} against {target_height}x{target_width}, {depth}-D"
    return Results((timed.row("dsp", name, goal=goal, reference=reference),))


def _with_depth(feature_map: FeatureMap, depth: int) -> FeatureMap:
    if depth == feature_map.depth:
        return feature_map
    normal = np.random.default_rng(0).normal(size=(feature_map.depth, depth))
    basis = np.linalg.qr(normal)[0].astype(np.float32)
    return FeatureMap(feature_map.values @ basis, feature_map.image_size)
