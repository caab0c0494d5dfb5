"""Matches whose truth is known, with the evidence for them."""

import contextlib
import dataclasses
from collections.abc import Iterator

import numpy as np
import tensorflow as tf
import tqdm
from scipy.spatial import Delaunay, QhullError

from anchornet_tf.datasets import parts_world
from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Pair, object_size
from anchornet_tf.datasets.parts_world.cut_outs import BACKGROUNDS, cut_out
from anchornet_tf.features.feature_map import FeatureMap, cell_centers, resize_bilinear
from anchornet_tf.features.object_probe import GRID, ObjectProbe, directions_and_lengths
from anchornet_tf.matchers import evidence
from anchornet_tf.matchers.confidence import FINEST, RIGHT_WITHIN
from anchornet_tf.matchers.flow_sampling import read_between_pixels
from anchornet_tf.matchers.matcher import Matcher

# Cells this far outside the box of the keypoints, in shares of its size, show no object.
_MARGIN = 0.12
# Shares of a cell that an object covers: less is background, more is object.
_BACKGROUND_BELOW, _OBJECT_ABOVE = 0.05, 0.6
_BACKGROUND_CELLS = 20
_DESCRIBED_AT_ONCE = 16


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Matches of one matcher on one set of pairs.

    Attributes:
        evidence: `(n, k)` of keypoints that both images show.
        correct: `(n,)` bool, whether their matches are right.
        elsewhere: `(m, k)` evidence of cells without an object, which match nothing.
    """

    evidence: np.ndarray
    correct: np.ndarray
    elsewhere: np.ndarray


class DescribedPairs:
    """The pairs of a benchmark with the features of their images.

    Args:
        benchmark: The pairs.
        matcher: A `Matcher` with the descriptor.
    """

    def __init__(self, benchmark: Benchmark, matcher: Matcher):
        self.pairs = benchmark.pairs
        self.annotations = benchmark.annotations()
        self.images = {key: each.read_scaled() for key, each in self.annotations.items()}
        self.maps: dict[str, FeatureMap] = {}
        keys = list(self.images)
        for start in range(0, len(keys), _DESCRIBED_AT_ONCE):
            chunk = keys[start : start + _DESCRIBED_AT_ONCE]
            described = matcher.describe([self.images[key] for key in chunk])
            self.maps |= dict(zip(chunk, described, strict=True))

    def object_cells(self) -> Iterator[tuple[FeatureMap, np.ndarray]]:
        """Yields the features of each image and where the object is, as `object_share` says."""
        for key, annotation in self.annotations.items():
            yield self.maps[key], object_share(annotation, self.images[key].original_size)

    def examples(self, matcher: Matcher, probe: ObjectProbe | None, seed: int) -> Examples:
        """Matches all pairs and gathers the evidence.

        Args:
            matcher: A `Matcher` that leaves scores as they are.
            probe: As in `evidence.look`.
            seed: int, of the cells that are drawn from the background.
        """
        compute = tf.function(
            lambda source, target, *rest: evidence.match_evidence(
                evidence.look(source, probe), evidence.look(target, probe), *rest
            ),
            reduce_retracing=True,
        )
        rng = np.random.default_rng(seed)
        known, correct, elsewhere = [], [], []
        name = getattr(matcher.pair_matcher, "name", "matcher")
        for pair in tqdm.tqdm(self.pairs, desc=name, unit="pair"):
            keys = pair.source.image_key, pair.target.image_key
            source, target = (self.maps[key] for key in keys)
            images = [[self.images[key]] for key in keys]
            [flow] = matcher.match_maps([source], [target], *images)
            positions, valid, scores = flow.cells(FINEST)
            cells = evidence.positions_on_grid(positions, flow.target_size).astype(np.float32)
            arrays = [source.values, target.values, cells, np.where(valid, scores, 0)]
            arrays = [tf.constant(array, tf.float32)[tf.newaxis] for array in arrays]
            own = None if flow.evidence is None else tf.constant(flow.evidence)[tf.newaxis]
            found = compute(*arrays, own)[0].numpy()  # (rows, columns, k)
            points, errors = _keypoint_errors(pair, flow)
            known.append(_read(found, points, flow.shape))
            correct.append(errors < RIGHT_WITHIN * object_size(pair.target))
            share = object_share(pair.source, flow.shape)
            share = resize_bilinear(np.nan_to_num(share, nan=1.0)[..., np.newaxis], found.shape[:2])
            background = found[share[..., 0] < _BACKGROUND_BELOW]
            elsewhere.append(rng.permutation(background)[:_BACKGROUND_CELLS])
        return Examples(*(np.concatenate(part) for part in (known, correct, elsewhere)))


def _keypoint_errors(pair: Pair, flow) -> tuple[np.ndarray, np.ndarray]:
    points, candidates = pair.shared_points()
    moved = flow.transfer_points(points, rounded=True, outside="nearest")
    errors = np.linalg.norm(candidates - moved[:, np.newaxis], axis=-1)
    return points, np.where(np.isnan(errors), np.inf, errors).min(axis=1, initial=np.inf)


def _read(values: np.ndarray, points: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Reads `(rows, columns, k)` values over an image of `size` at `(n, 2)` points (x, y)."""
    if not len(points):
        return np.zeros((0, values.shape[-1]), np.float32)
    places = (points[:, ::-1] + 0.5) * np.divide(values.shape[:2], size) - 0.5
    return read_between_pixels(values, places[np.newaxis].astype(np.float32))[0]


