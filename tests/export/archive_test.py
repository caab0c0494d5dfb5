"""Versions are numbered, complete and never changed; their assets and operations are right."""

import json
import subprocess
import sys

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from export import archive, model_card
from tests.repository.tree import ROOT


@pytest.fixture
def quick_save(model, monkeypatch):
    """Exports without TensorFlow, to test the folder around the SavedModel."""

    class NoServable:
        def __init__(self, model, **options):
            self.options = options

        def signatures(self):
            return {}

    def write(servable, path, signatures):
        with open(f"{path}/saved_model.pb", "w") as file:
            json.dump(servable.options, file)

    monkeypatch.setattr(archive, "Servable", NoServable)
    monkeypatch.setattr(archive.tf.saved_model, "save", write)
    return lambda base, **options: archive.save(model, base, **options)


def _options(version):
    return json.loads((version / "saved_model.pb").read_text())


def test_versions_count_up_and_stay_as_they_are(quick_save, tmp_path):
    base = tmp_path / "base"
    assert archive.versions(base) == []
    assert quick_save(base) == base / "1"
    (base / "7").mkdir()
    (base / "notes").mkdir()
    assert quick_save(base, weights={"weight_div_a": 3.0}) == base / "8"
    assert archive.versions(base) == [1, 7, 8]
    assert _options(base / "1")["weight_div_a"] == 100.0
    assert _options(base / "8")["weight_div_a"] == 3.0
    assert not list((base / "7").iterdir())


def test_a_failed_export_leaves_nothing(quick_save, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("no room")

    monkeypatch.setattr(archive.tf.saved_model, "save", fail)
    with pytest.raises(OSError, match="no room"):
        quick_save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_an_error_of_the_disk(quick_save, tmp_path, monkeypatch):
    def fail(*_):
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    monkeypatch.setattr(archive.tf.saved_model, "save", fail)
    with pytest.raises(OSError, match=r"No space left on device\). Received: .*unfinished"):
        quick_save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_another_process_may_take_the_number(quick_save, tmp_path, monkeypatch):
    write, written = archive.tf.saved_model.save, []

    def write_slowly(servable, path, signatures):
        write(servable, path, signatures)
        written.append(path)
        if not (tmp_path / "1").exists():
            (tmp_path / "1").mkdir()
            (tmp_path / "1" / "theirs").touch()

    monkeypatch.setattr(archive.tf.saved_model, "save", write_slowly)
    assert quick_save(tmp_path) == tmp_path / "2"
    assert [path.name for path in (tmp_path / "1").iterdir()] == ["theirs"]
    assert len(written) == 1, "what is written takes the next number"


def test_a_file_in_the_way(quick_save, tmp_path):
    (tmp_path / "1").touch()
    with pytest.raises(FileExistsError, match="Received: "):
        quick_save(tmp_path)


@pytest.mark.parametrize(
    "record, weights, expected",
    [
        (None, None, (100, 100)),
        ({"weight_div_a": 5, "steps": 3}, None, (5, 100)),
        ({"config": {"weight_div_a": 6, "weight_div_encoder": 7}}, None, (6, 7)),
        ({"weight_div_a": 5}, {"weight_div_a": 8}, (8, 100)),
    ],
)
def test_weights_are_those_of_the_training(quick_save, tmp_path, record, weights, expected):
    options = _options(quick_save(tmp_path, record=record, weights=weights))
    assert (options["weight_div_a"], options["weight_div_encoder"]) == expected


def test_assets(model, exported):
    assets = exported / "assets"
    assert (assets / model_card.CLASS_NAMES).read_text() == "bird\ncow\ncar\n"
    configuration = json.loads((assets / model_card.CONFIGURATION).read_text())
    assert configuration["options"] == model.options()
    assert configuration["matcher"] == "nearest" and configuration["weight_div_a"] == 7.0
    assert "bird, cow, car" in (assets / model_card.MODEL_CARD).read_text()


def test_a_folder_is_exported_with_its_model_card(model_folder, tmp_path, monkeypatch):
    seen = {}
    monkeypatch.setattr(archive, "save", lambda model, output, **given: seen.update(given))
    (model_folder / "model_card.md").write_text("# Ours\n")
    archive.export_folder(str(model_folder), tmp_path, matcher="hough")
    (model_folder / "model_card.md").unlink()
    assert seen["card"] == "# Ours\n" and seen["matcher"] == "hough"
    assert seen["record"] == {"weight_div_a": 7.0, "weight_div_encoder": 5.0}


def test_operations_are_those_of_any_server(exported):
    saved = saved_model_pb2.SavedModel.FromString((exported / "saved_model.pb").read_bytes())
    graph = saved.meta_graphs[0].graph_def
    nodes = [
        *graph.node,
        *(node for function in graph.library.function for node in function.node_def),
    ]
    names = {node.op for node in nodes}
    assert {"Conv2D", "DecodeJpeg", "ScaleAndTranslate"} <= names
    assert not {name for name in names if "PyFunc" in name or "Print" in name}
    # `saved_model_cli scan` looks for these; restoring variables and assets needs none of them.
    assert not names & {"ReadFile", "WriteFile", "PrintV2"}


def _run(module, *arguments):
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_command_without_a_model(tmp_path):
    finished = _run("export.saved_model", "--model=nothing-there", f"--output={tmp_path / 'base'}")
    assert finished.returncode == 1
    assert "Received: 'nothing-there'" in finished.stderr and "Traceback" not in finished.stderr


@pytest.mark.slow
def test_command_exports_and_scan_finds_nothing(model_folder, tmp_path):
    finished = _run(
        "export.saved_model", f"--model={model_folder}", f"--output={tmp_path / 'base'}"
    )
    assert finished.returncode == 0, finished.stderr
    version = tmp_path / "base" / "1"
    assert str(version) in finished.stdout
    scan = _run(
        "tensorflow.python.tools.saved_model_cli", "scan", f"--dir={version}", "--tag_set=serve"
    )
    assert "does not contain the default denylisted ops" in scan.stdout, scan.stdout + scan.stderr
