"""The program of alignments: what it prints and writes, what it refuses, and that it resumes."""

import subprocess
import sys

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.datasets import parts_world
from anchornet_tf.tasks import align_run
from anchornet_tf.tasks.align_config import AlignConfig
from anchornet_tf.tasks.align_store import FolderStore
from anchornet_tf.tasks.aligned import AlignedImages
from tests import programs
from tests.repository.tree import ROOT

QUICK = ("--features=sift", "--matcher=nearest", "--max_side=32", "--iterations=3")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with `cars`, from which programs are run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cars").mkdir()
    for number in range(4):
        image = PIL.Image.fromarray(parts_world.draw("car", number).image)
        image.resize((64, 48 + 8 * number)).save(tmp_path / "cars" / f"{number}.png")
    return tmp_path


@pytest.fixture
def main(monkeypatch):
    """The program in this process: takes arguments, returns the exit code."""
    with programs.in_process(monkeypatch, "anchornet_tf.align", AlignConfig) as run:
        yield run


def test_what_is_printed_and_written(folder, main, capsys):
    (folder / "cars" / "bad.png").write_text("junk")
    main("cars", *QUICK)
    skipped, summary, flows, look, following = capsys.readouterr().out.splitlines()
    assert skipped.startswith("Skipped bad.png: ") and "Received: " in skipped
    assert summary.startswith("4 images aligned at 32 x 30 pixels in ")
    assert "3-cycles that agree" in summary
    assert flows == "Flows are in aligned/flows.npz"
    assert look == "Look at aligned/average.png and aligned/warped.png"
    assert following.startswith("Next: python -m anchornet_tf.align cars --features=sift")
    assert "--onto=" in following and "--iterations=3" in following
    aligned = AlignedImages.load("aligned/flows.npz")
    assert aligned[0, 3].shape == (48, 64) and aligned[0, 3].target_size == (72, 64)
    assert (folder / "aligned" / "images.txt").read_text() == "0.png\n1.png\n2.png\n3.png\n"
    for name in ("average.png", "warped.png"):
        with PIL.Image.open(folder / "aligned" / name) as picture:
            assert picture.width > 600 and np.ptp(np.asarray(picture)) > 100
    # The command that is named next works, and has nothing to match any more.
    main(*following.split()[4:])
    assert "4 images aligned" in capsys.readouterr().out


class Stop(Exception):
    pass


def _config(folder, output, **options):
    return AlignConfig(
        images=folder / "cars",
        output=folder / output,
        features="sift",
        matcher="nearest",
        max_side=32,
        **options,
    )


def _flows(folder, output):
    with np.load(folder / output / "flows.npz") as archive:
        return dict(archive)


@pytest.mark.parametrize("where, after", [("save_start", 2), ("save_iteration", 2)])
def test_a_stopped_run_goes_on_and_ends_the_same(folder, monkeypatch, where, after):
    align_run.run(_config(folder, "whole"), progress=False)
    original, calls = getattr(FolderStore, where), []

    def stopping(self, *values):
        original(self, *values)
        calls.append(where)
        if len(calls) == after:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, where, stopping)
        with pytest.raises(Stop):
            align_run.run(_config(folder, "parts"), progress=False)
        calls.clear()
        patch.setattr(
            FolderStore, where, lambda self, *values: calls.append(original(self, *values))
        )
        align_run.run(_config(folder, "parts"), progress=False)
        done = len(calls)
    whole, parts = _flows(folder, "whole"), _flows(folder, "parts")
    assert whole.keys() == parts.keys()
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)
    total = 4 if where == "save_start" else len(whole["objective"]) - 1
    assert done == total - after


def test_other_images_or_options_begin_anew(folder, monkeypatch):
    first = align_run.run(_config(folder, "out", iterations=1), progress=False)
    matched = []
    original = FolderStore.save_start
    monkeypatch.setattr(
        FolderStore,
        "save_start",
        lambda self, *values: matched.append(original(self, *values)),
    )
    more = align_run.run(_config(folder, "out", iterations=2), progress=False)
    assert not matched and more.aligned.objective[:2] == first.aligned.objective
    fewer = align_run.run(_config(folder, "out", iterations=1), progress=False)
    assert not matched and fewer.aligned.objective == first.aligned.objective
    align_run.run(_config(folder, "out", iterations=1, limit=3), progress=False)
    assert len(matched) == 3


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "a folder of images"),
        (["cars", "more"], "a folder of images"),
        (["nothing"], "nothing"),
        (["cars", "--neighbors=-1"], "neighbors"),
        (["cars", "--limit=2"], "at least 3 images"),
        (["cars", "--onto=x.png"], "--onto"),
        (["cars", "--matcher=x"], "--matcher"),
        (["cars", "--option=wrong=1"], "wrong"),
        (["cars", "--output=cars/0.png"], "--output to be a folder"),
    ],
)
def test_mistakes_are_one_line(folder, main, capsys, arguments, message):
    with pytest.raises(SystemExit) as stopped:
        main(*arguments, "--features=sift")
    assert stopped.value.code == 1
    error = capsys.readouterr().err.strip()
    assert error.startswith("Error: ") and "\n" not in error
    assert message in error and "Received: " in error


def test_help_answers_without_tensorflow(folder):
    code = "import sys, anchornet_tf.align; sys.exit('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0
