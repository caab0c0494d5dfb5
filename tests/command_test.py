"""The command `anchornet` lists all programs, answers at once and runs what is meant."""

import subprocess
import sys

import pytest

from anchornet_tf import __main__ as command
from tests.repository.tree import ROOT
from tools import build_files

# Not for users: what makes files of the package and pictures of its documents.
_LEFT_OUT = {
    "anchornet_tf",
    "anchornet_tf.datasets.parts_world.contact_sheet",
    "anchornet_tf.features.learn_hog_background",
}


def _run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "anchornet_tf", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_every_program_of_the_package_has_a_name():
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        for folder in build_files.folders()
        for path in folder.glob("*.py")
        if build_files.is_program(path)
    }
    ours = {
        name for name in modules if name.split(".")[0] in ("anchornet_tf", "trainers", "export")
    }
    assert {each.module for each in command.PROGRAMS.values()} == ours - _LEFT_OUT


def test_help_lists_them_without_tensorflow():
    code = (
        "import sys; from anchornet_tf.__main__ import main; main(['--help']);"
        "sys.exit('tensorflow' in sys.modules or 'numpy' in sys.modules)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    lines = [line for line in finished.stdout.splitlines() if line.startswith("  anchornet")]
    assert len(lines) == len(command.PROGRAMS)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "anchornet match"),
        (["export"], "anchornet export onnx"),
        (["train", "--help"], "anchornet train stage1"),
        (["match", "--help"], "--points"),
        (["train", "stage1", "--help"], "--num_filters"),
        (["--version"], "anchornet_tf 0"),
    ],
)
def test_answers(arguments, words):
    finished = _run(*arguments)
    assert finished.returncode == 0, finished.stderr
    assert words in finished.stdout
    if arguments in (["export"], ["train", "--help"]):
        assert "anchornet match" not in finished.stdout


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["mach"], "a program that `anchornet --help` lists, such as match, "),
        (["stage1"], "a program that `anchornet --help` lists, such as train stage1, "),
        (["corpus_serch"], "a program that `anchornet --help` lists, such as corpus search, "),
        (["--class=bird"], "a program that `anchornet --help` lists. "),
        (["export", "tflite"], "one of export saved_model, export onnx, "),
        (["train", "--class=bird"], "one of train stage1, train stage2, "),
    ],
)
def test_mistakes(arguments, expected):
    finished = _run(*arguments)
    assert finished.returncode == 1
    assert finished.stderr.endswith(f"Received: {' '.join(arguments)}\n")
    assert finished.stderr.startswith(f"Error: Expected {expected}")


def test_errors_of_programs_are_theirs():
    finished = _run("match", "one.jpg")
    assert finished.returncode == 1
    assert "Expected two images" in finished.stderr and "Traceback" not in finished.stderr
