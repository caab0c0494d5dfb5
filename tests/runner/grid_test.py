"""The grid runs every cell once, resumes where it stopped, and gives the same in processes."""

import dataclasses
import json

import numpy as np
import pytest

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.proposal_flow import ALGORITHMS
from anchornet_tf.models import presets
from anchornet_tf.runner import evaluation as runner
from anchornet_tf.runner import grid, pictures, plots, report, results
from anchornet_tf.runner.bootstrap import Resampling
from anchornet_tf.runner.descriptors import Descriptors
from anchornet_tf.runner.proposal_store import ProposalStore
from anchornet_tf.utils.journal import Journal
from tests.runner.made_up import PROTOCOL, benchmark


class Counting(Descriptors):
    """Describes pixels by their colours and lists the images that it described."""

    def __init__(self):
        super().__init__()
        self.described = []

    def check(self, feature, classes):
        pass

    def identity(self, feature):
        return {"made": "up"}

    def describe(self, feature, class_name):
        def extract(images):
            self.described += [(feature, class_name)] * len(images)
            return [FeatureMap(image.astype(np.float32) - 127, image.shape[:2]) for image in images]

        return extract


def _grid(tmp_path, made_up=None, descriptors=None, **options):
    options = {
        "features": ("hc",),
        "matchers": ("none", "nearest"),
        "num_boxes": 40,
        "matcher_options": dict.fromkeys(ALGORITHMS, {"proposal_method": "sliding_window"}),
    } | options
    return grid.Grid(
        made_up or benchmark(),
        descriptors or Counting(),
        grid.GridOptions(**options),
        tmp_path / "pairs",
        ProposalStore(tmp_path / "boxes"),
    )


def _gather(cells, made_up=None, **options):
    made_up = made_up or benchmark()
    return results.gather(made_up, cells, Resampling(made_up, 50), **options)


def test_cells_features_and_figures(tmp_path):
    descriptors = Counting()
    cells = _grid(tmp_path, descriptors=descriptors).run(progress=False)
    assert [cell.name for cell in cells] == ["none", "nearest+hc"]
    assert cells[0].measures == ("pck", "parts")  # Regions are for boxes.
    assert len(descriptors.described) == 6  # Each image once; `none` needs no features.
    rows = _gather(cells).rows
    # Content moves diagonally by one or two pixels: an error of 1.4 or 2.8 in a box of 40.
    assert rows[0].figures["PCK@0.05"].value == pytest.approx(4 / 6)
    assert rows[1].figures["PCK@0.05"].value > 0.9
    assert rows[1].figures["IoU"].value > rows[0].figures["IoU"].value


def test_a_stopped_run_goes_on_and_a_finished_one_does_nothing(tmp_path, monkeypatch):
    whole = _gather(_grid(tmp_path / "a").run(progress=False))
    small = benchmark()
    journal_add = Journal.add

    def stop_late(self, pair, notes):
        journal_add(self, pair, notes)
        # This is in the middle of the second group, with the last matcher.
        if self.records.keys() >= {small.pairs[8].name} and "nearest" in str(self._path):
            raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "add", stop_late)
    with pytest.raises(KeyboardInterrupt):
        _grid(tmp_path / "b", small).run(progress=False)
    monkeypatch.undo()
    descriptors = Counting()
    cells = _grid(tmp_path / "b", small, descriptors).run(progress=False)
    assert len(descriptors.described) == 3  # Only images of the second group were left.
    again = _gather(cells)
    for old, new in zip(whole.rows, again.rows, strict=True):
        assert old.records == new.records
    idle = Counting()
    _grid(tmp_path / "b", small, idle).run(progress=False)
    assert idle.described == []


def test_measures_may_be_added_later(tmp_path):
    _grid(tmp_path, measures=("pck",)).run(progress=False)
    cells = _grid(tmp_path, measures=("pck", "parts")).run(progress=False)
    record = next(iter(cells[0].journal.records.values()))
    assert {"errors", "lengths", "object_iou", "part_iou"} <= set(record)


