"""A short soak finds nothing; and what a long one looks for would be found."""

import collections
import subprocess
import sys

import numpy as np
import pytest

from tests.repository.tree import ROOT
from tests.soak import report
from tests.soak.load import Load
from tests.soak.questions import Question, broken_questions


@pytest.mark.slow
def test_a_short_soak_finds_nothing():
    command = [sys.executable, "-m", "tests.soak", "--small", "--minutes=0.1"]
    result = subprocess.run(
        [*command, "--swaps=1", "--restarts=2"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert "Found nothing." in result.stdout


def test_memory_that_grows_is_found():
    flat, grown = ([100.0] * 80 + [1000.0] * 240 + [last] * 80 for last in (1000.0, 1060.0))
    assert report.growth(flat)[1] == ""
    assert "6.0%" in report.growth(grown)[1]
    assert report.growth(grown[::4])[1] == "", "a short run still fills up"


class _Answers:
    """A client that is answered, or refused, as it was told."""

    def __init__(self, answer):
        self._answer = answer

    def predict(self, signature, **_):
        if isinstance(self._answer, Exception):
            raise self._answer
        return {"features": self._answer}


def _wrong_of(question: Question, answer, versions=(1, 1)) -> list[str]:
    load = Load("localhost:1", "http://localhost:1", [], [])
    load.versions = versions
    load._ask(_Answers(answer), question)
    return load.wrong


def test_wrong_answers_and_lost_requests_are_found():
    right = {parity: {"features": np.full(3, parity + 1.0, np.float32)} for parity in (0, 1)}
    good = Question("features", "features", {}, right)
    assert _wrong_of(good, np.full(3, 2.0)) == []
    assert _wrong_of(good, np.full(3, 2.001)), "another answer"
    assert _wrong_of(good, np.full(2, 2.0)), "another shape"
    assert _wrong_of(good, np.full(3, 1.0)), "the answer of another version"
    assert _wrong_of(good, np.full(3, 1.0), (1, 2)) == [], "while versions change, either is right"
    assert _wrong_of(good, RuntimeError("gone")) == ["features: RuntimeError: gone"]


def test_broken_requests_have_to_be_refused():
    broken = broken_questions()
    assert max(collections.Counter(question.kind for question in broken).values()) == 1
    assert _wrong_of(broken[0], np.zeros(3)) == [f"{broken[0].kind}: was answered"]
    assert _wrong_of(broken[0], RuntimeError("an error of the server's own")), "not its own fault"
