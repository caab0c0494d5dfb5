"""The command line: real runs in this process, and --help in its own."""

import subprocess
import sys

import numpy as np
import PIL.Image
import pytest
from absl import app, flags
from absl.testing import flagsaver

from anchornet_tf import match
from anchornet_tf.matchers.flow import Flow


@pytest.fixture
def images(tmp_path):
    """Paths of two images, the second moved by (x, y) = (5, 3)."""
    rng = np.random.default_rng(0)
    scene = PIL.Image.fromarray(rng.integers(0, 256, (20, 24, 3), np.uint8))
    scene = scene.resize((96, 80), PIL.Image.Resampling.BICUBIC)
    scene.crop((8, 8, 72, 64)).save(tmp_path / "a.png")
    scene.crop((3, 5, 67, 61)).save(tmp_path / "b b.png")
    return str(tmp_path / "a.png"), str(tmp_path / "b b.png")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the program with arguments, from an empty folder."""
    monkeypatch.chdir(tmp_path)
    if not flags.FLAGS.is_parsed():
        flags.FLAGS(["match"])

    def run(*arguments, **values):
        with flagsaver.flagsaver(**values):
            match.main(["match", *arguments])

    return run


def test_a_run_writes_picture_and_flow_and_says_so(images, run, capsys, tmp_path):
    run(
        *images,
        features="sift",
        matcher="nearest",
        output="out/match.png",
        flow="flow.npz",
        points="20,20 30.5,40",
    )
    lines = capsys.readouterr().out.splitlines()
    for line, expected in zip(lines[:2], ([25, 23], [35.5, 43]), strict=True):
        place, sure = line.split(" -> ")[1].split(" (")
        end = [float(number) for number in place.split(",")]
        assert 0 < float(sure.split()[1].removesuffix(")")) <= 1
        np.testing.assert_allclose(end, expected, atol=0.6)
    assert lines[2:4] == ["Flow written to flow.npz", "Picture written to out/match.png"]
    command = "Next: python -m anchornet_tf.match"
    assert lines[4].startswith(f"{command} '{images[1]}' {images[0]} --features=sift")
    # What was drawn is kept.
    assert lines[4].endswith("--output=out/match-back.png")
    flow = Flow.load(tmp_path / "flow.npz")
    np.testing.assert_allclose(np.median(flow.displacement, axis=(0, 1)), [3, 5], atol=0.1)
    assert PIL.Image.open(tmp_path / "out" / "match.png").width > 500


def test_options_reach_the_matcher_and_points_may_come_from_a_file(images, run, capsys, tmp_path):
    (tmp_path / "points.csv").write_text("x, y\n20,20\n\n30,40\n")
    run(
        *images,
        features="sift",
        matcher="hough",
        option=["grid_size=(14, 16)", "step=2"],
        output="",
        points="points.csv",
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("20,20 -> ") and lines[1].startswith("30,40 -> ")
    assert "--option=grid_size=(14, 16)" in lines[2]
    assert not (tmp_path / "match.png").exists()


def test_a_model_is_an_option_of_its_own(images, run):
    with pytest.raises(ValueError, match="Received: 'nowhere'"):
        run(*images, model="nowhere", output="")
    with pytest.raises(ValueError, match="Received: model"):
        run(*images, features="sift", model="voc20", output="")


def test_without_points_the_next_command_tries_one(images, run, capsys):
    run(*images, features="sift", matcher="none", output="")
    assert capsys.readouterr().out.strip().endswith("--points=32,28")


@pytest.mark.parametrize(
    "values, message",
    [
        ({"points": "1;2"}, "Expected --points of X,Y in pixels"),
        ({"points": "absent.csv"}, "absent.csv"),
        ({"points": "500,3"}, "inside the source image"),
        ({"option": ["mutual"]}, "Expected --option=NAME=VALUE. Received: 'mutual'"),
        ({"option": ["colour=3"]}, "Received: colour"),
    ],
)
def test_mistakes_are_found(images, run, values, message):
    with pytest.raises((ValueError, OSError), match=message):
        run(*images, **{"features": "sift", "matcher": "none", "output": "", **values})


def test_missing_images_and_wrong_counts(images, run):
    with pytest.raises(FileNotFoundError, match="Received: 'absent.png'"):
        run(images[0], "absent.png", features="sift")
    with pytest.raises(app.UsageError, match="Expected two images.*Received: a.png"):
        run("a.png")


def test_images_of_too_many_pixels_are_refused(images, run):
    with pytest.raises(ValueError, match="Received: .*a.png.*3,584 pixels"):
        run(*images, features="sift", matcher="none", max_pixels=3000)


def test_help_needs_no_tensorflow():
    program = (
        "import sys, runpy\n"
        "sys.argv = ['match', '--help']\n"
        "try:\n"
        "    runpy.run_module('anchornet_tf.match', run_name='__main__')\n"
        "finally:\n"
        "    assert 'tensorflow' not in sys.modules\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "--matcher: <none|nearest|hough" in result.stdout
    assert "AssertionError" not in result.stderr
