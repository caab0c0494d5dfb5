"""What limits a descriptor and a matcher: the same keypoints, with some of the difficulty removed.

A keypoint that is wrong may be wrong because the object is small, because the true place is not
among the most alike, or because it is one of several that are. Each way below takes one of these
away, with the help of the annotations.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import tqdm

from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Pair, object_size
from anchornet_tf.features.feature_map import FeatureMap, cell_centers
from anchornet_tf.image import interpolate_bilinear
from anchornet_tf.matchers.confidence import RIGHT_WITHIN
from anchornet_tf.matchers.matcher import Matcher

AS_IT_IS = "as it is"
OBJECT_KNOWN = "object known"
PLACES = (1, 2, 5, 10)
# Added to the box of the keypoints on each side, as a share of its longer side.
_MARGIN = 0.25
# Those of SIFT take a hundred megabytes each.
_MAPS_KEPT = 32


def best_of(places: int) -> str:
    """Returns the name of the way that takes the best of so many most alike places."""
    return f"best of {places}"


def by_chance(places: int) -> str:
    """Returns the name of what as many places anywhere in the image would give."""
    return f"{places} by chance"


@dataclasses.dataclass(frozen=True, eq=False)
class LimitScores:
    """Errors of the same keypoints by several ways.

    Attributes:
        pairs: The pairs.
        errors: By way and pair: `(n,)` distances from the truth, as shares of the object's size.
        chances: By way and pair: `(n,)` probabilities of being within `RIGHT_WITHIN`.
    """

    pairs: tuple[Pair, ...]
    errors: Mapping[str, Sequence[np.ndarray]]
    chances: Mapping[str, Sequence[np.ndarray]]

    def pck(self, way: str, threshold: float) -> float:
        """Returns the share of keypoints within a threshold: the mean of the groups' means."""
        return self._mean([errors < threshold for errors in self.errors[way]])

    def chance(self, way: str) -> float:
        """Returns the share of keypoints that a way of `chances` would get right."""
        return self._mean(self.chances[way])

    def _mean(self, values: Sequence[np.ndarray]) -> float:
        groups: dict[str, list[float]] = {}
        for pair, each in zip(self.pairs, values, strict=True):
            if len(each):
                groups.setdefault(pair.group, []).append(float(np.mean(each)))
        return float(np.mean([np.mean(each) for each in groups.values()]))

    def by_class(self, way: str, threshold: float) -> dict[str, float]:
        """Returns the share of keypoints within a threshold of each class."""
        return _means(
            (pair.source.class_name, errors < threshold)
            for pair, errors in zip(self.pairs, self.errors[way], strict=True)
        )

    def by_keypoint(self, way: str, threshold: float) -> dict[str, float]:
        """Returns the share of keypoints within a threshold of each named keypoint of a class."""
        return _means(
            (f"{pair.source.class_name}, {name}", error < threshold)
            for pair, errors in zip(self.pairs, self.errors[way], strict=True)
            for name, error in zip(pair.shared_names(), errors, strict=True)
        )

    def summary(self) -> dict[str, dict[str, float]]:
        """Returns PCK at 0.05 and at 0.1 by way, the ways in order."""
        figures = {
            way: {"PCK 0.05": self.pck(way, 0.05), "PCK 0.1": self.pck(way, 0.1)}
            for way in self.errors
        }
        return figures | {way: {"PCK 0.1": self.chance(way)} for way in self.chances}


def _means(found: Iterable[tuple[str, np.ndarray]]) -> dict[str, float]:
    values: dict[str, list] = {}
    for name, right in found:
        values.setdefault(name, []).extend(np.atleast_1d(right))
    return {name: float(np.mean(each)) for name, each in sorted(values.items())}


