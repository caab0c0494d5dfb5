"""Tables are filled, share their work, say why figures are missing, and hold what was measured."""

import csv
import dataclasses
import json

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.runner.paper.config import PaperRun
from anchornet_tf.runner.paper.published import published_tables
from anchornet_tf.runner.paper.run import reproduce
from anchornet_tf.runner.paper.writing import terminal
from tests.datasets.annotated import folders
from tests.runner.paper import worlds
from tests.shared_data import shared_path


@pytest.fixture
def fill(monkeypatch, tmp_path):
    """Gives a function that fills tables on the small world."""
    worlds.settle(monkeypatch, tmp_path)

    def run(*tables, **options):
        options = {"num_boxes": 40, "workers": 0, "num_resamples": 50} | options
        options = {"output": tmp_path / "out"} | options
        config = PaperRun(tables=tuple(map(str, tables)) or None, **options)
        return {table.published.number: table for table in reproduce(config, progress=False)}

    return run


def _lines(tmp_path, number, folder="out"):
    with open(tmp_path / folder / f"table_{number}.csv") as file:
        return {(line["row"], line["column"]): line for line in csv.DictReader(file)}


def test_the_figures_are_the_papers():
    restated = json.loads(shared_path("protocols/paper_tables.json").read_text())
    names = [
        "pascal_parts_iou",
        "pascal_keypoints_pck",
        "pf_willow_auc_pcr",
        "pascal_parts_cross_category_iou",
        "animal_parts_pck",
    ]
    for number, name in enumerate(names, start=1):
        ours, theirs = published_tables()[number], restated[name]
        if number == 3:
            expected = [value for row in theirs["rows"].values() for value in row]
            assert [row[0] for row in ours.rows.values()] == expected
            continue
        columns = [column.removesuffix(" (again)") for column in ours.columns]
        assert (["mean"] if ours.means else []) + columns == theirs["columns"]
        for (key, row), (label, values) in zip(
            ours.rows.items(), theirs["rows"].items(), strict=True
        ):
            assert [*([ours.means[key]] if ours.means else []), *row] == values, label
            assert key.split("+")[0] in {"DSP": "dsp", "Pro": "lom", "Bas": "none"}.get(
                label[:3], key
            )


def test_the_papers_means_are_those_of_its_columns():
    for table in published_tables().values():
        for key, mean in table.means.items():
            # Both are rounded to two digits.
            assert np.mean(table.rows[key]) == pytest.approx(mean, abs=0.0085)


def test_both_measures_come_from_the_same_flows(fill, tmp_path):
    tables = fill(1, 2, rows=("dsp+anchornet", "none"))
    assert worlds.Colors.described == ["anchornet"] * 9, "nine images, once"
    names = [path.name for path in (tmp_path / "out").glob("table*")]
    assert sorted(names) == [f"table_{n}.{end}" for n in (1, 2) for end in ("csv", "md", "png")]
    row = tables[1].rows[0]
    assert row.columns == ["bicycle", "car", "cat"]
    assert row.mean.value == pytest.approx(np.mean([row.entries[c].value for c in row.columns]))
    assert row.mean.paper == pytest.approx((0.47 + 0.46 + 0.25) / 3), "over the same columns"
    assert row.mean.interval[0] <= row.mean.value <= row.mean.interval[1]
    assert row.entries["bicycle"].num_pairs == 6 and row.mean.num_pairs == 18
    assert tables[1].num_pairs == 18 and tables[2].num_pairs == 12, "no cats in table 2"
    # Pixels move by a row or two: matching finds that, and a threshold of 0.05 tells it.
    assert tables[2].rows[0].mean.value > tables[2].rows[1].mean.value
    fill(1, 2, rows=("dsp+anchornet", "none"))
    assert len(worlds.Colors.described) == 9, "nothing is left to do"


