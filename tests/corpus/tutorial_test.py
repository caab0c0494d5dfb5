"""docs/corpus.md is correct: its snippets and commands, in order."""

import json
import os
import subprocess
import sys

import pytest

from tests.repository import documents
from tests.repository.tree import ROOT

TEXT = documents.text_of("docs/corpus.md")
# Fewer images make the commands quick; two processes are tested elsewhere.
CHANGES = {
    "range(10)": "range(3)",
    "cow/3.png": "cow/1.png",
    "cow/5.png": "cow/2.png",
    "--workers=2": "--workers=1",
    "--top=13": "--top=5",
}


def test_the_steps_are_all_there_and_compile():
    steps = documents.steps(TEXT)
    names = [step[1].rpartition(".")[2] if step[0] == "-m" else "" for step in steps]
    assert names == ["", "describe", "", "index", "search", "search", "", "match", ""]
    for step in steps:
        if step[0] == "-c":
            compile(step[1], "docs/corpus.md", "exec")


@pytest.mark.slow
def test_the_tutorial(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = []
    for step in documents.steps(TEXT):
        for old, new in CHANGES.items():
            step = [part.replace(old, new) for part in step]
        finished = subprocess.run(
            [sys.executable, *step], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert finished.returncode == 0, (step, finished.stderr[-3000:])
        printed.append(finished.stdout.splitlines())
    # What the command prints is what stands below it.
    shown = documents.blocks(TEXT, "text")[0].replace("40 images", "12 images").splitlines()
    assert printed[1][0].startswith(shown[0].removesuffix(" ..."))
    assert printed[1][1:] == shown[1:]
    found = json.loads((tmp_path / "found" / "found.json").read_text())
    assert len(found) == 5 and "cow/1.png" not in [each["key"] for each in found]
    strengths = [
        each["score"] for each in json.loads((tmp_path / "by_filter/found.json").read_text())
    ]
    assert strengths == sorted(strengths, reverse=True)
    assert (tmp_path / "found" / "found.png").is_file()
    targets = [line.split() for line in printed[-1]]
    assert [words[0] for words in targets] == ["cow/2.png", "sheep/1.png"]
    assert all(0 <= float(words[3]) <= 1 for words in targets)
