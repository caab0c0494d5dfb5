"""Nearest neighbours between two feature maps: time, and memory at a large size."""

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.nearest import NearestMatcher
from benchmarks import memory, operations
from benchmarks.results import Goal, Results, Row
from benchmarks.settings import Settings
from benchmarks.timing import in_turn

_GOAL = Goal(3)
# Maps are copied to TensorFlow and normalised: twice their size, and the same again to be on the
# safe side.
_MEMORY_GOAL = Goal(4)


def random_maps(side: int, depth: int) -> tuple[FeatureMap, FeatureMap]:
    """Returns two maps of random descriptors on images four times their size."""
    rng = np.random.default_rng(0)
    shape, size = (side, side, depth), (4 * side, 4 * side)
    return tuple(FeatureMap(rng.normal(size=shape).astype(np.float32), size) for _ in range(2))


def nearest_time(settings: Settings) -> Results:
    """All cells against all cells, and the search from coarse to fine."""
    side, depth = settings.choose((112, 256), (8, 4))
    maps = random_maps(side, depth)
    exact, coarse = NearestMatcher(), NearestMatcher(coarse=True)
    timed = in_turn(
        {"exact": lambda: exact(*maps), "coarse": lambda: coarse(*maps)}, settings.repeats
    )
    least = 2 * side**4 * depth / operations.PER_MATMUL
    name = f"nearest, {side}x{side} to {side}x{side}, {depth}-D"
    limit = f"the products alone are {least:.2f} mm at the speed of the mm"
    return Results(
        (
            timed.row("exact", f"{name}, exact", goal=_GOAL, note=limit),
            timed.row("coarse", f"{name}, coarse to fine", goal=_GOAL),
        )
    )


def nearest_memory(settings: Settings) -> Results:
    """The peak beside the maps themselves; all similarities at once would be 150 GB."""
    side, depth = settings.choose((448, 256), (16, 4))
    matcher = NearestMatcher()
    matcher(*random_maps(8, depth))
    maps = random_maps(side, depth)
    peak = memory.peak_growth(lambda: matcher(*maps))
    ratio = peak / sum(feature_map.values.nbytes for feature_map in maps)
    name = f"nearest, {side}x{side} to {side}x{side}, {depth}-D: peak memory"
    note = f"{peak / memory.MEGABYTE:.0f} MB"
    return Results((Row(name, "x the maps", (ratio,), _MEMORY_GOAL, note=note),))