def test_the_files_hold_the_figures_in_the_papers_layout(fill, tmp_path):
    table = fill(1, rows=("dsp+hc", "lom+hog", "none"))[1]
    lines = _lines(tmp_path, 1)
    assert len(lines) == 3 * 21
    for row in table.rows:
        line = lines[row.method.label, "mean"]
        assert float(line["ours"]) == pytest.approx(row.mean.value, abs=1e-5)
        assert float(line["low"]) <= float(line["ours"]) <= float(line["high"])
        assert float(lines[row.method.label, "car"]["paper"]) == row.entries["car"].paper
    text = (tmp_path / "out" / "table_1.md").read_text()
    heading = next(line for line in text.splitlines() if line.startswith("|  | mean"))
    assert heading.strip("| ").split(" | ")[1:] == ["bicycle", "car", "cat"], "as in the paper"
    value = table.rows[0].entries["bicycle"].value
    line = next(line for line in text.splitlines() if line.startswith("| DSP + HC"))
    assert f"| {value:.3f} (0.45) |" in line
    assert "- aeroplane: the data has no class aeroplane." in text
    assert lines["DSP + HC", "boat"]["reason"] == "the data has no class boat"
    assert "Proposal Flow + HOG above Baseline: NoFlow: paper yes (+0.020), here" in text
    with PIL.Image.open(tmp_path / "out" / "table_1.png") as picture:
        assert picture.size > (900, 300) and len(np.unique(picture.convert("L"))) > 50
    assert "DSP + HC" in terminal(table) and f"{table.rows[0].mean.value:.3f}" in terminal(table)


def test_regions_across_classes_and_families(fill, tmp_path):
    tables = fill(3, 4, 5, rows=("*+anchornet", "nam+hog", "none"))
    regions = {row.method.key: row.entries["AuC of PCR"] for row in tables[3].rows}
    assert list(regions) == ["nam+anchornet", "nam+hog", "lom+anchornet"]
    assert all(entry.num_pairs == 18 for entry in regions.values())
    text = (tmp_path / "out" / "table_3.md").read_text()
    assert "|  | ANet | HOG |" in text and "| NAM | " in text and "| LOM | " in text
    across = tables[4].rows[0]
    assert across.columns == ["bus>car", "dog>cat"]
    assert "twice" in across.entries["bus>car (again)"].reason
    assert across.entries["sheep>dog"].reason == "the data has no class sheep"
    matrix = tables[5].rows[0].groups
    assert list(matrix) == ["cat>cat", "cat>dog", "dog>cat", "dog>dog"]
    lines = _lines(tmp_path, 5)
    assert float(lines["DSP + ANet", "PCK 0.1, dog>cat"]["ours"]) == pytest.approx(
        matrix["dog>cat"], abs=1e-5
    )
    mean = tables[5].rows[0].entries["PCK 0.1"].value
    assert mean == pytest.approx(np.mean(list(matrix.values())))


def test_regions_alone_need_no_dense_flow(fill, tmp_path):
    fill(3, rows=("lom+hog",))
    journal = next((tmp_path / "out" / "pairs").rglob("lom+hog.jsonl"))
    assert set(json.loads(journal.read_text().splitlines()[1])["notes"]) == {"distances"}
    fill(1, 3, rows=("lom+hog", "nam+hog"))
    notes = json.loads(journal.read_text().splitlines()[-1])["notes"]
    assert {"distances", "errors", "part_iou"} <= set(notes)
    other = journal.with_name("nam+hog.jsonl")
    assert set(json.loads(other.read_text().splitlines()[-1])["notes"]) == {"distances"}


