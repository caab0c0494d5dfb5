"""Who may import whom: docs/architecture.md lists the rooms in order, and the modules obey it."""

import ast
import pathlib
import re

import pytest

from tests.repository.tree import ROOT
from tools import build_files

# The rows of the table of rooms: | `anchornet_tf/trunks/` | what is in it |
ROOMS = re.findall(r"^\| `([\w/.]+)` \|", (ROOT / "docs" / "architecture.md").read_text(), re.M)
PROGRAMS = ("anchornet_tf/command_line/", "anchornet_tf/match.py", "anchornet_tf/evaluate.py")
MODULES = sorted(path for folder in build_files.folders() for path in folder.glob("*.py"))
INIT = ROOT / "anchornet_tf" / "__init__.py"
# The command `anchornet` names all programs.
COMMAND = ROOT / "anchornet_tf" / "__main__.py"


def _name(module: pathlib.Path) -> str:
    return module.relative_to(ROOT).as_posix()


def _room(module: pathlib.Path) -> int:
    name = _name(module)
    found = [n for n, room in enumerate(ROOMS) if name == room or name.startswith(room)]
    assert len(found) == 1, f"docs/architecture.md must have one room for {name}"
    return found[0]


def _library() -> list[pathlib.Path]:
    return [module for module in MODULES if _name(module).startswith("anchornet_tf/")]


def test_the_table_has_the_rooms_that_exist():
    assert len(set(ROOMS)) == len(ROOMS) > 10
    assert not [room for room in ROOMS if not (ROOT / room).exists()]
    assert {_room(module) for module in MODULES} == set(range(len(ROOMS)))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_those_above_it(room):
    wrong = []
    for module in MODULES:
        if ROOMS[_room(module)] != room:
            continue
        # The public names of `anchornet_tf` are those of the rooms below, imported on first use.
        others = build_files.imported(module) | build_files.named(module)
        others = set() if module == INIT else others
        wrong += [
            f"{_name(module)} imports {_name(other)}"
            for other in others
            if _room(other) > _room(module)
        ]
    assert not wrong


def test_the_library_takes_only_the_version_from_its_public_names():
    for module in _library():
        if _name(module).startswith(PROGRAMS) or module == COMMAND:
            continue
        names = []
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "anchornet_tf":
                names += [alias.name for alias in node.names]
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "anchornet_tf":
                names.append(node.attr)
        names = [name for name in names if not build_files.module_file(f"anchornet_tf.{name}")]
        assert set(names) <= {"__version__"}, _name(module)


def test_the_library_imports_no_program():
    outside = {"trainers", "export", "benchmarks", "tests", "tools"}
    for module in _library():
        if module == COMMAND:
            continue
        found = build_files.imported(module) | build_files.named(module)
        # The studio comes after `export/`, whose client it may be.
        allowed = {"export"} if _name(module).startswith("anchornet_tf/studio/") else set()
        rooms = {_name(other).split("/")[0] for other in found}
        assert not rooms & (outside - allowed), _name(module)


def test_the_library_reads_no_flags():
    for module in _library():
        if _name(module).startswith(PROGRAMS) or build_files.is_program(module):
            continue
        for node in ast.walk(ast.parse(module.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            assert not {"absl.flags", "absl.app"} & set(names), _name(module)


def test_no_module_is_for_tests_alone():
    documents = [ROOT / "README.md", ROOT / "mkdocs.yml", *(ROOT / "docs").glob("*.md")]
    for_users = "".join(path.read_text() for path in documents if path.stem != "architecture")
    rest = [module for module in MODULES if not _name(module).startswith("tests/")]
    used = set().union(*map(build_files.imported, rest), *map(build_files.named, rest))
    unused = [
        _name(module)
        for module in rest
        if module not in used
        and module.name != "__init__.py"
        and not build_files.is_program(module)
        and _name(module) not in for_users
    ]
    assert not unused
