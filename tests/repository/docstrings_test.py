"""Examples in docstrings compile; those that begin with an import stand alone and really run."""

import ast
import inspect
import pathlib
import re

import pytest

from tests.repository.tree import ROOT

_FENCE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
# What loads the real trunk, or trains.
_SLOW = re.compile(r"from_preset|voc20|Matcher\(|match_pair\((?!.*sift)|\"anchornet|\"hc\"", re.S)


def _examples() -> list:
    found = []
    for path in sorted((ROOT / "anchornet_tf").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                continue
            name = f"{path.relative_to(ROOT)}:{getattr(node, 'name', '')}"
            text = inspect.cleandoc(ast.get_docstring(node) or "")
            for number, code in enumerate(_FENCE.findall(text)):
                marks = [pytest.mark.slow] if _SLOW.search(code) else []
                found.append(pytest.param(code, id=f"{name}:{number}", marks=marks))
    return found


EXAMPLES = _examples()


def test_there_are_examples_and_all_of_them_compile():
    assert len(EXAMPLES) > 10
    for example in EXAMPLES:
        compile(example.values[0], example.id, "exec")


@pytest.mark.parametrize(
    "code", [e for e in EXAMPLES if e.values[0].startswith(("import ", "from "))]
)
def test_example_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {})


def test_no_example_is_a_prompt():
    for path in pathlib.Path(ROOT / "anchornet_tf").rglob("*.py"):
        assert ">>> " not in path.read_text(), f"{path}: write a fenced ```python example"
