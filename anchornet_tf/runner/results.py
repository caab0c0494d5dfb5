"""All figures of an evaluation, from which tables, plots and the JSON file are made."""

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
        value: float. The score over all groups; NaN if no pair counts.
        interval: (low, high), or None.
        groups: The value of each group, by name.
    """

    score: Score
    value: float
    interval: tuple[float, float] | None
    groups: dict[str, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One descriptor with one matcher.

    Attributes:
        features: Name of the descriptor.
        matcher: Name of the matcher.
        name: Both names, as in `Cell`.
        records: The notes of each pair.
        figures: The figures, by the names of scores.
    """

    features: str
    matcher: str
    name: str
    records: list[dict]
    figures: dict[str, Figure]


@dataclasses.dataclass(frozen=True)
class Difference:
    """How much better one row is than another on the same pairs.

    Attributes:
        better: Name of the better row.
        than: Name of the other row.
        score: Name of the score.
        value: float. The better row's score minus the other's.
        interval: (low, high), or None.
        share_above: float. The share of resamples in which the better row is better; None without
            resamples.
    """

    better: str
    than: str
    score: str
    value: float
    interval: tuple[float, float] | None
    share_above: float | None

    @property
    def is_outside_noise(self) -> bool:
        """Whether there is an interval and zero lies outside it."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


@dataclasses.dataclass(frozen=True, eq=False)
class Results:
    """A whole evaluation.

    Attributes:
        benchmark: Benchmark.
        normalize_by: What PCK errors are divided by.
        rows: The rows of the table.
        differences: The differences between any two rows, for every score that both have.
        configuration: dict. The configuration, stored with the results.
    """

    benchmark: Benchmark
    normalize_by: str
    rows: list[Row]
    differences: list[Difference]
    configuration: dict

    @property
    def score_names(self) -> list[str]:
        """Names of all scores, in the order of the tables."""
        names = dict.fromkeys(name for row in self.rows for name in row.figures)
        return sorted(names, key=lambda name: (not name.startswith("AuC"), name != "IoU"))

    @property
    def group_names(self) -> list[str]:
        """Names of the groups, in the order of the pairs."""
        return list(dict.fromkeys(pair.group for pair in self.benchmark.pairs))

    def as_json(self) -> dict:
        """Returns everything as values for JSON; NaN becomes None."""
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
        cells: The complete cells of a `Grid`.
        resampling: The resampling of the benchmark.
        normalize_by: What PCK errors are divided by, or None for the protocol's own choice.
        thresholds: Thresholds of PCK, or None for the protocol's own.
        configuration: dict. The configuration, stored with the results.

    Returns:
        Results.

    Raises:
        ValueError: If the benchmark cannot be normalised by `normalize_by`.
    """
    protocol = benchmark.protocol
    normalize_by = normalize_by or protocol.normalize_by[0]
    if normalize_by not in protocol.normalize_by:
        raise ValueError(
            f"For {benchmark.name}, `normalize_by` must be one of "
            f"{', '.join(protocol.normalize_by)}. "
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
        share_above=float(np.mean(drawn > 0)) if len(drawn) else None,
    )


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
