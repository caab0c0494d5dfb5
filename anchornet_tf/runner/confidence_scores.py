"""How far confidences can be trusted: on pairs whose correspondences are known."""

import dataclasses
import math
from typing import NamedTuple

import numpy as np
import tqdm
from scipy import ndimage

from anchornet_tf.datasets.annotated.annotation import Benchmark, object_size
from anchornet_tf.datasets.parts_world import CLASSES
from anchornet_tf.datasets.parts_world.cut_outs import BACKGROUNDS, cut_out
from anchornet_tf.features.object_probe import GRID
from anchornet_tf.matchers.confidence import RIGHT_WITHIN
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.metrics import calibration
from anchornet_tf.utils.image_io import read_scaled


@dataclasses.dataclass(frozen=True, eq=False)
class ConfidenceScores:
    """What confidences promised at keypoints, and what came true.

    Attributes:
        confidence: `(n,)` at keypoints.
        scores: `(n,)` the matcher's own scores there.
        correct: `(n,)` bool.
        on_object: `(m,)` for each pair with a mask of the source: the share of the surest tenth of
            pixels that lies on the object.
        scores_on_object: `(m,)` the same by the matcher's own scores.
    """

    confidence: np.ndarray
    scores: np.ndarray
    correct: np.ndarray
    on_object: np.ndarray
    scores_on_object: np.ndarray

    def summary(self) -> dict[str, float]:
        """Returns the figures that are reported, by name."""
        half = np.argsort(-self.confidence, kind="stable")[: max(1, len(self.confidence) // 2)]
        figures = {
            "points": len(self.correct),
            "right": float(self.correct.mean()),
            "AUROC": calibration.auroc(self.confidence, self.correct),
            "AUROC of scores": calibration.auroc(self.scores, self.correct),
            "ECE": calibration.expected_calibration_error(self.confidence, self.correct),
            "right in the surest half": float(self.correct[half].mean()),
        }
        if len(self.on_object):
            figures["surest tenth on the object"] = float(self.on_object.mean())
            figures["the same by scores"] = float(self.scores_on_object.mean())
        return figures


def measure(benchmark: Benchmark, matcher: Matcher) -> ConfidenceScores:
    """Matches the pairs of a benchmark and compares confidences with the truth.

    Args:
        benchmark: The pairs.
        matcher: The `Matcher`.
    """
    confidence, scores, correct, on_object, scores_on_object = [], [], [], [], []
    annotations = benchmark.annotations()
    images = {key: each.read_scaled() for key, each in annotations.items()}
    keys = [(pair.source.image_key, pair.target.image_key) for pair in benchmark.pairs]
    flows = matcher.match_many(keys, images, progress=False)
    pairs = tqdm.tqdm(benchmark.pairs, unit="pair", leave=False)
    for pair, flow in zip(pairs, flows, strict=True):
        points, candidates = pair.shared_points()
        moved, sure = flow.transfer_with_confidence(points, rounded=True, outside="nearest")
        _, score = flow.with_scores().transfer_with_confidence(points, True, "nearest")
        errors = np.linalg.norm(candidates - moved[:, np.newaxis], axis=-1)
        errors = np.where(np.isnan(errors), np.inf, errors).min(axis=1, initial=np.inf)
        correct.append(errors < RIGHT_WITHIN * object_size(pair.target))
        confidence.append(sure)
        scores.append(score)
        masks = pair.source.read_masks() if pair.source.read_masks is not None else None
        if masks is not None and masks.whole is not None:
            on_object.append(calibration.surest_share(flow.confidence, masks.whole))
            scores_on_object.append(calibration.surest_share(flow.scores, masks.whole))
    return ConfidenceScores(
        *(np.concatenate(part) for part in (confidence, scores, correct)),
        np.array(on_object),
        np.array(scores_on_object),
    )


class CutOutShares(NamedTuple):
    """Where the surest tenth of the pixels of cut-outs lies, as mean shares.

    Attributes:
        on_object: float, on the object, by the confidence.
        near_object: float, on the object or within a cell of the evidence's grid of it.
        on_object_by_scores: float, on the object, by the matcher's own scores.
        most: float. What a perfect confidence would reach: objects that cover less than a tenth of
            their image cannot hold all of it.
    """

    on_object: float
    near_object: float
    on_object_by_scores: float
    most: float


def cut_out_shares(matcher: Matcher, pairs_per_class: int) -> dict[str, CutOutShares]:
    """Measures where the surest pixels are on drawn objects pasted on other backgrounds.

    Args:
        matcher: The `Matcher`.
        pairs_per_class: int. Pairs of each class and background, from the test split.

    Returns:
        The shares by background.
    """
    found = {}
    for background in BACKGROUNDS:
        shares = []
        for class_name in tqdm.tqdm(CLASSES, desc=background, unit="class", leave=False):
            drawn = [
                cut_out(class_name, index, background, split="test")
                for index in range(2 * pairs_per_class)
            ]
            maps = matcher.describe([example.image for example in drawn])
            images = [read_scaled(example.image) for example in drawn]
            flows = matcher.match_maps(maps[::2], maps[1::2], images[::2], images[1::2])
            shares += [
                _shares(flow, example.part_map > 0)
                for example, flow in zip(drawn[::2], flows, strict=True)
            ]
        found[background] = CutOutShares(*(float(value) for value in np.mean(shares, axis=0)))
    return found


def _shares(flow: Flow, mask: np.ndarray) -> CutOutShares:
    cell = math.ceil(max(mask.shape) / max(GRID))
    near = ndimage.binary_dilation(mask, np.ones((3, 3), bool), iterations=cell)
    return CutOutShares(
        calibration.surest_share(flow.confidence, mask),
        calibration.surest_share(flow.confidence, near),
        calibration.surest_share(flow.scores, mask),
        calibration.surest_share(mask, mask),
    )
