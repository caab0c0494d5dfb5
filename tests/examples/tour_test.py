"""The tour runs from top to bottom, and is committed as it ran, with its pictures."""

import json
import re

import pytest

from tests.repository.tree import ROOT

_PATH = ROOT / "examples" / "tour.ipynb"
_PICTURES = 6
_MOST_BYTES = 1_500_000


def _code(notebook) -> list:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _pictures(notebook) -> list[str]:
    outputs = [output for cell in _code(notebook) for output in cell["outputs"]]
    return [
        data
        for output in outputs
        for kind, data in output.get("data", {}).items()
        if kind.startswith("image/")
    ]


def _printed(notebook) -> str:
    outputs = [output for cell in _code(notebook) for output in cell["outputs"]]
    return "".join("".join(output.get("text", "")) for output in outputs)


@pytest.fixture(scope="module")
def committed():
    return json.loads(_PATH.read_text())


def test_committed_with_its_pictures(committed):
    assert _PATH.stat().st_size < _MOST_BYTES
    assert len(_pictures(committed)) == _PICTURES
    assert [cell["execution_count"] for cell in _code(committed)] == list(
        range(1, len(_code(committed)) + 1)
    )
    kinds = {output["output_type"] for cell in _code(committed) for output in cell["outputs"]}
    assert "error" not in kinds


def test_links_lead_somewhere(committed):
    prose = [cell for cell in committed["cells"] if cell["cell_type"] == "markdown"]
    text = "".join("".join(cell["source"]) for cell in prose)
    links = re.findall(r"\]\(([^)#]+)", text)
    assert len(links) >= 5
    assert not [link for link in links if not (_PATH.parent / link).is_file()]


@pytest.mark.slow
def test_runs_from_top_to_bottom(tmp_path):
    pytest.importorskip("nbclient", reason="needs the extra `notebook`")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra `notebook`")
    pytest.importorskip("ipykernel", reason="needs the extra `notebook`")
    from tools import run_notebook

    notebook = nbformat.read(_PATH, as_version=4)
    for cell in _code(notebook):
        cell.outputs, cell.execution_count = [], None
    run_notebook.run(notebook, tmp_path)  # Raises where a cell fails.
    pictures = _pictures(notebook)
    assert len(pictures) == _PICTURES and min(map(len, pictures)) > 10_000
    printed = _printed(notebook)
    assert re.search(r"^bird .* 0\.\d{3}$|^bird .* 1\.000$", printed, re.MULTILINE)
    assert "matched inside the SavedModel" in printed
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}
    assert (tmp_path / "runs" / "tour" / "exported" / "1" / "saved_model.pb").is_file()
