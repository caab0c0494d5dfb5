"""The README is true: its Python runs, its commands exist."""

import importlib
import re

import pytest

from tests.repository import documents
from tests.repository.tree import ROOT

README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_python_blocks_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in documents.blocks(README, "python"):
        exec(compile(block, "README.md", "exec"), names)
    assert names["flow"].displacement.shape == (*names["image_a"].shape[:2], 2)
    assert names["b_on_a"].shape == names["image_a"].shape
    assert tuple(names["response_maps"].shape) == (1, 56, 56, 64)
    assert {path.name for path in tmp_path.iterdir()} == {"flow.npz", "match.png"}


def test_the_first_example_has_fifteen_lines_at_most():
    lines = [line for line in documents.blocks(README, "python")[0].splitlines() if line.strip()]
    assert len(lines) <= 15


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make ([a-z-]+)", "\n".join(documents.blocks(README)))) | {"setup"}
    assert named and named <= targets


def test_commands_and_their_flags_exist():
    commands = documents.commands(README)
    assert len(commands) >= 4
    for module, used in commands:
        assert set(used) <= documents.flags_of(module), module


def test_public_names_exist():
    package = importlib.import_module("anchornet_tf")
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_this"):
        package.nothing_like_this  # noqa: B018


def test_pictures_exist():
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).is_file(), path
