"""Computes scores from the notes of all pairs.

A score is a ratio of sums over pairs. Its values under many weightings of the pairs (a bootstrap)
therefore take only two matrix products.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from anchornet_tf.datasets.annotated.annotation import Benchmark
from anchornet_tf.metrics import region_matching
from anchornet_tf.metrics.pck import correct_points

PER_POINT = "per point"


@dataclasses.dataclass(frozen=True, eq=False)
class Score:
    """One score of one cell.

    Attributes:
        name: str. The name in tables.
        numerators: `(pairs, k)`.
        denominators: `(pairs, k)`; 0 for pairs that do not count.
        finish: Callable from `(..., k)` ratios (NaN for 0 / 0) to `(...)` values.
    """

    name: str
    numerators: np.ndarray
    denominators: np.ndarray
    finish: Callable[[np.ndarray], np.ndarray]

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Returns the score `(...)` under weights `(..., pairs)`; NaN if no pair counts."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.finish((weights @ self.numerators) / (weights @ self.denominators))

    def of_pairs(self) -> np.ndarray:
        """Returns the score of each pair alone, `(pairs,)`."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.finish(self.numerators / self.denominators)


def scores_of(
    benchmark: Benchmark,
    records: Sequence[dict],
    measures,
    normalize_by: str,
    thresholds: Sequence[float],
) -> list[Score]:
    """Computes the scores of a cell.

    Args:
        benchmark: Benchmark.
        records: The notes of each pair, in the benchmark's order.
        measures: The measures that were taken.
        normalize_by: What PCK errors are divided by.
        thresholds: Thresholds of PCK.

    Returns:
        The scores, in the order of the tables.
    """
    scores = []
    if "regions" in measures:
        scores += region_scores(records)
    if "parts" in measures:
        scores.append(iou_score(benchmark, records))
    if "pck" in measures:
        scores += pck_scores(records, normalize_by, thresholds, benchmark.protocol.inclusive)
    return scores


def pck_scores(records, normalize_by, thresholds, inclusive) -> list[Score]:
    """Returns PCK per image (pairs weigh the same) and per point (keypoints weigh the same)."""
    correct = np.zeros((len(records), len(thresholds)))
    counts = np.zeros(len(records))
    for row, record in enumerate(records):
        length, errors = record["lengths"].get(normalize_by), _errors(record)
        if length and len(errors):
            correct[row] = correct_points(errors, length, thresholds, inclusive).sum(axis=0)
            counts[row] = len(errors)
    share = correct / np.maximum(counts, 1)[:, np.newaxis]
    counted = (counts > 0).astype(float)
    return [
        *(
            _ratio(f"PCK@{threshold:g}", share[:, column], counted)
            for column, threshold in enumerate(thresholds)
        ),
        *(
            _ratio(f"PCK@{threshold:g} {PER_POINT}", correct[:, column], counts)
            for column, threshold in enumerate(thresholds)
        ),
    ]


def iou_score(benchmark: Benchmark, records) -> Score:
    """Returns the weighted part IoU, or the IoU of whole objects in groups without any parts."""
    groups = [pair.group for pair in benchmark.pairs]
    with_parts = {
        group for group, record in zip(groups, records, strict=True) if record["has_parts"]
    }
    kinds = ["part_iou" if group in with_parts else "object_iou" for group in groups]
    values = [record[kind] for record, kind in zip(records, kinds, strict=True)]
    known = np.array([value is not None for value in values], float)
    return _ratio("IoU", np.array([value or 0.0 for value in values]), known)


def region_scores(records) -> list[Score]:
    """Returns the areas under the PCR curve and under mIoU@k."""
    areas, counted = np.zeros(len(records)), np.zeros(len(records))
    overlaps, ranked = np.zeros((2, len(records), region_matching.NUM_RANKS))
    for row, record in enumerate(records):
        distances = np.asarray(record["distances"], np.float64)
        if len(distances):
            areas[row] = region_matching.pcr_area(region_matching.pcr_curve([distances]))
            counted[row] = 1
            overlaps[row, : len(distances)] = 1 - distances[: region_matching.NUM_RANKS]
            ranked[row, : len(distances)] = 1
    return [
        _ratio("AuC PCR", areas, counted),
        Score("AuC mIoU@k", overlaps, ranked, _mean_iou_area),
    ]


def _mean_iou_area(ratios: np.ndarray) -> np.ndarray:
    """Returns the areas under curves of `(..., ranks)` mean overlaps; NaN for empty curves."""
    nothing = np.isnan(ratios).all(axis=-1)
    curves = region_matching.mean_iou_of_ranks(ratios)
    return np.where(nothing, np.nan, region_matching.mean_iou_area(curves))


def _ratio(name, numerators, denominators) -> Score:
    return Score(
        name,
        np.asarray(numerators, float)[:, np.newaxis],
        np.asarray(denominators, float)[:, np.newaxis],
        lambda ratios: ratios[..., 0],
    )


def _errors(record) -> np.ndarray:
    return np.array([np.inf if value is None else value for value in record["errors"]])


def pck_curve(records, normalize_by: str, thresholds, inclusive: bool = False) -> np.ndarray:
    """Returns the mean PCK over the pairs at each threshold, `(t,)`; NaN if there are no pairs."""
    shares = [
        correct_points(_errors(record), record["lengths"][normalize_by], thresholds, inclusive)
        for record in records
        if record["errors"] and record["lengths"].get(normalize_by)
    ]
    if not shares:
        return np.full(len(thresholds), np.nan)
    return np.mean([share.mean(axis=0) for share in shares], axis=0)
