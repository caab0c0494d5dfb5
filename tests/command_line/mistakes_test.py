"""What a user gets wrong in any program is one line on the standard error, and exit code 1."""

import json
import os
import subprocess
import sys

import pytest
from PIL import Image

from anchornet_tf.datasets import parts_world
from tests.repository.tree import ROOT

PROGRAMS = (
    "trainers.stage1",
    "trainers.stage2",
    "trainers.fit_pca",
    "trainers.reproduce",
    "trainers.demo",
    "export.saved_model",
    "export.serving",
    "export.client",
    "benchmarks",
)


def _run(program, arguments, folder):
    # Without the variables that make TensorFlow quiet: programs see to it themselves.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    path = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", program, *arguments.split()],
        cwd=folder,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def _assert_one_line(result):
    assert result.returncode == 1, result.stderr
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1, result.stderr
    assert "Received: " in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_answers_without_tensorflow(program, tmp_path):
    # A module of this name that cannot be imported stands in the way of the real one.
    (tmp_path / "tensorflow.py").write_text("raise ImportError('TensorFlow was imported')")
    result = _run(program, "--help", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"python -m {program}" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_unknown_flag(program, tmp_path):
    _assert_one_line(_run(program, "--no_such_flag=3", tmp_path))


@pytest.mark.parametrize(
    "program, arguments",
    [
        ("trainers.stage1", "--steps=many"),
        ("trainers.stage1", "--steps=0"),
        ("trainers.stage1", "--batch_size=7"),
        ("trainers.stage1", "--checkpoint_every=0"),
        ("trainers.stage1", "--class=unicorn"),
        ("trainers.stage1", "bird"),
        ("trainers.stage2", ""),
        ("trainers.stage2", "--banks=a --gamma=cubes"),
        ("trainers.stage2", "--banks=a b"),
        ("trainers.stage2", "--banks=a --noise=2"),
        ("trainers.fit_pca", "--dimensions=300"),
        ("trainers.fit_pca", "--num_images=0"),
        ("trainers.fit_pca", "--output=pca.txt"),
        ("trainers.fit_pca", "manifest.csv"),
        ("trainers.reproduce", ""),
        ("trainers.reproduce", "--data=parts_world --setting=long"),
        ("trainers.demo", "--classes=unicorn"),
        ("trainers.demo", "--steps=0"),
        ("trainers.demo", "bird"),
        ("export.saved_model", "--model=voc20"),
        ("export.saved_model", "--model=voc20 --output=x --weight_div_a=-1"),
        ("export.saved_model", "--model=voc20 --output=x --look_twice=-1"),
        ("export.serving", "--output=x"),
        ("export.serving", "--model=a --output=b c"),
        ("export.client", ""),
        ("export.client", "a.png b.png c.png"),
        ("export.client", "--server=localhost a.png"),
        ("export.client", "--timeout=soon a.png"),
        ("benchmarks", "--only=nothing"),
        ("benchmarks", "--repeats=0"),
        ("benchmarks", "--data_dir=none"),
        ("benchmarks", "features"),
    ],
)
def test_wrong_flags(program, arguments, tmp_path):
    _assert_one_line(_run(program, arguments, tmp_path))
    assert not list(tmp_path.iterdir()), "nothing was written"


@pytest.fixture
def folder(tmp_path):
    """A folder with a few images and several things that are not what a program expects."""
    for name in ("bird", "background"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for index in range(2):
            image = Image.fromarray(parts_world.draw(name, index, size=64).image)
            image.save(tmp_path / "images" / name / f"{index}.png")
    (tmp_path / "malformed.csv").write_text("file;label\nnone.jpg;bird\n")
    (tmp_path / "missing.csv").write_text("path,labels\nnone.jpg,bird\nno.jpg,background\n")
    (tmp_path / "file").write_text("junk")
    (tmp_path / "junk.npz").write_text("junk")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text(json.dumps({"color": "red"}))
    return tmp_path


_WRONG_FILES = [
    ("trainers.stage1", "--data=manifest:malformed.csv"),
    ("trainers.stage2", "--banks=none --workdir=other"),
    ("trainers.fit_pca", "--data=folder:images"),
    ("export.saved_model", "--model=none --output=exported"),
    ("export.serving", "--model=other --output=bundle"),
    ("export.client", "none.png"),
]
# TensorFlow is imported in most of these, which takes seconds each.
_MORE_WRONG_FILES = [
    ("trainers.stage1", "--data=folder:none"),
    ("trainers.stage1", "--data=manifest:missing.csv"),
    ("trainers.stage1", "--data=photographs"),
    ("trainers.stage1", "--data=folder:images --heldout_fraction=0"),
    ("trainers.stage1", "--data=folder:images --heldout_fraction=0.5 --weights=none.h5"),
    ("trainers.stage1", "--pca=junk.npz"),
    ("trainers.stage1", "--workdir=other"),
    ("trainers.stage1", "--workdir=file"),
    ("trainers.stage2", "--banks=none"),
    ("trainers.fit_pca", "--data=manifest:malformed.csv"),
    ("trainers.reproduce", "--data=folder:none"),
    ("trainers.demo", "--workdir=file"),
    ("export.saved_model", "--model=other --output=exported"),
    ("export.client", "images/bird/0.png --server=localhost:1 --timeout=0.1"),
    ("export.client", "images/bird/0.png images/bird/1.png --points=1,b"),
]


@pytest.mark.parametrize("program, arguments", _WRONG_FILES)
def test_wrong_files(program, arguments, folder):
    before = sorted(folder.rglob("*"))
    _assert_one_line(_run(program, arguments, folder))
    assert sorted(folder.rglob("*")) == before, "nothing was written"


@pytest.mark.slow
@pytest.mark.parametrize("program, arguments", _MORE_WRONG_FILES)
def test_more_wrong_files(program, arguments, folder):
    _assert_one_line(_run(program, arguments, folder))
