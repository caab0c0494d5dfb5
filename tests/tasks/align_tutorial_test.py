"""docs/align.md is correct: its snippets and commands, in order."""

import os
import subprocess
import sys

import pytest

from tests.repository import documents
from tests.repository.tree import ROOT

TEXT = documents.text_of("docs/align.md")
# Fewer cars make the command quick; all else is as it is written.
MANY, FEW = 10, 4


def test_the_steps_are_all_there_and_compile():
    steps = documents.steps(TEXT)
    assert [step[0] for step in steps] == ["-c", "-m", "-c", "-c"]
    for step in steps:
        if step[0] == "-c":
            compile(step[1], "docs/align.md", "exec")


@pytest.mark.slow
def test_the_tutorial(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = []
    for step in documents.steps(TEXT):
        step[1] = step[1].replace(f"range({MANY})", f"range({FEW})").replace("[5, 8]", "[1, 3]")
        finished = subprocess.run(
            [sys.executable, *step], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert finished.returncode == 0, (step, finished.stderr[-3000:])
        printed.append(finished.stdout.splitlines())
    # What the command prints is what stands below it.
    shown = documents.blocks(TEXT, "text")[0].splitlines()
    assert len(shown) == len(printed[1])
    assert printed[1][0].startswith(f"{FEW} images aligned at 150 x 150 pixels")
    assert printed[1][1:3] == shown[1:3]
    assert printed[1][3].startswith("Next: python -m anchornet_tf.align cars --onto=")
    assert (tmp_path / "aligned" / "average.png").is_file()
