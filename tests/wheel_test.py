"""The wheel holds everything: it works in an environment that has never seen the checkout."""

import email
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile

import pytest
from packaging import specifiers

from tests.repository.tree import ROOT

pytestmark = pytest.mark.slow

_SOURCES = ("anchornet_tf", "trainers", "export", "docs", "examples")
# The banks of the preset are most of it.
_MEGABYTES = 30


def _run(*command, cwd, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    finished = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert finished.returncode == 0, finished.stdout[-2000:] + finished.stderr[-3000:]
    return finished.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The folder with the source distribution and the wheel that was made from it."""
    pytest.importorskip("build", reason="needs the extra `dev`")
    source = tmp_path_factory.mktemp("source") / "tree"
    source.mkdir()
    for name in _SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, source)
    output = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", output, source, cwd=output)
    return output


@pytest.fixture(scope="module")
def wheel(distributions):
    (path,) = distributions.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The Python of an environment with the wheel, and what it requires by a link."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True, symlinks=True)
    binary = folder / "bin" / "python"
    _run(binary, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = pathlib.Path(sysconfig.get_path("purelib", "venv", vars=paths))
    # A .pth file adds folders without reading the .pth files in them: the editable package of the
    # developer's environment stays outside.
    installed = [entry for entry in sys.path if entry.endswith("site-packages")]
    (packages / "requirements.pth").write_text("\n".join(installed) + "\n")
    return binary


def test_contents(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "anchornet_tf/py.typed",
        "anchornet_tf/models/presets/voc20/heads.npz",
        "anchornet_tf/models/presets/voc20/confidence.json",
        "anchornet_tf/features/hog_background.npz",
        "anchornet_tf/studio/page/js/main.js",
        "export/deploy/Dockerfile.template",
        "export/cpp/run_saved_model.cc",
        "trainers/stage1.py",
    ):
        assert name in names, name
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "anchornet_tf",
        "export",
        "trainers",
    }
    shipped = {path.relative_to(ROOT).as_posix() for path in _modules()}
    assert shipped == {name for name in names if name.endswith(".py")}
    assert wheel.stat().st_size < _MEGABYTES * 1e6


def _modules():
    return (
        path
        for top in ("anchornet_tf", "export", "trainers")
        for path in (ROOT / top).rglob("*.py")
    )


def test_source_distribution(distributions):
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "constraints.txt", "setup.py", "docs/serving.md"} <= names


def test_metadata(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = (each for each in archive.namelist() if each.endswith("/METADATA"))
    metadata = email.message_from_bytes(archive.read(name))
    pythons = specifiers.SpecifierSet(metadata["Requires-Python"])
    tried = [version for version in ("3.10", "3.11", "3.12", "3.13", "3.14") if version in pythons]
    assert tried == ["3.11", "3.12", "3.13"]
    assert {"onnx", "litert", "studio"} <= set(metadata.get_all("Provides-Extra"))


_MATCH = """
import pathlib, sys
import anchornet_tf, trainers, export
assert pathlib.Path(sys.argv[1]) not in [pathlib.Path(path).resolve() for path in sys.path]
for module in (anchornet_tf, trainers, export):
    assert pathlib.Path(module.__file__).is_relative_to(sys.prefix), module.__file__
from anchornet_tf.datasets import parts_world
a, b = (parts_world.draw("bird", seed).image for seed in (3, 8))
flow = anchornet_tf.match_pair(a, b)
print(flow.displacement.shape, float(abs(flow.displacement).max()) > 1)
"""


def test_match_pair_with_the_preset(python, tmp_path):
    assert _run(python, "-c", _MATCH, ROOT, cwd=tmp_path).split() == ["(224,", "224,", "2)", "True"]


_FIRST_DAY = """
import numpy as np
import anchornet_tf
from anchornet_tf import viz

matcher: anchornet_tf.Matcher = anchornet_tf.Matcher.from_preset("voc20")
flow: anchornet_tf.Flow = matcher("a.png", "b.png")
points: np.ndarray = flow.transfer_points([[100, 100]])
flow.save("flow.npz")
viz.plot_matches("a.png", "b.png", flow, points=[[3, 4]]).savefig("match.png")
bank: anchornet_tf.AnchorBank = anchornet_tf.load("voc20").bank("bird")
"""
_MISTAKES = """
anchornet_tf.match_piar("a.png", "b.png")
flow.transfer_points([[1, 2]], rounded="yes")
height: int = flow.shape
"""


def test_type_checkers_read_the_wheel(python, tmp_path):
    """A script of a first day has no error, and each line that is wrong has one."""
    pytest.importorskip("mypy", reason="needs the extra `dev`")
    script = tmp_path / "script.py"

    def errors(text):
        script.write_text(text)
        found = subprocess.run(
            [sys.executable, "-m", "mypy", "--python-executable", python, "--strict-equality"]
            + ["--follow-imports=silent", "--ignore-missing-imports", "--no-error-summary", script],
            cwd=tmp_path,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert not found.stderr, found.stderr
        lines = found.stdout.splitlines()
        return [int(line.split(":")[1]) for line in lines if ": error:" in line]

    assert errors(_FIRST_DAY) == []
    wrong = _FIRST_DAY + _MISTAKES
    count = len(wrong.splitlines())
    assert errors(wrong) == [count - 2, count - 1, count]


@pytest.mark.parametrize("module", ["trainers.stage1", "export.saved_model", "export.onnx"])
def test_programs_answer(python, tmp_path, module):
    assert "--" in _run(python, "-m", module, "--help", cwd=tmp_path)


def test_the_command(python, tmp_path):
    command = python.with_name("anchornet")
    assert "anchornet match" in _run(command, "--help", cwd=tmp_path)
    assert "--points" in _run(command, "match", "--help", cwd=tmp_path)
    # A package of the user's own with the same name is not run.
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "__init__.py").write_text("raise SystemExit('not ours')")
    found = _run(command, "export", "onnx", "--help", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert "--signatures" in found