def object_share(annotation: Annotation, size: tuple[int, int]) -> np.ndarray:
    """Returns how much of each cell of the grid shows the object, `GRID`; NaN where unknown.

    Without a mask, cells within the hull of the keypoints show it, and those well outside their box
    do not.

    Args:
        annotation: What is known about the image.
        size: Its `(height, width)`.
    """
    masks = annotation.read_masks() if annotation.read_masks is not None else None
    if masks is not None and masks.whole is not None:
        return resize_bilinear(masks.whole[..., np.newaxis] * 1.0, GRID, antialias=True)[..., 0]
    share = np.full(GRID, np.nan, np.float32)
    points = annotation.visible_points
    rows, columns = (cell_centers(*sides) for sides in zip(GRID, size, strict=True))
    places = np.stack(np.meshgrid(columns, rows), axis=-1)  # (x, y)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = _MARGIN * (high - low).max()
    share[((places < low - margin) | (places > high + margin)).any(axis=-1)] = 0
    with contextlib.suppress(QhullError):  # Points on one line have no inside.
        share[Delaunay(points).find_simplex(places) >= 0] = 1
    return share


def cut_out_cells(matcher: Matcher, count: int) -> Iterator[tuple[FeatureMap, np.ndarray]]:
    """Yields features and object cells of drawn objects on flat, blurred and cluttered grounds.

    Args:
        matcher: A `Matcher` with the descriptor.
        count: int. Pictures of each class, on each kind of background in turn.
    """
    for number, class_name in enumerate(parts_world.CLASSES):
        drawn = [
            cut_out(class_name, index, BACKGROUNDS[(index + number) % len(BACKGROUNDS)])
            for index in range(count)
        ]
        maps = matcher.describe([example.image for example in drawn])
        for example, features in zip(drawn, maps, strict=True):
            mask = (example.part_map > 0)[..., np.newaxis] * 1.0
            yield features, resize_bilinear(mask, GRID, antialias=True)[..., 0]


def probe_examples(cells) -> tuple[np.ndarray, np.ndarray]:
    """Returns what a probe sees of cells, `(n, depth + 1)`, and whether they show an object.

    Args:
        cells: Iterable of features and object shares.
    """
    seen, shows = [], []
    for features, share in cells:
        values = tf.constant(features.values)[tf.newaxis]
        directions, lengths = directions_and_lengths(values)
        row = np.concatenate([directions[0], lengths[0, :, np.newaxis]], axis=-1)
        share = share.ravel()
        sure = (share < _BACKGROUND_BELOW) | (share > _OBJECT_ABOVE)  # NaN is neither.
        seen.append(row[sure])
        shows.append(share[sure] > _OBJECT_ABOVE)
    return np.concatenate(seen), np.concatenate(shows)
