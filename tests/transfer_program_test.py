"""The program of transfers: what it prints, what it refuses, and that it can be killed."""

import csv
import os
import signal
import subprocess
import sys
import time

import PIL.Image
import pytest

from anchornet_tf.tasks.transfer_config import TransferConfig
from tests import programs
from tests.repository.tree import ROOT
from tests.tasks import colored

PLACES = [(10, 10), (40, 30), (5, 50), (30, 12), (20, 40), (44, 50), (8, 22), (36, 6), (25, 25)]
PROGRAM = [sys.executable, "-m", "anchornet_tf.transfer", "--features=sift", "--option=step=8"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with `photos` and `points.csv`, from which programs are run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for number, place in enumerate(PLACES):
        points = colored.save(tmp_path / "photos", f"{number}.png", *place)
        if not number:
            with open("points.csv", "w", newline="") as file:
                rows = [["0.png", name, *place] for name, place in points.items()]
                csv.writer(file).writerows([["image", "name", "x", "y"], *rows])
    return tmp_path


@pytest.fixture
def main(monkeypatch):
    """The program in this process: takes arguments, returns the exit code."""
    with programs.in_process(monkeypatch, "anchornet_tf.transfer", TransferConfig) as run:
        yield run


def _quick(*arguments):
    return ["--features=sift", "--option=step=8", "--noreport", *arguments]


def test_what_is_printed(folder, main, capsys):
    (folder / "photos" / "bad.png").write_text("junk")
    main(*_quick("--references=points.csv", "--images=photos", "--threshold=0", "--suggest=2"))
    skipped, summary, written, annotate, following = capsys.readouterr().out.splitlines()
    assert skipped.startswith("Skipped bad.png: ") and "Received: " in skipped
    assert summary == ("9 images; 32 points carried, 32 of them with a probability of at least 0")
    assert written == "Written to transferred.csv"
    assert annotate.startswith("Annotate next: ") and annotate.count(".png") == 2
    # The same command without --suggest.
    assert following == (
        "Next: python -m anchornet_tf.transfer --references=points.csv --images=photos "
        "--threshold=0.0 --noreport --features=sift --option=step=8"
    )


def test_suggestions_come_before_annotations(folder, main, capsys):
    main(*_quick("--images=photos", "--suggest=3", "--norecursive"))
    annotate, following = capsys.readouterr().out.splitlines()
    assert annotate.count(".png") == 3
    assert "--references=annotations.json" in following and "--suggest" not in following
    assert sorted(os.listdir(folder)) == ["photos", "points.csv"]


_POINTS = "--references=points.csv"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--images=photos"],
        [_POINTS],
        [_POINTS, "--images=none"],
        [_POINTS, "--images=empty"],
        [_POINTS, "--images=none/*.png"],
        [_POINTS, "--images=points.csv"],
        ["--references=none.csv", "--images=photos"],
        ["--references=empty", "--images=photos"],
        ["--references=blank.csv", "--images=photos"],
        ["--references=header.csv", "--images=photos"],
        ["--references=gone.csv", "--images=photos"],
        ["--references=far.csv", "--images=photos"],
        ["--references=junk.json", "--images=photos"],
        [_POINTS, "--images=photos", "--threshold=2"],
        [_POINTS, "--images=photos", "--threshold=nan"],
        [_POINTS, "--images=photos", "--threshold=high"],
        [_POINTS, "--images=photos", "--references_per_image=0"],
        [_POINTS, "--images=photos", "--suggest=-1"],
        [_POINTS, "--images=photos", "--smooth=-1"],
        [_POINTS, "--images=photos", "--option=step"],
        [_POINTS, "--images=photos", "--option=size=8"],
        [_POINTS, "--images=photos", "--matcher=magic"],
        [_POINTS, "--images=photos", "--output=points.csv"],
        [_POINTS, "--images=photos", "--output=out.json"],
        [_POINTS, "--images=photos", "--output=points.csv/out.csv"],
        [_POINTS, "--images=photos", "more"],
        ["--references=points.csv", "--images=tiny"],
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(folder, main, capsys, arguments):
    (folder / "empty").mkdir()
    (folder / "tiny").mkdir()
    PIL.Image.new("RGB", (1, 1)).save(folder / "tiny" / "0.png")
    (folder / "blank.csv").write_text("")
    (folder / "header.csv").write_text("image,name,x,y\n")
    (folder / "gone.csv").write_text("image,name,x,y\ngone.png,nose,3,4\n")
    (folder / "far.csv").write_text("image,name,x,y\n0.png,nose,3,4000\n")
    (folder / "junk.json").write_text('{"images": 3, "annotations": []}')
    before = sorted(folder.rglob("*"))
    with pytest.raises(SystemExit) as ended:
        main(*_quick(*arguments))
    said = capsys.readouterr()
    assert ended.value.code == 1 and not said.out
    assert said.err.startswith("Error: ") and said.err.count("\n") == 1, said.err
    assert "Received: " in said.err and "Traceback" not in said.err, said.err
    assert sorted(folder.rglob("*")) == before


def _environment():
    return {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"}


def test_help_answers_without_tensorflow(tmp_path):
    (tmp_path / "tensorflow.py").write_text("raise ImportError('TensorFlow was imported')")
    environment = _environment() | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    asked = subprocess.run(
        [*PROGRAM, "--help"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "--references" in asked.stdout and "python -m anchornet_tf.transfer" in asked.stdout
    assert max(map(len, asked.stdout.splitlines())) <= 100


def test_a_killed_process_goes_on_where_it_was(folder, main):
    arguments = ["--references=points.csv", "--images=photos"]
    main(*_quick(*arguments, "--output=unbroken.csv"))
    journal = folder / "killed.csv.journal.jsonl"
    process = subprocess.Popen(
        [*PROGRAM, *arguments, "--output=killed.csv", "--noreport"],
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 120
    # The header and some images.
    while time.monotonic() < until and process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") > 3:
            break
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert journal.read_bytes().count(b"\n") > 3
    main(*_quick(*arguments, "--output=killed.csv"))
    assert (folder / "killed.csv").read_bytes() == (folder / "unbroken.csv").read_bytes()
