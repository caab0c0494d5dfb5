"""Works are done in turn, ratios are those of one round, and only what should be timed is."""

import pytest

from benchmarks import timing
from benchmarks.results import Goal


def test_works_take_turns_and_every_other_round_runs_backwards():
    calls = []
    works = {name: lambda name=name: calls.append(name) for name in "abc"}
    timed = timing.in_turn(works, repeats=2, warmups=1)
    assert calls == ["a", "b", "c", "c", "b", "a", "a", "b", "c"]
    assert {name: len(values) for name, values in timed.seconds.items()} == dict.fromkeys(
        ["a", "b", "c", timing.MATMUL], 2
    )


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when somebody sleeps."""
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    monkeypatch.setattr(timing.time, "sleep", sleep)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    return sleep


def test_a_work_is_timed_and_its_preparation_is_not(clock):
    calls = []

    def prepare():
        calls.append("prepare")
        clock(5)

    def work():
        calls.append("work")
        clock(2)

    assert timing.once(work) == pytest.approx(2)
    assert timing.once(timing.Prepared(prepare, work)) == pytest.approx(2)
    assert calls == ["work", "prepare", "work"]


def test_figures_of_a_round(clock):
    works = {"slow": lambda: clock(6), "fast": lambda: clock(2)}
    timed = timing.in_turn(works, repeats=3, warmups=0)
    assert timed.ratios("slow", "fast") == pytest.approx((3, 3, 3))
    assert timed.seconds[timing.MATMUL] == (0, 0, 0)


def test_ratios_are_of_the_same_round():
    timed = timing.Timed({"a": (2.0, 9.0), "b": (1.0, 3.0), timing.MATMUL: (0.5, 1.5)})
    assert timed.ratios("a", "b") == (2.0, 3.0)
    assert timed.ratios("a") == (4.0, 6.0)


def test_row_of_a_work():
    timed = timing.Timed({"a": (2.0, 9.0), "b": (1.0, 3.0), timing.MATMUL: (0.5, 1.5)})
    row = timed.row("a", "a name", per="b", goal=Goal(2.4), reference="3", note="why")
    assert (row.name, row.unit, row.samples) == ("a name", "x b", (2.0, 3.0))
    assert (row.reference, row.note, row.verdict) == ("3", "why", "not met")
    assert row.seconds == (2.0, 9.0)
    assert row.matmuls == 5.0
    assert timed.row("a", "in matrix products").unit == timing.MATMUL


@pytest.mark.parametrize(
    "works, repeats, message",
    [
        ({"a": list}, 0, "Received: repeats=0"),
        ({"mm": list}, 1, r"Received: \['mm'\]"),
    ],
)
def test_wrong_input(works, repeats, message):
    with pytest.raises(ValueError, match=message):
        timing.in_turn(works, repeats=repeats)
