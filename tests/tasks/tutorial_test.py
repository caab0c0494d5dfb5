"""docs/annotate_once.md is correct: its snippets and commands, in order."""

import csv
import json
import os
import subprocess
import sys

import pytest

from tests.repository import documents
from tests.repository.tree import ROOT

TEXT = documents.text_of("docs/annotate_once.md")
# Fewer cows make the commands quick; all else is as it is written.
MANY, FEW = 13, 5


def test_commands_and_their_flags_exist():
    for module, used in documents.commands(TEXT):
        assert set(used) <= documents.flags_of(module), module


def test_the_steps_are_all_there():
    assert [step[0] for step in documents.steps(TEXT)] == ["-c", "-m", "-m", "-m", "-c", "-m", "-c"]


@pytest.mark.slow
def test_the_tutorial(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = []
    for step in documents.steps(TEXT):
        step[1] = step[1].replace(f"range({MANY})", f"range({FEW})")
        finished = subprocess.run(
            [sys.executable, *step], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert finished.returncode == 0, (step, finished.stderr[-3000:])
        printed.append(finished.stdout)
    # What the first command prints is what stands below it.
    shown = next(block for block in documents.blocks(TEXT, "text") if "carried" in block)
    many, few = (f"{n} images; {7 * (n - 1)} points" for n in (MANY, FEW))
    assert many in shown
    for line, real in zip(
        shown.replace(many, few).splitlines(), printed[1].splitlines(), strict=True
    ):
        before, _, after = line.partition("...")
        assert real.startswith(before) and real.endswith(after)
    assert "Annotate next: " in printed[2] and "Annotate next: " in printed[3]
    with open(tmp_path / "transferred.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["image"] for row in rows}) == FEW and len(rows) == FEW * 7
    assert (tmp_path / "transferred-report" / "report.png").is_file()
    outlines = json.loads((tmp_path / "outlines.json").read_text())
    assert len(outlines["images"]) == FEW and outlines["annotations"]
    assert printed[-1].count("with probability") == 3