def test_box_matchers_share_similarities_and_processes_change_nothing(tmp_path):
    options = {"matchers": ("nam", "lom"), "features": ("hc",)}
    small = benchmark(groups=("one",))
    alone = _grid(tmp_path / "a", small, **options).run(progress=False)
    pooled = _grid(tmp_path / "b", small, workers=1, **options).run(progress=False)
    for first, second in zip(alone, pooled, strict=True):
        assert first.measures == ("pck", "parts", "regions")
        assert first.journal.records == second.journal.records
    regions = _grid(tmp_path / "c", small, measures=("regions",), **options).run(progress=False)
    assert set(next(iter(regions[0].journal.records.values()))) == {"distances"}
    figures = _gather(alone, small).rows[0].figures
    assert list(figures)[:3] == ["AuC PCR", "AuC mIoU@k", "IoU"]


def test_descriptors_of_a_class_see_the_images_of_that_class_alone(tmp_path):
    cars, birds = benchmark(("one",), class_name="car"), benchmark(("two",), class_name="bird")
    both = dataclasses.replace(cars, pairs=cars.pairs + birds.pairs)
    descriptors = Counting()
    _grid(tmp_path, both, descriptors, features=("anchornet-class",)).run(progress=False)
    assert (
        descriptors.described
        == [("anchornet-class", "car")] * 3 + [("anchornet-class", "bird")] * 3
    )
    mixed = dataclasses.replace(cars.pairs[0], target=birds.pairs[0].target)
    with pytest.raises(ValueError, match="cannot match two. Received: car and bird"):
        _grid(
            tmp_path / "m", dataclasses.replace(cars, pairs=(mixed,)), features=("anchornet-class",)
        )


def test_what_cannot_work_is_found_early(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="matcher and a measure that go together"):
        _grid(tmp_path, measures=("regions",))
    with pytest.raises(ValueError, match="must be one of none.*Received: 'best'"):
        _grid(tmp_path, matchers=("best",))
    monkeypatch.setattr(presets, "_PRESETS", tmp_path / "none")
    with pytest.raises(ValueError, match="Expected a model for anchornet"):
        Descriptors().check("anchornet", ["car"])
    with pytest.raises(ValueError, match="Expected banks or a model for anchornet-class"):
        Descriptors().check("anchornet-class", ["car"])
    (tmp_path / "car.npz").touch()
    with pytest.raises(FileNotFoundError, match="without bird"):
        Descriptors(banks=tmp_path).check("anchornet-class", ["car", "bird"])
    with pytest.raises(ValueError, match="bbox_kp, image, bbox. Received: 'diagonal'"):
        _gather(_grid(tmp_path).run(progress=False), normalize_by="diagonal")


def test_tables(tmp_path):
    cells = _grid(tmp_path).run(progress=False)
    found = _gather(cells, configuration={"intervals": "95 % intervals"})
    text = report.terminal(found)
    assert text.startswith(
        "made_up: 12 pairs, mean over 2 groups, PCK per image, normalised by bbox_kp, "
        "95 % intervals"
    )
    assert "nearest+hc - none, PCK@0.05: +0." in text
    assert "per point" not in text.splitlines()[1]
    paths = report.write_tables(found, tmp_path / "out")
    assert [path.name for path in paths] == ["results.json", "table.csv", "table.md"]
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert stored["normalize_by"] == "bbox_kp" and len(stored["pairs"]) == 12
    scores = stored["rows"][0]["scores"]["PCK@0.05"]
    assert len(scores["pairs"]) == 12 and scores["groups"] == {
        "one": pytest.approx(4 / 6),
        "two": pytest.approx(4 / 6),
    }
    lines = (tmp_path / "out" / "table.csv").read_text().splitlines()
    assert lines[0] == "matcher,features,score,group,value,low,high"
    assert any(line.startswith("none,-,PCK@0.05,all,0.666667,") for line in lines)
    markdown = (tmp_path / "out" / "table.md").read_text()
    assert "| matcher | features | one | two | mean |" in markdown


