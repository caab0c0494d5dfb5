"""The order of a table's rows, the paper's beside ours."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import scipy.stats

from anchornet_tf.runner.paper.measured import MeasuredRow, MeasuredTable, mean_of
from anchornet_tf.runner.paper.methods import COMPARED

# The paper's figures have two digits: what differs by less than half of the last one is level.
LEVEL = 0.005
_FEWEST_RANKED = 3


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Whether one row is above another.

    Attributes:
        upper: Label of the row that is asked about.
        lower: Label of the other.
        paper: The paper's difference.
        ours: Our difference on the same columns.
        interval: (low, high) of ours, or None.
        columns: How many columns both have.
    """

    upper: str
    lower: str
    paper: float
    ours: float
    interval: tuple[float, float] | None
    columns: int

    @property
    def is_level(self) -> bool:
        """Whether the paper does not tell the two apart."""
        return abs(self.paper) < LEVEL

    @property
    def agrees(self) -> bool:
        """Whether the sign of ours is the paper's."""
        return self.paper * self.ours > 0

    @property
    def is_outside_noise(self) -> bool:
        """Whether there is an interval and zero lies outside it."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


@dataclasses.dataclass(frozen=True, eq=False)
class Order:
    """The rows of a table in order.

    Attributes:
        title: What they are ordered by.
        ranked: Label, the paper's mean, ours, and the ranks of both of each row, the paper's first
            row first.
        left_out: Labels of the rows that lack columns which others have.
        correlation: Spearman's rank correlation of the two orders; None with fewer than three rows.
        neighbors: Rows that follow each other in the paper.
        descriptors: Descriptors with the same matcher, on the columns that both rows have.
    """

    title: str
    ranked: list[tuple[str, float, float, float, float]]
    left_out: list[str]
    correlation: float | None
    neighbors: list[Comparison]
    descriptors: list[Comparison]


def orders_of(table: MeasuredTable) -> list[Order]:
    """Returns the order by the mean, or by each column where a table has no mean."""
    columns = list(table.published.columns)
    if table.published.means:
        return [_order(table, "mean", columns)]
    return [_order(table, column, [column]) for column in columns]


def _order(table: MeasuredTable, title: str, columns: Sequence[str]) -> Order:
    own = {id(row): [name for name in row.columns if name in columns] for row in table.rows}
    rows = [row for row in table.rows if own[id(row)]]
    shared = [name for name in columns if any(name in own[id(row)] for row in rows)]
    whole = [row for row in rows if own[id(row)] == shared]
    papers = [_paper(row, shared) for row in whole]
    ours = [_ours(row, shared) for row in whole]
    order = sorted(range(len(whole)), key=lambda index: -papers[index])
    ranks = _ranks(papers), _ranks(ours)
    correlation = None
    if len(whole) >= _FEWEST_RANKED and np.ptp(papers) and np.ptp(ours):
        correlation = float(scipy.stats.spearmanr(papers, ours).statistic)
    in_order = [whole[index] for index in order]
    return Order(
        title,
        [(whole[i].method.label, papers[i], ours[i], ranks[0][i], ranks[1][i]) for i in order],
        [row.method.label for row in rows if row not in whole],
        correlation,
        [
            compare(table, upper, lower, shared)
            for upper, lower in zip(in_order, in_order[1:], strict=False)
        ],
        _descriptors(table, rows, own),
    )


def compare(
    table: MeasuredTable, upper: MeasuredRow, lower: MeasuredRow, columns: Sequence[str]
) -> Comparison:
    """Compares two rows on columns that both have, on the same resamples."""
    drawn = mean_of([upper.samples[name] - lower.samples[name] for name in columns])
    return Comparison(
        upper.method.label,
        lower.method.label,
        _paper(upper, columns) - _paper(lower, columns),
        _ours(upper, columns) - _ours(lower, columns),
        table.resampling.interval(drawn),
        len(columns),
    )


def _descriptors(table: MeasuredTable, rows, own) -> list[Comparison]:
    found = {row.method.key: row for row in rows}
    pairs = []
    for matcher in dict.fromkeys(row.method.matcher for row in rows):
        pairs += [(f"{matcher}+{upper}", f"{matcher}+{lower}") for upper, lower in COMPARED]
        pairs.append((f"{matcher}+anchornet", "none"))
    comparisons = []
    for upper, lower in pairs:
        if upper in found and lower in found:
            first, second = found[upper], found[lower]
            both = [name for name in own[id(first)] if name in own[id(second)]]
            if both:
                comparisons.append(compare(table, first, second, both))
    return comparisons


def _paper(row: MeasuredRow, columns) -> float:
    return float(np.mean([row.entries[name].paper for name in columns]))


def _ours(row: MeasuredRow, columns) -> float:
    return float(np.mean([row.entries[name].value for name in columns]))


def _ranks(values) -> list[float]:
    """Returns ranks from one for the largest; equal values share the mean of their ranks."""
    return scipy.stats.rankdata([-value for value in values]).tolist() if values else []