def measure(benchmark: Benchmark, matcher: Matcher) -> LimitScores:
    """Matches the pairs of a benchmark in all ways.

    Args:
        benchmark: The pairs.
        matcher: The `Matcher`. Its descriptor is asked for the most alike places.
    """
    images = {key: each.read_image() for key, each in benchmark.annotations().items()}

    def whole(annotation):
        height, width = images[annotation.image_key].shape[:2]
        return annotation.image_key, (0, 0, width, height)

    def cropped(annotation):
        # Images may show several objects, each with an annotation of its own.
        return annotation.image_key, _box(annotation, images[annotation.image_key].shape[:2])

    errors: dict[str, list] = {AS_IT_IS: [], OBJECT_KNOWN: []}
    for way, region in ((AS_IT_IS, whole), (OBJECT_KNOWN, cropped)):
        regions = [(region(pair.source), region(pair.target)) for pair in benchmark.pairs]
        parts = {
            (key, box): images[key][box[1] : box[3], box[0] : box[2]]
            for each in regions
            for key, box in each
        }
        flows = matcher.match_many(regions, parts, progress=False)
        for pair, flow, (source, target) in _counted(benchmark, flows, regions, way):
            points, candidates = pair.shared_points()
            moved = flow.transfer_points(points - source[1][:2], rounded=True, outside="nearest")
            moved = moved + target[1][:2]
            errors[way].append(_relative(moved[:, np.newaxis], candidates, pair))

    @functools.lru_cache(maxsize=_MAPS_KEPT)
    def described(key):
        return matcher.describe([images[key]])[0]

    chances: dict[str, list] = {}
    for pair in benchmark.pairs:
        points, candidates = pair.shared_points()
        source, target = (described(each.image_key) for each in (pair.source, pair.target))
        length = object_size(pair.target)
        found = most_alike(source, target, points, max(PLACES), RIGHT_WITHIN * length)
        room = _share_around(target, candidates, RIGHT_WITHIN * length)
        for places in PLACES:
            closest = _relative(found[:, :places], candidates, pair)
            errors.setdefault(best_of(places), []).append(closest)
            chances.setdefault(by_chance(places), []).append(np.minimum(places * room, 1))
    return LimitScores(benchmark.pairs, errors, chances)


def most_alike(
    source: FeatureMap, target: FeatureMap, points: np.ndarray, places: int, apart: float
) -> np.ndarray:
    """Returns the places of a target that are most like points of a source, the most alike first.

    Args:
        source: The source's features.
        target: The target's features.
        points: `(n, 2)` of (x, y) in pixels of the source.
        places: How many.
        apart: In pixels. Of two places that are closer than this, the more alike one counts.

    Returns:
        `(n, places, 2)` of (x, y) in pixels of the target; infinite where there are no more.
    """
    (height, width), grid = source.image_size, source.grid_size
    cells = np.float32((points[:, ::-1] + 0.5) * np.divide(grid, (height, width)) - 0.5)
    at_points = interpolate_bilinear(source.values[np.newaxis], cells[np.newaxis])[0].numpy()
    likeness = _unit(at_points) @ _unit(target.values.reshape(-1, target.depth)).T
    centers = _centers(target)
    found = np.full((len(points), places, 2), np.inf)
    every = np.arange(len(points))
    for place in range(places):
        best = likeness.argmax(axis=1)
        there = np.isfinite(likeness[every, best])
        found[there, place] = centers[best[there]]
        taken = np.linalg.norm(centers - centers[best][:, np.newaxis], axis=-1) < max(apart, 1e-6)
        likeness[taken] = -np.inf
    return found


def _unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def _centers(features: FeatureMap) -> np.ndarray:
    """Returns `(cells, 2)`: the (x, y) of each cell in pixels."""
    axes = (
        cell_centers(cells, pixels)
        for cells, pixels in zip(features.grid_size, features.image_size, strict=True)
    )
    rows, columns = np.meshgrid(*axes, indexing="ij")
    return np.stack([columns, rows], axis=-1).reshape(-1, 2)


def _share_around(target, candidates, radius):
    """Returns `(n,)`: the share of a target's cells within a radius of the true places."""
    distances = np.linalg.norm(candidates[:, :, np.newaxis] - _centers(target), axis=-1)
    return np.any(distances < radius, axis=1).mean(axis=-1)  # NaN is nowhere.


def _relative(places, candidates, pair: Pair):
    """Returns `(n,)` errors of the best of `(n, k, 2)` places against `(n, m, 2)` true ones."""
    distances = np.linalg.norm(places[:, :, np.newaxis] - candidates[:, np.newaxis], axis=-1)
    distances = np.where(np.isnan(distances), np.inf, distances)
    return distances.min(axis=(1, 2), initial=np.inf) / object_size(pair.target)


def _box(annotation: Annotation, size) -> tuple[int, int, int, int]:
    """Returns (left, top, right, bottom) around the visible keypoints, inside the image."""
    points = annotation.visible_points
    if not len(points):
        return 0, 0, size[1], size[0]
    margin = _MARGIN * max(np.ptp(points, axis=0).max(), 1.0)
    # Points may lie off the image; something of it is left.
    most = np.array(size[::-1])
    corner = np.clip(np.floor(points.min(axis=0) - margin), 0, most - 1).astype(int)
    end = np.clip(np.ceil(points.max(axis=0) + margin) + 1, corner + 1, most).astype(int)
    (left, top), (right, bottom) = corner.tolist(), end.tolist()
    return left, top, right, bottom


def _counted(benchmark, flows, regions, way):
    pairs = tqdm.tqdm(benchmark.pairs, desc=way, unit="pair", leave=False)
    return zip(pairs, flows, regions, strict=True)
