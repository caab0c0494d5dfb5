"""The figures of an evaluation, gathered: what tables, plots and the JSON file are made from."""

import dataclasses
import itertools
import math

import numpy as np

from anchornet_tf.datasets.annotated.annotation import Benchmark
from anchornet_tf.runner.bootstrap import Resampling
from anchornet_tf.runner.scores import Score, scores_of


@dataclasses.dataclass(frozen=True, eq=False)
class Figure:
    """One score of one row of the table.

    Attributes:
        score: Score.
        value: float over all groups; NaN where no pair counts.
        interval: (low, high), or None.
        groups: the value of each group.
    """

    score: Score
    value: float
    interval: tuple[float, float] | None
    groups: dict[str, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """A descriptor with a matcher.

    Attributes:
        features: name of the descriptor.
        matcher: name of the matcher.
        name: both in one.
        records: the notes of each pair.
        figures: by the names of scores.
    """

    features: str
    matcher: str
    name: str
    records: list[dict]
    figures: dict[str, Figure]


@dataclasses.dataclass(frozen=True)
class Difference:
    """How much a row is better than another on the same pairs.

    Attributes:
        better: name of the first row.
        than: name of the second.
        score: name of the score.
        value: float, first minus second.
        interval: (low, high), or None.
        share_above: float, the share of resamples in which the first is better.
    """

    better: str
    than: str
    score: str
    value: float
    interval: tuple[float, float] | None
    share_above: float

    @property
    def is_outside_noise(self) -> bool:
        """Whether the interval does not hold zero."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


@dataclasses.dataclass(frozen=True, eq=False)
class Results:
    """A whole evaluation.

    Attributes:
        benchmark: Benchmark.
        normalize_by: what PCK errors are divided by.
        rows: list of Row.
        differences: between all rows, for every score that both have.
        configuration: dict for the record.
    """

    benchmark: Benchmark
    normalize_by: str
    rows: list[Row]
    differences: list[Difference]
    configuration: dict

    @property
    def score_names(self) -> list[str]:
        """Names of all scores in the order of tables."""
        names = dict.fromkeys(name for row in self.rows for name in row.figures)
        return sorted(names, key=lambda name: (not name.startswith("AuC"), name != "IoU"))

    @property
    def group_names(self) -> list[str]:
        """Names of the groups, in the order of the pairs."""
        return list(dict.fromkeys(pair.group for pair in self.benchmark.pairs))

    def as_json(self) -> dict:
        """Returns everything as plain values; NaN becomes None."""
        pairs = [
            {
                "pair": pair.name,
                "source": pair.source.image_key,
                "target": pair.target.image_key,
                "group": pair.group,
            }
            for pair in self.benchmark.pairs
        ]
        rows = []
        for row in self.rows:
            figures = {
                name: {
                    "value": _plain(figure.value),
                    "interval": figure.interval,
                    "groups": {key: _plain(value) for key, value in figure.groups.items()},
                    "pairs": [_plain(value) for value in figure.score.of_pairs()],
                }
                for name, figure in row.figures.items()
            }
            rows.append({"matcher": row.matcher, "features": row.features, "scores": figures})
        return {
            "configuration": self.configuration,
            "benchmark": self.benchmark.name,
            "notes": list(self.benchmark.notes),
            "normalize_by": self.normalize_by,
            "average": self.benchmark.protocol.average,
            "pairs": pairs,
            "rows": rows,
            "differences": [
                dataclasses.asdict(difference) | {"outside_noise": difference.is_outside_noise}
                for difference in self.differences
            ],
        }


def gather(
    benchmark: Benchmark,
    cells,
    resampling: Resampling,
    normalize_by: str | None = None,
    thresholds=None,
    configuration: dict | None = None,
) -> Results:
    """Computes all figures.

    Args:
        benchmark: Benchmark.
        cells: complete cells of a `Grid`.
        resampling: Resampling of the benchmark.
        normalize_by: what PCK errors are divided by, or None for the protocol's own.
        thresholds: of PCK, or None for the protocol's own.
        configuration: dict for the record.

    Raises:
        ValueError: If the benchmark's images do not have what errors should be divided by.
    """
    protocol = benchmark.protocol
    normalize_by = normalize_by or protocol.normalize_by[0]
    if normalize_by not in protocol.normalize_by:
        raise ValueError(
            f"{benchmark.name} can be normalised by {', '.join(protocol.normalize_by)}. "
            f"Received: {normalize_by!r}"
        )
    rows, samples = [], {}
    for cell in cells:
        records = [cell.journal.records[pair.name] for pair in benchmark.pairs]
        figures = {}
        for score in scores_of(
            benchmark, records, cell.measures, normalize_by, thresholds or protocol.thresholds
        ):
            drawn = samples[cell.name, score.name] = resampling.samples(score)
            figures[score.name] = Figure(
                score,
                resampling.value(score),
                resampling.interval(drawn),
                resampling.group_values(score),
            )
        rows.append(Row(cell.features, cell.matcher, cell.name, records, figures))
    differences = [
        _difference(first, second, name, samples, resampling)
        for first, second in itertools.combinations(rows, 2)
        for name in first.figures
        if name in second.figures
    ]
    return Results(benchmark, normalize_by, rows, differences, configuration or {})


def _difference(first: Row, second: Row, name, samples, resampling) -> Difference:
    if second.figures[name].value > first.figures[name].value:
        first, second = second, first
    drawn = samples[first.name, name] - samples[second.name, name]
    return Difference(
        better=first.name,
        than=second.name,
        score=name,
        value=first.figures[name].value - second.figures[name].value,
        interval=resampling.interval(drawn),
        share_above=float(np.mean(drawn > 0)) if len(drawn) else float("nan"),
    )


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
