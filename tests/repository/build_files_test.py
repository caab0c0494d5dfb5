"""Every module has its rule in a BUILD file, with the dependencies that its imports say."""

import ast
import importlib.util

import pytest

from tests.repository.tree import ROOT

_spec = importlib.util.spec_from_file_location("build_files", ROOT / "tools" / "build_files.py")
build_files = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build_files)


def _rules(text: str) -> dict[str, dict]:
    """Reads rules out of a BUILD file, whose syntax is that of Python calls."""
    calls = [node.value for node in ast.parse(text).body if isinstance(node, ast.Expr)]
    rules = {}
    for call in calls:
        if getattr(call.func, "id", "") in ("py_library", "py_test"):
            values = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            rules[values["name"]] = {"kind": call.func.id, **values}
    return rules


@pytest.mark.parametrize(
    "folder", build_files.folders(), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_build_file_is_up_to_date(folder):
    assert (folder / "BUILD").is_file(), f"{folder} has no BUILD file: run `make build-files`"
    rules = _rules((folder / "BUILD").read_text())
    assert rules == _rules(build_files.build_file(folder)), "run `make build-files`"
    modules = {path.name for path in folder.glob("*.py")}
    assert {source for rule in rules.values() for source in rule["srcs"]} == modules


def test_a_missing_module_would_be_seen(tmp_path):
    folder = ROOT / "anchornet_tf" / "trunks"
    rules = _rules(build_files.build_file(folder))
    assert rules["backbone"]["kind"] == "py_library"
    assert ":pretrained" in rules["backbone"]["deps"]
    assert _rules((ROOT / "BUILD").read_text())["anchornet_tf"]["deps"]
