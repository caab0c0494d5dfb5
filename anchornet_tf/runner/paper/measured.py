"""A table of the paper filled with our figures, from the notes of all pairs."""

import dataclasses
import warnings
from collections.abc import Mapping

import numpy as np

from anchornet_tf.runner.bootstrap import Resampling
from anchornet_tf.runner.paper.methods import Method
from anchornet_tf.runner.paper.pair_sets import PairSet
from anchornet_tf.runner.paper.published import PublishedTable
from anchornet_tf.runner.scores import Score, iou_score, pck_scores, region_scores

Notes = dict[str, dict]  # of one row, by the name of the pair

# Table 4 of the paper has a column twice, with different figures: it is measured once.
_AGAIN = " (again)"
_LENGTHS = {
    "image": "the image",
    "bbox": "the target object's box",
    "bbox_kp": "the box of the target's keypoints",
}
_NOT_RUN = {
    "errors": [],
    "lengths": {},
    "object_iou": None,
    "part_iou": None,
    "has_parts": False,
    "distances": [],
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """One figure of a table.

    Attributes:
        value: Ours; NaN if there is none.
        interval: (low, high), or None.
        paper: The paper's, or None.
        num_pairs: How many pairs of images ours comes from.
        reason: Why there is none; "" if there is.
    """

    value: float
    interval: tuple[float, float] | None
    paper: float | None
    num_pairs: int
    reason: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredRow:
    """One row of a table.

    Attributes:
        method: Method.
        entries: By the name of the column.
        mean: Of the columns that have a figure, the paper's over the same columns; None where the
            table has no mean.
        samples: `(resamples,)` of each column that has a figure.
        groups: The value of each group in the last column, for matrices of families.
    """

    method: Method
    entries: dict[str, Entry]
    mean: Entry | None
    samples: dict[str, np.ndarray]
    groups: dict[str, float]

    @property
    def columns(self) -> list[str]:
        """The columns that have a figure."""
        return [name for name, entry in self.entries.items() if np.isfinite(entry.value)]


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredTable:
    """A table with our figures beside the paper's.

    Attributes:
        published: The paper's table.
        rows: The rows that were asked for.
        notes: What a reader has to know.
        data: Name of the benchmark that ours come from; "" if there is none.
        num_pairs: int. The pairs of images behind the table.
        resampling: What intervals come from; None if there is nothing to measure.
    """

    published: PublishedTable
    rows: list[MeasuredRow]
    notes: list[str]
    data: str
    num_pairs: int
    resampling: Resampling | None

    @property
    def columns(self) -> list[str]:
        """The columns in which any row has a figure."""
        there = {name for row in self.rows for name in row.columns}
        return [name for name in self.published.columns if name in there]

    def empty_columns(self) -> dict[str, list[str]]:
        """Returns the other columns, by the reason, which all rows share."""
        found: dict[str, list[str]] = {}
        for name in self.published.columns:
            reasons = {row.entries[name].reason for row in self.rows}
            if name not in self.columns and len(reasons) == 1:
                found.setdefault(reasons.pop(), []).append(name)
        return found


def measure_table(
    published: PublishedTable,
    pairs: PairSet,
    notes_of_rows: Mapping[Method, Notes],
    reasons: Mapping[str, Mapping[str, str]],
    resampling: Resampling | None,
    notes: list[str],
) -> MeasuredTable:
    """Computes all figures of a table.

    Args:
        published: The paper's table.
        pairs: The pairs that it is measured on.
        notes_of_rows: The notes of the pairs that each method was run on.
        reasons: Why methods could not be run on classes: a reason by class, by the method's key.
        resampling: The resampling of the pairs; None if there are none.
        notes: What a reader has to know.
    """
    rows = [
        _row(published, pairs, method, found, reasons.get(method.key, {}), resampling)
        for method, found in notes_of_rows.items()
    ]
    columns = [name for name in published.columns if any(name in row.columns for row in rows)]
    rows = [_with_means_of(row, columns) for row in rows]
    benchmark, notes = pairs.benchmark, list(notes)
    if benchmark is not None and "PCK" in published.title:
        length = benchmark.protocol.normalize_by[0]
        notes.append(f"PCK is relative to the longer side of {_LENGTHS[length]}")
    return MeasuredTable(
        published,
        rows,
        notes,
        benchmark.name if benchmark else "",
        sum(pair.group in _groups(published, pairs) for pair in benchmark.pairs)
        if benchmark
        else 0,
        resampling,
    )


def _groups(published: PublishedTable, pairs: PairSet) -> list[str]:
    """Returns the groups of pairs that a table shows."""
    if _is_by_group(published):
        return [name for name in pairs.groups if name in published.columns]
    return pairs.groups


def _is_by_group(published: PublishedTable) -> bool:
    return bool(published.means)


def _row(published, pairs: PairSet, method: Method, found: Notes, reasons, resampling):
    entries, samples, last = {}, {}, {}
    scores = _scores(published, pairs, found)
    for column in published.columns:
        paper = published.figure(method.key, column)
        entry = Entry(np.nan, None, paper, 0, _why_not(published, column, pairs, reasons))
        if found:
            groups = [column] if _is_by_group(published) else pairs.groups
            score = scores[0] if _is_by_group(published) else scores[len(entries)]
            values, drawn = resampling.group_values(score), resampling.group_samples(score)
            known = [name for name in groups if np.isfinite(values.get(name, np.nan))]
            if known:
                last = values
                samples[column] = mean_of([drawn[name] for name in known])
                entry = Entry(
                    float(np.mean([values[name] for name in known])),
                    resampling.interval(samples[column]),
                    paper,
                    _count(pairs, found, known),
                )
        entries[column] = entry
    mean = _mean(published, method, entries, samples, resampling) if published.means else None
    method = dataclasses.replace(method, is_of_regions=published.number == 3)
    return MeasuredRow(method, entries, mean, samples, {} if _is_by_group(published) else last)


def _scores(published: PublishedTable, pairs: PairSet, found: Notes) -> list[Score]:
    """Returns the scores that the columns of a table show."""
    if not found:
        return []
    records = [_NOT_RUN | found.get(pair.name, {}) for pair in pairs.benchmark.pairs]
    if published.number in (1, 4):
        return [iou_score(pairs.benchmark, records)]
    if published.number == 3:
        return region_scores(records)[:1]
    protocol = pairs.benchmark.protocol
    thresholds = (0.05,) if published.number == 2 else (0.05, 0.1)
    scores = pck_scores(records, protocol.normalize_by[0], thresholds, protocol.inclusive)
    return scores[: len(thresholds)]


def _why_not(published, column: str, pairs: PairSet, reasons: Mapping[str, str]) -> str:
    if column.endswith(_AGAIN):
        return "the paper has this column twice, with different figures: it is measured once"
    if not _is_by_group(published):
        return pairs.reason or "; ".join(dict.fromkeys(reasons.values())) or "no pair counts"
    if column in pairs.groups:
        own = [reasons[name] for name in column.split(">") if name in reasons]
        return "; ".join(dict.fromkeys(own)) or "no pair counts"
    return pairs.why_not(column)


def _count(pairs: PairSet, found: Notes, groups) -> int:
    return sum(pair.group in groups and pair.name in found for pair in pairs.benchmark.pairs)


def _mean(published, method, entries, samples, resampling) -> Entry:
    known = [name for name in samples if np.isfinite(entries[name].value)]
    if not known:
        whys = dict.fromkeys(entry.reason for entry in entries.values())
        return Entry(np.nan, None, published.means[method.key], 0, "; ".join(whys))
    return Entry(
        float(np.mean([entries[name].value for name in known])),
        resampling.interval(mean_of([samples[name] for name in known])),
        float(np.mean([entries[name].paper for name in known])),
        sum(entries[name].num_pairs for name in known),
    )


def _with_means_of(row: MeasuredRow, columns: list[str]) -> MeasuredRow:
    """Gives a row that was not run the paper's mean over the columns that other rows have."""
    if row.mean is None or row.columns or not columns:
        return row
    entries = [row.entries[name] for name in columns]
    paper = float(np.mean([entry.paper for entry in entries]))
    reason = "; ".join(dict.fromkeys(entry.reason for entry in entries))
    return dataclasses.replace(row, mean=Entry(np.nan, None, paper, 0, reason))


def mean_of(samples: list[np.ndarray]) -> np.ndarray:
    """Returns the mean over groups or columns that have a score, resample by resample."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(samples, axis=0)
