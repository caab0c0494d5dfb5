"""What benchmarks give: rows of the table with their goals, and curves of the plot."""

import dataclasses
import statistics
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Goal:
    """A bound for the median of a row.

    Args:
        bound: float.
        at_most: bool. Whether the bound is the largest good value, or the smallest.
    """

    bound: float
    at_most: bool = True

    def is_met(self, value: float) -> bool:
        return value <= self.bound if self.at_most else value >= self.bound

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.bound:g}"


@dataclasses.dataclass(frozen=True)
class Spread:
    """Median and quartiles of samples."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> "Spread":
        """Returns the spread of at least one sample.

        Raises:
            ValueError: If there are no samples.
        """
        if not samples:
            raise ValueError("Expected at least one sample. Received: none")
        if len(samples) == 1:
            return cls(samples[0], samples[0], samples[0])
        low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(median, low, high)


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table.

    Args:
        name: what was measured.
        unit: of the samples, e.g. `"mm"` or `"x trunk"`.
        samples: one figure per round.
        goal: what the median should be, or None for a row to compare with.
        reference: what the goal is to be compared with, as text.
        note: what else there is to say, such as a physical limit.
        seconds: the time behind each sample, where there is one.
        matmul_seconds: the time of the matrix product in the same rounds.
    """

    name: str
    unit: str
    samples: tuple[float, ...]
    goal: Goal | None = None
    reference: str = ""
    note: str = ""
    seconds: tuple[float, ...] = ()
    matmul_seconds: tuple[float, ...] = ()

    @property
    def spread(self) -> Spread:
        return Spread.of(self.samples)

    @property
    def verdict(self) -> str:
        """`"met"`, `"not met"`, or nothing without a goal."""
        if self.goal is None:
            return ""
        return "met" if self.goal.is_met(self.spread.median) else "not met"

    @property
    def matmuls(self) -> float | None:
        """The median time in matrix products, or None where nothing was timed."""
        if not self.seconds or len(self.seconds) != len(self.matmul_seconds):
            return None
        pairs = zip(self.seconds, self.matmul_seconds, strict=True)
        return Spread.of([own / matmul for own, matmul in pairs]).median


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a plot.

    Args:
        name: of the line.
        x: where it was measured.
        samples: for each place the figures of all rounds.
    """

    name: str
    x: tuple[float, ...]
    samples: tuple[tuple[float, ...], ...]

    @property
    def spreads(self) -> list[Spread]:
        return [Spread.of(samples) for samples in self.samples]


@dataclasses.dataclass(frozen=True)
class Curve:
    """One panel of the plot.

    Args:
        title: of the panel.
        x_label: what grows.
        y_label: what it costs.
        lines: what is compared.
        logarithmic: bool. Whether both axes are.
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    logarithmic: bool = True


@dataclasses.dataclass(frozen=True)
class Results:
    """Rows and curves of one part of the benchmarks, or of several."""

    rows: tuple[Row, ...] = ()
    curves: tuple[Curve, ...] = ()
