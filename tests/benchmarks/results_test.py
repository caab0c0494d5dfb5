"""Goals, spreads and rows."""

import numpy as np
import pytest

from benchmarks.results import Goal, Line, Row, Spread


def test_spread_is_median_and_quartiles():
    samples = [4.0, 1.0, 3.0, 10.0, 2.0]
    low, median, high = np.percentile(samples, [25, 50, 75])
    assert Spread.of(samples) == Spread(median, low, high)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)
    with pytest.raises(ValueError, match="Received: none"):
        Spread.of([])


@pytest.mark.parametrize(
    "goal, value, met",
    [
        (Goal(2), 2.0, True),
        (Goal(2), 2.1, False),
        (Goal(6, at_most=False), 6.0, True),
        (Goal(6, at_most=False), 5.9, False),
    ],
)
def test_goal(goal, value, met):
    assert goal.is_met(value) == met
    assert Row("a", "mm", (value,), goal).verdict == ("met" if met else "not met")


def test_goals_as_text():
    assert str(Goal(1.15)) == "<= 1.15"
    assert str(Goal(6, at_most=False)) == ">= 6"


def test_the_median_decides():
    assert Row("a", "mm", (1.0, 1.0, 50.0), Goal(2)).verdict == "met"
    assert Row("a", "mm", (1.0,)).verdict == ""


def test_a_row_without_times_has_no_matmuls():
    assert Row("a", "MB", (1.0,)).matmuls is None
    assert Row("a", "s", (1.0,), seconds=(1.0,), matmul_seconds=(0.5,)).matmuls == 2.0


def test_line_has_a_spread_for_each_place():
    line = Line("a", (1, 2), ((1.0, 3.0), (5.0,)))
    assert [spread.median for spread in line.spreads] == [2.0, 5.0]
