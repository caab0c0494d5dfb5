"""Every module has its rules in a BUILD file, with the dependencies that its imports say."""

import ast

import pytest

from tests.repository.tree import ROOT
from tools import build_files

_KINDS = ("py_binary", "py_library", "py_test")


def _rules(text: str) -> dict[str, dict]:
    """Reads rules out of a BUILD file, whose syntax is that of Python calls."""
    calls = [node.value for node in ast.parse(text).body if isinstance(node, ast.Expr)]
    rules = {}
    for call in calls:
        if getattr(call.func, "id", "") in _KINDS:
            values = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            rules[values["name"]] = {"kind": call.func.id, **values}
    return rules


def _rules_of(folder: str) -> dict[str, dict]:
    return _rules(build_files.build_file(ROOT / folder))


@pytest.mark.parametrize(
    "folder", build_files.folders(), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_build_file_is_up_to_date(folder):
    assert (folder / "BUILD").is_file(), f"{folder} has no BUILD file: run `make build-files`"
    rules = _rules((folder / "BUILD").read_text())
    assert rules == _rules(build_files.build_file(folder)), "run `make build-files`"
    modules = {path.name for path in folder.glob("*.py")}
    assert {source for rule in rules.values() for source in rule["srcs"]} == modules


def test_dependencies_are_the_imports():
    assert ":trunk_weights" in _rules_of("anchornet_tf/trunks")["backbone"]["deps"]
    assert "//anchornet_tf/utils:files" in _rules_of("anchornet_tf/trunks")["pca"]["deps"]


def test_dependencies_are_also_what_strings_name():
    assert ":cub" in _rules_of("anchornet_tf/datasets/annotated")["registry"]["deps"]
    assert ":dsp" in _rules_of("benchmarks")["catalogue"]["deps"]
    assert "//anchornet_tf/models:anchornet" in _rules_of("anchornet_tf")["anchornet_tf"]["deps"]


def test_modules_bring_the_files_that_they_read():
    assert _rules_of("anchornet_tf/trunks")["pca"]["data"] == ["hypercolumn_pca.npz"]
    assert "presets/voc20/config.json" in _rules_of("anchornet_tf/models")["presets"]["data"]
    assert "deploy/Dockerfile.template" in _rules_of("export")["bundle"]["data"]


def test_programs_are_binaries_and_the_root_target_has_them_all():
    root = _rules((ROOT / "BUILD").read_text())["anchornet_tf"]["deps"]
    programs = set()
    for folder in build_files.folders():
        package = folder.relative_to(ROOT).as_posix()
        for rule in _rules_of(package).values():
            if rule["kind"] == "py_binary" and package in ("anchornet_tf", "export", "trainers"):
                programs.add(f"//{package}{rule['deps'][0]}")
    assert {"//trainers:stage2", "//anchornet_tf:match"} <= programs <= set(root)
