"""Proposal Flow: matching boxes, and the dense flow that comes of it."""

import dataclasses
import functools

import numpy as np

from anchornet_tf.features.box_features import BOX_CELLS
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.proposals import propose_boxes
from anchornet_tf.matchers.box_pair import BoxPair
from anchornet_tf.matchers.proposal_flow import ALGORITHMS, ProposalFlowMatcher
from benchmarks import operations
from benchmarks.pictures import drawn_image
from benchmarks.results import Goal, Results
from benchmarks.settings import Settings
from benchmarks.timing import in_turn

_GOALS = {"nam": Goal(6), "phm": Goal(8), "lom": Goal(12)}
_ORIGINALS = {"nam": 25, "phm": 147, "lom": 85}
_IMAGE_SIZE = (225, 300)  # (height, width)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two images with features and boxes."""

    images: tuple[np.ndarray, ...]
    features: tuple[FeatureMap, ...]
    boxes: tuple[np.ndarray, ...]


def made_pair(num_boxes: int, depth: int, grid: int) -> Pair:
    """Returns drawn images with random features and as many sliding windows as asked for."""
    rng = np.random.default_rng(0)
    images = tuple(drawn_image(index, _IMAGE_SIZE) for index in range(2))
    features = tuple(
        FeatureMap(rng.normal(size=(grid, grid, depth)).astype(np.float32), _IMAGE_SIZE)
        for _ in images
    )
    windows = [propose_boxes(image, num_boxes, "sliding_window", seed=5) for image in images]
    return Pair(images, features, tuple(_exactly(boxes, num_boxes, rng) for boxes in windows))


def box_works(pair: Pair) -> dict:
    """Returns for each algorithm the work from descriptors of boxes to their matches."""
    descriptors = _describe(pair)

    def match(matcher):
        return matcher.match_boxes(_boxed(pair, matcher.similarity(*descriptors)))

    return {
        algorithm: functools.partial(match, ProposalFlowMatcher(algorithm))
        for algorithm in ALGORITHMS
    }


def _describe(pair: Pair) -> list:
    matcher = ProposalFlowMatcher()
    return [
        matcher.describe(features, boxes)
        for features, boxes in zip(pair.features, pair.boxes, strict=True)
    ]


def _boxed(pair: Pair, similarity: np.ndarray) -> BoxPair:
    return BoxPair(similarity, *pair.boxes, _IMAGE_SIZE, _IMAGE_SIZE)


def region_matching(settings: Settings) -> Results:
    """NAM, PHM and LOM from the descriptors of boxes on, as the original was timed."""
    num_boxes, depth = settings.choose(1000, 30), settings.choose(256, 4)
    pair = made_pair(num_boxes, depth, settings.choose(56, 8))
    timed = in_turn(
        {**box_works(pair), "crops": lambda: _describe(pair)},
        settings.repeats,
    )
    shape = f"{num_boxes} x {num_boxes} boxes of {BOX_CELLS}x{BOX_CELLS}x{depth}"
    least = 2 * num_boxes**2 * BOX_CELLS**2 * depth / operations.PER_MATMUL
    rows = [
        timed.row(
            algorithm,
            f"PF {algorithm.upper()}, {shape}",
            goal=_GOALS[algorithm],
            reference=f"original under Octave: {_ORIGINALS[algorithm]}",
            note=f"{least:.1f} mm of them similarities",
        )
        for algorithm in ALGORITHMS
    ]
    return Results((*rows, timed.row("crops", "cutting the descriptors of these boxes out")))


def dense_flow(settings: Settings) -> Results:
    """From matched boxes to a flow: one-to-one, then the SD filter."""
    pair = made_pair(settings.choose(1000, 30), settings.choose(256, 4), settings.choose(56, 8))
    matcher = ProposalFlowMatcher("lom")
    boxed = _boxed(pair, matcher.similarity(*_describe(pair)))
    matches = matcher.match_boxes(boxed)
    timed = in_turn(
        {"flow": lambda: matcher.flow(boxed, matches, pair.images[0])}, settings.repeats
    )
    name = f"PF dense flow with one-to-one and SD filter, {_IMAGE_SIZE[1]}x{_IMAGE_SIZE[0]}"
    reference = "original under Octave: 150-250"
    return Results((timed.row("flow", name, goal=Goal(10), reference=reference),))


def _exactly(boxes: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Returns `count` boxes: where there are too few, some again, moved by a pixel or so."""
    missing = count - len(boxes)
    if missing <= 0:
        return boxes[:count]
    again = boxes[rng.integers(len(boxes), size=missing)]
    # Both corners move alike: sizes, and with them aspect ratios, stay as windows have them.
    shift = np.tile(rng.integers(-2, 3, size=(missing, 2)), 2)
    return np.concatenate([boxes, again + shift])
