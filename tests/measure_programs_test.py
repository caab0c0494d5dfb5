"""The programs that measure methods on annotated pairs, in processes of their own."""

import json
import subprocess
import sys

import pytest

from tests.repository.tree import ROOT

MEASURES = {
    "measure_confidence": ("confidence.json", "reliability.png"),
    "measure_limits": ("limits.json", "limits.png"),
}


def _run(name, *arguments, cwd=ROOT):
    command = [sys.executable, "-m", f"anchornet_tf.{name}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)


@pytest.mark.parametrize("name", MEASURES)
def test_what_is_printed_and_written(name, tmp_path):
    output = tmp_path / "out"
    drawn = ("--num_pairs=1", "--limit=2", "--features=sift", "--option=sift.step=16")
    finished = _run(name, *drawn, "--matcher=nearest,hough", f"--output={output}")
    assert finished.returncode == 0, finished.stderr
    assert "nearest + sift" in finished.stdout and str(output) in finished.stdout
    for each in MEASURES[name]:
        assert (output / each).stat().st_size > 0
    figures = json.loads((output / MEASURES[name][0]).read_text())
    assert list(figures) == ["nearest + sift", "hough + sift"]


def test_limits_name_what_fails_most(tmp_path):
    drawn = ("--num_pairs=1", "--limit=2", "--features=sift", "--option=sift.step=16")
    finished = _run("measure_limits", *drawn, "--worst=2", f"--output={tmp_path}")
    assert finished.returncode == 0, finished.stderr
    (least,) = [line for line in finished.stdout.splitlines() if "least: " in line]
    assert least.count(";") == 1
    figures = json.loads((tmp_path / "limits.json").read_text())["hough + sift"]
    first = least.partition("least: ")[2].split(";")[0]
    name, _, value = first.rpartition(" ")
    assert figures["keypoints"][name] == min(figures["keypoints"].values())
    assert float(value) == pytest.approx(figures["keypoints"][name], abs=0.005)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(
    "argument, words",
    [
        ("--features=shift", "Received: 'shift'"),
        ("--matcher=", "Received: nothing"),
        ("--option=step", "Received: "),
        ("--benchmark=pf_willow", "Received: "),
        ("--limit=-1", "Received: "),
    ],
)
def test_mistakes_are_one_line(name, argument, words):
    finished = _run(name, argument)
    assert finished.returncode == 1
    assert finished.stderr.startswith("Error: ") and finished.stderr.count("\n") == 1
    assert words in finished.stderr
