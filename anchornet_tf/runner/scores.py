"""From the notes of all pairs to figures: per group, over all, with their intervals.

A score is a ratio of sums over pairs, so that any re-weighting of the pairs (a bootstrap) gives its
value by two matrix products.
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
    """One figure of one cell.

    Attributes:
        name: str, as tables show it.
        numerators: `(pairs, k)`.
        denominators: `(pairs, k)`; 0 where a pair does not count.
        finish: from `(..., k)` ratios (NaN for 0 / 0) to `(...)` values.
    """

    name: str
    numerators: np.ndarray
    denominators: np.ndarray
    finish: Callable[[np.ndarray], np.ndarray]

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Returns `(...)`: the figure under weights `(..., pairs)`; NaN where no pair counts."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.finish((weights @ self.numerators) / (weights @ self.denominators))

    def of_pairs(self) -> np.ndarray:
        """Returns `(pairs,)`: the figure of each pair alone."""
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
        records: the notes of each of its pairs, in their order.
        measures: those that were taken.
        normalize_by: what PCK errors are divided by.
        thresholds: of PCK.

    Returns:
        The scores in the order of tables.
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
    """PCK per image (each pair counts the same) and per point (each keypoint counts the same)."""
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
    """Weighted part IoU; that of the whole object in groups of which no image has parts."""
    groups = [pair.group for pair in benchmark.pairs]
    with_parts = {
        group for group, record in zip(groups, records, strict=True) if record["has_parts"]
    }
    kinds = ["part_iou" if group in with_parts else "object_iou" for group in groups]
    values = [record[kind] for record, kind in zip(records, kinds, strict=True)]
    known = np.array([value is not None for value in values], float)
    return _ratio("IoU", np.array([value or 0.0 for value in values]), known)


def region_scores(records) -> list[Score]:
    """Areas under the PCR curve and under mIoU@k."""
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
    """Returns the areas of `(..., ranks)` mean overlaps; NaN without any."""
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
    """Returns `(t,)`: the mean PCK over the pairs at each threshold; NaN without pairs."""
    shares = [
        correct_points(_errors(record), record["lengths"][normalize_by], thresholds, inclusive)
        for record in records
        if record["errors"] and record["lengths"].get(normalize_by)
    ]
    if not shares:
        return np.full(len(thresholds), np.nan)
    return np.mean([share.mean(axis=0) for share in shares], axis=0)
