"""The README is true: its Python runs, its commands exist."""

import ast
import importlib
import importlib.util
import pathlib
import re

import pytest

from tests.repository.tree import ROOT

README = (ROOT / "README.md").read_text()


def _blocks(language: str) -> list[str]:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [body for found, body in blocks if found == language]


@pytest.mark.slow
def test_python_blocks_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in _blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert names["flow"].displacement.shape == (*names["image_a"].shape[:2], 2)
    assert names["b_on_a"].shape == names["image_a"].shape
    assert tuple(names["response_maps"].shape) == (1, 56, 56, 64)
    assert {path.name for path in tmp_path.iterdir()} == {"flow.npz", "match.png"}


def test_the_first_example_has_fifteen_lines_at_most():
    lines = [line for line in _blocks("python")[0].splitlines() if line.strip()]
    assert len(lines) <= 15


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make ([a-z-]+)", "\n".join(_blocks("")))) | {"setup"}
    assert named and named <= targets


def _commands() -> list[tuple[str, list[str]]]:
    text = "\n".join(_blocks(""))
    return [
        (module, re.findall(r"--([a-z_]+)", rest))
        for module, rest in re.findall(r"python -m ([a-z0-9_.]+)([^#\n]*)", text)
    ]


def test_commands_and_their_flags_exist():
    commands = _commands()
    assert len(commands) >= 4
    for module, used in commands:
        source = importlib.util.find_spec(module).origin
        tree = ast.parse(pathlib.Path(source).read_text())
        defined = {
            call.args[0].value
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "").startswith("DEFINE_")
        }
        assert set(used) <= defined, module


def test_public_names_exist():
    package = importlib.import_module("anchornet_tf")
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_this"):
        package.nothing_like_this  # noqa: B018


def test_pictures_exist():
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / path).is_file(), path
