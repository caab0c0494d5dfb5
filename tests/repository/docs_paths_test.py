"""What the documents name exists: files, modules, public names, commands and flags, links."""

import ast
import importlib
import importlib.util
import re

import numpy as np
import pytest

import anchornet_tf
from tests.repository import documents
from tests.repository.tree import ROOT

PACKAGES = ("anchornet_tf", "benchmarks", "export", "trainers")
PAPER = "docs/paper_to_code.md"


def _current(page: str) -> str:
    """Returns a page's text without what it says of older versions."""
    text = documents.text_of(page)
    if page == "CHANGELOG.md":
        text = text.split("\n## 0.1.0")[0]
        text = "\n".join(line for line in text.splitlines() if not line.startswith("| `"))
    return text


@pytest.mark.parametrize("page", documents.PAGES)
def test_files_exist(page):
    named = [
        span
        for span in documents.spans(_current(page))
        if re.fullmatch(r"[\w./-]+/[\w.-]+\.(py|cc|sh|md|json|npz)", span)
        and not span.startswith(("runs/", "exported/"))
    ]
    assert not [path for path in named if documents.resolved(path, page) is None]


def test_files_and_folders_of_the_paper_exist():
    named = [
        span
        for span in documents.spans(documents.text_of(PAPER))
        if re.fullmatch(r"[\w./-]+(/|\.py|\.json)", span)
    ]
    assert len(named) >= 20
    assert not [path for path in named if documents.resolved(path, PAPER) is None]


def test_names_of_the_paper_are_in_their_files():
    file, checked = None, 0
    for line in documents.text_of(PAPER).splitlines():
        if not line.startswith("|"):
            continue
        for span in documents.spans(line):
            if span.endswith(".py"):
                file = documents.resolved(span, PAPER)
            elif re.fullmatch(r"[A-Za-z]\w+", span):
                assert span in _defined(file), f"{span} in {file}"
                checked += 1
    assert checked >= 10


def _defined(file) -> set[str]:
    names = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize("page", documents.PAGES)
def test_modules_and_names_exist(page):
    pattern = rf"((?:{'|'.join(PACKAGES)}|{'|'.join(_classes())})(?:\.\w+)+)(?:\(.*)?"
    found = [re.fullmatch(pattern, span) for span in documents.spans(_current(page))]
    assert not [match[1] for match in found if match and not _resolves(match[1])]


def _classes() -> list[str]:
    return [name for name in anchornet_tf.__all__ if name[0].isupper()]


def _resolves(name: str) -> bool:
    """Tells whether a dotted name is a module, or an attribute of one or of a public class."""
    parts = name.split(".")
    if parts[0] in PACKAGES:
        for length in range(len(parts), 0, -1):
            if _is_module(".".join(parts[:length])):
                value = importlib.import_module(".".join(parts[:length]))
                rest = parts[length:]
                break
    else:
        value, rest = getattr(anchornet_tf, parts[0]), parts[1:]
    for attribute in rest:
        if not hasattr(value, attribute):
            return False
        value = getattr(value, attribute)
    return True


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", documents.PAGES)
def test_commands_and_their_flags_exist(page):
    for module, used in documents.commands(_current(page)):
        assert set(used) <= documents.flags_of(module), module


def test_flags_are_found():
    assert {"class", "nocache_features", "steps"} <= documents.flags_of("trainers.stage1")
    assert "no_such_flag" not in documents.flags_of("trainers.stage1")


@pytest.mark.parametrize("page", documents.PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", documents.prose(documents.text_of(page))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), target
        if heading:
            assert heading in _anchors(file.read_text()), target


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.slow
def test_python_of_the_model_card_runs():
    names: dict = {}
    for block in documents.blocks(documents.text_of("docs/model_card.md"), "python"):
        exec(compile(block, "docs/model_card.md", "exec"), names)
    image = np.random.default_rng(0).uniform(0, 255, (1, 64, 64, 3)).astype("float32")
    assert np.abs(names["plain"](image) - names["model"](image)).max() > 1e-3
