"""How well boxes are matched: PCR and mIoU@k of Proposal Flow.

The ground truth of a box is where a thin-plate spline through the keypoints carries its corners; a
match is as good as its overlap with that. Only boxes on the object count.

Reference:
    Ham, Cho, Schmid, Ponce: Proposal Flow, CVPR 2016, section 4, in the detail of its published
    program.
"""

from collections.abc import Sequence

import numpy as np

from anchornet_tf.features.boxes import check_boxes, intersection_over_union
from anchornet_tf.metrics.thin_plate_spline import ThinPlateSpline

_ON_OBJECT = 0.75  # of a box must lie in the tight box of the keypoints
_NUM_BINS = 100  # of the distance 1 - IoU
NUM_RANKS = 100  # of mIoU@k


def active_boxes(boxes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Finds the boxes that are evaluated: those on the object that hold a keypoint.

    Args:
        boxes: `(n, 4)` boxes as in `anchornet_tf.features.boxes`.
        points: `(k, 2)` keypoints `(x, y)`, 0-based pixels of the same image.

    Returns:
        `(n,)` bool.
    """
    boxes, points = check_boxes(boxes), np.asarray(points, np.float64)
    # Areas here are those of the rectangles through the corners, without the last pixel.
    low = np.maximum(boxes[:, :2], points.min(axis=0))
    high = np.minimum(boxes[:, 2:], points.max(axis=0))
    shared = np.maximum(high - low, 0).prod(axis=1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    inside = (points >= boxes[:, np.newaxis, :2]) & (points <= boxes[:, np.newaxis, 2:])
    return (shared > _ON_OBJECT * area) & inside.all(axis=-1).any(axis=1)


def ground_truth_boxes(
    boxes: np.ndarray, spline: ThinPlateSpline, target_size: tuple[int, int]
) -> np.ndarray:
    """Carries boxes of the source image to the target image.

    Args:
        boxes: `(n, 4)` boxes of the source image.
        spline: ThinPlateSpline through the keypoints of both images.
        target_size: `(height, width)` of the target image.

    Returns:
        `(n, 4)` boxes between the means of the two leftmost, topmost, rightmost and bottommost of
        the four corners, each a whole pixel of the target image.
    """
    x1, y1, x2, y2 = check_boxes(boxes).T
    corners = np.stack([[x1, y1], [x2, y1], [x1, y2], [x2, y2]]).transpose(2, 0, 1)  # (n, 4, 2)
    places = spline(corners.reshape(-1, 2)).reshape(corners.shape)
    last = np.subtract(target_size[::-1], 1)
    places = np.sort(np.clip(np.floor(places + 0.5), 0, last), axis=1)
    return np.concatenate([places[:, :2].mean(axis=1), places[:, 2:].mean(axis=1)], axis=1)


def match_distances(ground_truth: np.ndarray, target_boxes: np.ndarray) -> np.ndarray:
    """Returns `(n, n_target)`: one minus the overlap of each true box with each box of the target.

    Args:
        ground_truth: `(n, 4)`, as from `ground_truth_boxes`.
        target_boxes: `(n_target, 4)` boxes.
    """
    return 1 - intersection_over_union(check_boxes(ground_truth), check_boxes(target_boxes))


def pcr_curve(distances: Sequence[np.ndarray]) -> np.ndarray:
    """Probability of correct regions: the share of matches within each distance of the truth.

    Args:
        distances: for each pair of images, the `(n,)` distances of the matches of its active boxes
            (or for an upper bound, of the best boxes there are). Pairs without active boxes are
            left out.

    Returns:
        `(100,)`: the share of matches with distance below 0.01, 0.02, ... 1.00, the mean over
        pairs; NaN if no pair has an active box.
    """
    edges = np.arange(_NUM_BINS + 1) / _NUM_BINS
    shares = []
    for pair in distances:
        pair = np.asarray(pair, np.float64)
        if pair.size:
            shares.append(np.histogram(pair[pair < 1], edges)[0] / pair.size)
    if not shares:
        return np.full(_NUM_BINS, np.nan)
    return np.cumsum(np.mean(shares, axis=0))


def pcr_area(curve: np.ndarray) -> float:
    """Returns the area under a PCR curve, at most 0.99: its points stand at 0, 0.01, ... 0.99."""
    return float(np.trapezoid(curve, dx=1 / _NUM_BINS))


def mean_iou_curve(
    distances: Sequence[np.ndarray], confidences: Sequence[np.ndarray]
) -> np.ndarray:
    """mIoU@k: mean overlap with the truth of the k surest matches.

    Args:
        distances: for each pair of images, the `(n,)` distances of the matches of its active boxes.
        confidences: for each pair, their `(n,)` confidences.

    Returns:
        `(100,)`: for k = 1 ... 100 the mean over ranks up to k of the mean over the pairs that have
        a match of that rank; ranks that no pair has count as 0.

    Raises:
        ValueError: If distances and confidences do not go together.
    """
    totals, counts = np.zeros(NUM_RANKS), np.zeros(NUM_RANKS)
    for pair, confidence in zip(distances, confidences, strict=True):
        pair, confidence = np.asarray(pair, np.float64), np.asarray(confidence)
        if pair.shape != confidence.shape:
            raise ValueError(
                "Each match needs one distance and one confidence. "
                f"Received: shapes {pair.shape} and {confidence.shape}"
            )
        order = np.argsort(-confidence, kind="stable")[:NUM_RANKS]
        totals[: len(order)] += 1 - pair[order]
        counts[: len(order)] += 1
    return mean_iou_of_ranks(totals / np.maximum(counts, 1))


def mean_iou_of_ranks(overlaps: np.ndarray) -> np.ndarray:
    """Turns the mean overlap at each rank into mIoU@k: the mean over ranks up to k.

    Args:
        overlaps: `(..., 100)`; NaN, for a rank that no pair has, counts as 0.

    Returns:
        `(..., 100)`.
    """
    return np.cumsum(np.nan_to_num(overlaps), axis=-1) / np.arange(1, NUM_RANKS + 1)


def mean_iou_area(curves: np.ndarray) -> np.ndarray:
    """Returns `(...)`: the areas under `(..., 100)` curves of mIoU@k, at most 99."""
    return np.trapezoid(curves, axis=-1)
