"""The program as a user meets it: names, data, help and a run."""

import json
import subprocess
import sys

import pytest

from benchmarks import catalogue
from benchmarks.settings import Settings, data_of
from tests.repository.tree import ROOT


def _run(*flags):
    command = [sys.executable, "-m", "benchmarks", *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_names_of_groups_and_parts():
    every = catalogue.choose()
    assert len(every) == len({part for _, part in every})
    assert catalogue.choose(["dsp_128", "nearest"]) == [
        ("dsp", "dsp_128"),
        ("nearest", "nearest_time"),
        ("nearest", "nearest_memory"),
    ]
    with pytest.raises(
        ValueError, match=r"dsp: dsp_20, dsp_128, dsp_256.* Received: sift, unicorn"
    ):
        catalogue.choose(["unicorn", "sift", "dsp"])


def test_data_of_a_folder_or_a_manifest(tmp_path):
    assert data_of("") == "parts_world"
    assert data_of(str(tmp_path)) == f"folder:{tmp_path}"
    manifest = tmp_path / "labels.csv"
    manifest.write_text("path,labels\n")
    assert data_of(str(manifest)) == data_of(str(tmp_path)) == f"manifest:{manifest}"
    with pytest.raises(ValueError, match="Received: nowhere"):
        data_of("nowhere")


def test_settings():
    assert Settings().choose(8, 1) == 8
    assert Settings(quick=True).choose(8, 1) == 1
    with pytest.raises(ValueError, match="Received: repeats=0"):
        Settings(repeats=0)


def test_help_names_all_parts_without_tensorflow():
    text = _run("--help").stdout
    for group, part in catalogue.choose():
        assert group in text and part in text
    check = "import sys, benchmarks.__main__; assert 'tensorflow' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", check], cwd=ROOT).returncode == 0


def test_wrong_flags():
    result = _run("--only=unicorn")
    assert result.returncode and "Received: unicorn" in result.stdout + result.stderr
    result = _run("--data_dir=nowhere")
    assert result.returncode and "Received: nowhere" in result.stdout + result.stderr


def test_a_quick_run(tmp_path):
    result = _run("--quick", "--repeats=1", "--only=dense_flow", f"--output={tmp_path}")
    assert result.returncode == 0, result.stderr[-2000:]
    assert "PF dense flow" in result.stdout
    assert str(tmp_path / "bench.json") in result.stdout
    (row,) = json.loads((tmp_path / "bench.json").read_text())["rows"]
    assert row["verdict"] == "" and len(row["samples"]) == 1
