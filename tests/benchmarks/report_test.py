"""The table, the JSON and the plot that a run leaves."""

import json

import PIL.Image
import pytest

from benchmarks import machine, report
from benchmarks.results import Curve, Goal, Line, Results, Row, Spread
from benchmarks.settings import Settings

_ROW = Row(
    "DSP",
    "x trunk",
    (1.0, 2.0, 3.0),
    Goal(1.5),
    "original 15",
    "limit 1",
    seconds=(1.0, 2.0, 3.0),
    matmul_seconds=(0.5, 0.5, 0.5),
)
_CURVE = Curve(
    "Boxes",
    "boxes",
    "mm",
    (Line("NAM", (10, 20), ((1.0, 2.0), (3.0,))), Line("PHM", (20,), ((9.0,),))),
)
_MEMORY = Curve("Images", "images", "MB", (Line("m", (1, 2), ((5.0,), (5.0,))),), logarithmic=False)


@pytest.fixture(scope="module")
def description():
    return machine.describe()


def test_cells():
    assert report.cells(_ROW) == (
        *("DSP", "2 [1.5, 2.5] x trunk", "4", "<= 1.5", "not met"),
        *("original 15", "limit 1"),
    )
    assert report.cells(Row("a", "mm", (1.0,)))[1:5] == ("1 mm", "", "", "")
    assert report.figure(Spread(1.0, 1.0, 1.0)) == "1"


def test_text_is_in_columns():
    rows = (_ROW, Row("a longer name", "mm", (1.0,)))
    header, first, second, title, places, *lines = report.text(Results(rows, (_CURVE,))).split("\n")
    assert header.index("median") == first.index("2 [1.5") == second.index("1 mm")
    assert title == "Boxes (mm)"
    assert places.index("20") == lines[0].rindex("3") == lines[1].index("9")


def test_long_curves_are_thinned_out(description):
    places = tuple(range(1, 41))
    line = Line("m", places, tuple((float(x),) for x in places))
    text = report.markdown(Results(curves=(Curve("Images", "images", "MB", (line,)),)), description)
    assert "| images | 1 | 5 | 9 | 13 | 17 | 21 | 25 | 29 | 33 | 37 |" in text


def test_markdown_has_machine_table_and_curves(description):
    text = report.markdown(Results((_ROW,), (_CURVE,)), description)
    assert machine.summary(description) in text
    assert "| DSP | 2 [1.5, 2.5] x trunk | 4 | <= 1.5 | not met | original 15 | limit 1 |" in text
    assert "| boxes | 10 | 20 |" in text
    assert "| NAM | 1.5 [1.25, 1.75] | 3 |" in text
    assert "| PHM |  | 9 |" in text


def test_written_files(tmp_path, description):
    results = Results((_ROW,), (_CURVE, _MEMORY))
    for _ in range(2):  # A second run replaces what the first one left.
        paths = report.write(results, description, Settings(), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        path.name for path in paths
    )
    assert {path.name for path in paths} == {"bench.json", "bench.md", "growth.png"}
    found = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert found["machine"] == description
    assert found["settings"] == {"repeats": 7, "quick": False, "data": "parts_world"}
    (row,) = found["rows"]
    assert row["samples"] == [1.0, 2.0, 3.0] and row["median"] == 2.0
    assert row["goal"] == {"bound": 1.5, "at_most": True} and row["verdict"] == "not met"
    assert found["curves"][0]["lines"][0]["samples"] == [[1.0, 2.0], [3.0]]
    with PIL.Image.open(tmp_path / "out" / "growth.png") as picture:
        assert picture.width > 500 and picture.getextrema()[0][0] < 255


def test_without_curves_there_is_no_plot(tmp_path, description):
    paths = report.write(Results((_ROW,)), description, Settings(), tmp_path)
    assert {path.name for path in paths} == {"bench.json", "bench.md"}


def test_machine(description):
    assert description["cores"] >= 1 and description["memory_gb"] > 0
    assert set(description["versions"]) >= {"tensorflow", "keras", "numpy"}
    assert isinstance(description["one_dnn"], bool)
    assert f"{description['cores']} cores" in machine.summary(description)
    json.dumps(description)