def test_what_users_train_themselves_is_named_until_it_is_there(fill, tmp_path):
    rows = ("dsp+without-diversity", "dsp+constellation-hc", "dsp+anchornet-class")
    table = fill(1, rows=rows)[1]
    without, parts = table.rows[1], table.rows[2]
    assert np.isfinite(table.rows[0].mean.value)
    assert "--banks_without_diversity=RUN/banks" in without.entries["car"].reason
    assert "--weight_div_a=0 --weight_div_b=0" in without.mean.reason
    assert "--constellations=RUN/constellations" in parts.entries["cat"].reason
    for folder, name in (("banks", "car"), ("parts", "car"), ("parts", "cat")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{name}.npz").touch()
    given = {
        "banks_without_diversity": tmp_path / "banks",
        "constellations": tmp_path / "parts",
    }
    table = fill(1, rows=rows, **given)[1]
    without, parts = table.rows[1], table.rows[2]
    assert without.columns == ["car"] and parts.columns == ["car", "cat"]
    assert without.mean.paper == pytest.approx(0.42) and without.mean.num_pairs == 6
    text = (tmp_path / "out" / "table_1.md").read_text()
    assert "– [1] (0.42)" in text and "1. No file for class bicycle in --banks_without_div" in text
    reason = "no file for class bicycle in --constellations"
    assert parts.entries["bicycle"].reason == reason
    described = len(worlds.Colors.described)
    # A class that comes later leaves what is there alone.
    (tmp_path / "parts" / "bicycle.npz").touch()
    fill(1, rows=rows, **given)
    assert worlds.Colors.described[described:] == ["constellation-hc"] * 3
    text = (tmp_path / "out" / "table_1.md").read_text()
    assert "Not ranked, for want of columns: DSP + ANet-class w/o L_Div." in text
    assert "DSP + ANet-class above DSP + ANet-class w/o L_Div: paper yes (+0.050)" in text


def test_flow_web_and_sets_that_are_too_small_for_it(fill, monkeypatch, tmp_path):
    table = fill(2, rows=("flowweb", "none"))[2]
    web = next(row for row in table.rows if row.method.key == "flowweb")
    assert web.columns == ["bicycle", "car"] and web.mean.value >= 0.5
    assert not list((tmp_path / "out").rglob("*-work")), "flows are not kept"
    table = fill(2, rows=("flowweb",), images=2)[2]
    assert table.rows[0].entries["car"].reason == "FlowWeb needs 3 images of a class"
    assert "FlowWeb needs 3 images" in (tmp_path / "out" / "table_2.md").read_text()


def test_a_quick_look_takes_few_pairs_of_few_columns(fill, tmp_path):
    table = fill(1, rows=("none",), quick=True)[1]
    row = table.rows[0]
    assert row.columns == ["bicycle", "cat"] and row.mean.num_pairs == 4
    assert row.entries["car"].reason == "left out by --quick"
    assert "too few pairs to tell rows apart" in (tmp_path / "out" / "table_1.md").read_text()
    few = fill(1, rows=("none",), classes=("car",), pairs=3)[1]
    assert few.rows[0].columns == ["car"] and few.num_pairs == 3
    assert few.rows[0].entries["cat"].reason == "left out by --class"
    assert str(PaperRun(quick=True).output_folder) == "runs/paper-parts_world-quick"


def test_more_pairs_go_on_from_fewer(fill):
    fill(1, rows=("dsp+hc",), pairs=2)
    seen = len(worlds.Colors.described)
    table = fill(1, rows=("dsp+hc",), pairs=6)[1]
    assert table.num_pairs == 18 and len(worlds.Colors.described) > seen
    assert fill(1, rows=("dsp+hc",), pairs=2)[1].num_pairs == 6


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="pf_willow can fill: 3. Received: 1"):
        PaperRun(data="pf_willow", tables=("1",))
    with pytest.raises(ValueError, match="`pairs` must be positive.*Received: -1"):
        PaperRun(pairs=-1)


def test_rows_and_classes_that_do_not_exist(fill):
    with pytest.raises(ValueError, match="rows of dsp.anchornet-class,.*Received: dsp.hog"):
        fill(1, rows=("dsp+hog",))
    with pytest.raises(ValueError, match="classes of small world.*Received: boat"):
        fill(1, rows=("none",), classes=("boat",))


def test_data_of_one_class_has_no_pairs_of_two(tmp_path):
    folders.flowweb(tmp_path / "data")
    config = PaperRun(
        tables=("4",), data="pascal_parts", data_dir=tmp_path / "data" / "car_set_1", rows=("none",)
    )
    config = dataclasses.replace(config, output=tmp_path / "out")
    [table] = reproduce(config, progress=False)
    assert table.num_pairs == 0 and not table.rows[0].columns
    assert table.rows[0].entries["bus>car"].reason == "the data has no class bus"
    reason = "the data has no class dog and no class cat"
    assert table.rows[0].entries["dog>cat"].reason == reason
    assert "dog>cat: " + reason in (tmp_path / "out" / "table_4.md").read_text()
    assert (tmp_path / "out" / "table_4.png").stat().st_size > 1000
