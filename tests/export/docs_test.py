"""docs/serving.md is correct: its Python runs, its commands and their flags exist."""

import os
import subprocess
import sys

import numpy as np
import pytest

from export import onnx_files
from tests.export.agreement import assert_flows_agree, need_hub
from tests.repository import documents

TEXT = documents.text_of("docs/serving.md")


def _is_hub(block):
    return "tensorflow_hub" in block


@pytest.mark.slow
def test_python_blocks_run_in_order(model, model_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "stage2").mkdir(parents=True)
    (tmp_path / "runs" / "stage2" / "model").symlink_to(model_folder)
    pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")
    onnx_files.save(model, tmp_path / "exported" / "onnx", signatures=["match"])
    names: dict = {}
    for block in documents.blocks(TEXT, "python"):
        if not _is_hub(block):
            exec(compile(block, "docs/serving.md", "exec"), names)
    expected = model(names["image_a"])
    np.testing.assert_allclose(names["descriptors"], expected, atol=1e-5)
    np.testing.assert_allclose(names["keras_descriptors"], expected, atol=1e-5)
    assert_flows_agree(names["flow"], names["match"]["flow"])
    assert_flows_agree(names["onnx_flow"], names["match"]["flow"])
    # The cross entropy of one image and two classes, plus the diversity terms before the step.
    terms = sum(float(loss()) for loss in names["loaded"].regularization_losses)
    assert names["history"].history["loss"][0] > terms > 0
    assert len(names["classifier"].trainable_variables) == len(model.trainable_variables) + 2


@pytest.mark.slow
def test_the_block_for_keras_2_runs(exported, tmp_path):
    need_hub()
    (block,) = filter(_is_hub, documents.blocks(TEXT, "python"))
    (tmp_path / "exported").mkdir()
    (tmp_path / "exported" / "anchornet").symlink_to(exported.parent)
    finished = subprocess.run(
        [sys.executable, "-I", "-c", block],
        cwd=tmp_path,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert finished.stdout.split()[-1] == "4"


def test_commands_and_their_flags_exist():
    commands = documents.commands(TEXT)
    assert {module for module, _ in commands} == {
        "anchornet_tf.evaluate",
        "benchmarks",
        "export.saved_model",
        "export.serving",
        "export.client",
        "export.litert",
        "export.onnx",
        "export.web",
    }
    for module, used in commands:
        assert set(used) <= documents.flags_of(module), module