def test_differences_are_paired(tmp_path):
    found = _gather(_grid(tmp_path).run(progress=False))
    difference = next(d for d in found.differences if d.score == "PCK@0.05")
    assert (difference.better, difference.than) == ("nearest+hc", "none")
    low, high = difference.interval
    assert low <= difference.value <= high and 0 <= difference.share_above <= 1
    spreads = [row.figures["PCK@0.05"].interval for row in found.rows]
    assert difference.is_outside_noise == (low > 0 or high < 0) and all(spreads)


def test_plots_and_pictures(tmp_path):
    made_up = benchmark(protocol=dataclasses.replace(PROTOCOL, matrix=True))
    run = _grid(tmp_path, made_up, matchers=("none", "nam"))
    found = _gather(run.run(progress=False), made_up)
    names = {path.name for path in plots.write_plots(found, tmp_path / "plots")}
    assert {"pcr.png", "miou.png", "pck.png", "groups_IoU.png", "matrix_none_IoU.png"} <= names
    assert "matrix_nam+hc_AuC_PCR.png" in names
    # Rows differ in their scores; the order of columns does not depend on which comes first.
    assert found.score_names[:4] == ["AuC PCR", "AuC mIoU@k", "IoU", "PCK@0.05"]
    drawn = pictures.write_pictures(found, run, tmp_path / "pictures")
    kinds = {path.name for path in drawn}
    assert {"none_best.png", "none_median.png", "none_worst.png"} <= kinds
    assert all(path.stat().st_size > 1000 for path in drawn)


def test_examples_are_the_best_the_median_and_the_worst(tmp_path):
    row = _gather(_grid(tmp_path).run(progress=False)).rows[0]
    values = next(iter(row.figures.values())).score.of_pairs()
    chosen = {kind: value for kind, _, value in pictures.examples(row)}
    assert chosen["best"] == values.max() and chosen["worst"] == values.min()


def test_a_whole_evaluation(tmp_path, monkeypatch):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(runner, "open_benchmark", lambda *_, **__: benchmark())
    evaluation = runner.Evaluation(
        benchmark="pf_willow",
        data_dir=tmp_path,
        features=("sift",),
        matchers=("none", "nearest"),
        output=tmp_path / "out",
        limit=4,
        measures=("pck",),
        num_resamples=20,
        workers=0,
    )
    found = runner.evaluate(evaluation, progress=False)
    assert len(found.benchmark.pairs) == 4 and "4 of 12 pairs" in found.benchmark.notes[0]
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"results.json", "table.md", "table.csv", "plots", "pictures", "pairs"} <= written
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert stored["configuration"]["matchers"] == ["none", "nearest"]
    assert stored["configuration"]["versions"]["numpy"] == np.__version__
    one = dataclasses.replace(
        evaluation, classes=("car",), num_resamples=0, output=tmp_path / "one", limit=None
    )
    found = runner.evaluate(one, progress=False)
    assert "only car" in found.benchmark.notes and len(found.benchmark.pairs) == 12
    stored = json.loads((tmp_path / "one" / "results.json").read_text())
    assert stored["differences"][0]["share_above"] is None, "there were no resamples"
    with pytest.raises(ValueError, match="classes of made_up: car. Received: bus"):
        runner.evaluate(dataclasses.replace(one, classes=("car", "bus")), progress=False)
    with pytest.raises(ValueError, match="Received: colour"):
        runner.evaluate(dataclasses.replace(evaluation, options={"colour": 1}), progress=False)
    with pytest.raises(ValueError, match="same configuration.*step"):
        changed = dataclasses.replace(evaluation, options={"step": 2})
        runner.evaluate(changed, progress=False)
