"""docs/serving.md is true: its Python runs, its commands and their flags exist."""

import ast
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.export.agreement import assert_flows_agree
from tests.repository.tree import ROOT

TEXT = (ROOT / "docs" / "serving.md").read_text()


def _blocks(language):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return [body for found, body in blocks if found == language]


def _is_hub(block):
    return "tensorflow_hub" in block


@pytest.mark.slow
def test_python_blocks_run_in_order(model, model_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "stage2").mkdir(parents=True)
    (tmp_path / "runs" / "stage2" / "model").symlink_to(model_folder)
    names: dict = {}
    for block in _blocks("python"):
        if not _is_hub(block):
            exec(compile(block, "docs/serving.md", "exec"), names)
    expected = model(names["image_a"])
    np.testing.assert_allclose(names["descriptors"], expected, atol=1e-5)
    np.testing.assert_allclose(names["keras_descriptors"], expected, atol=1e-5)
    assert_flows_agree(names["flow"], names["match"]["flow"])
    # Cross entropy of one image and two classes, plus the diversity terms before the step.
    terms = sum(float(loss()) for loss in names["loaded"].regularization_losses)
    assert names["history"].history["loss"][0] > terms > 0
    assert len(names["classifier"].trainable_variables) == len(model.trainable_variables) + 2


@pytest.mark.slow
def test_the_block_for_keras_2_runs(exported, tmp_path):
    pytest.importorskip("tensorflow_hub", reason="needs the extra `hub`")
    (block,) = filter(_is_hub, _blocks("python"))
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
    commands = re.findall(r"python -m ([a-z0-9_.]+)([^#\n]*)", "\n".join(_blocks("")))
    assert {module for module, _ in commands} == {
        "export.saved_model",
        "export.serving",
        "export.client",
    }
    for module, rest in commands:
        tree = ast.parse(pathlib.Path(importlib.util.find_spec(module).origin).read_text())
        defined = {
            call.args[0].value
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "").startswith("DEFINE_")
        }
        assert set(re.findall(r"--([a-z_]+)", rest)) <= defined, module


def test_links_exist():
    for path in re.findall(r"\]\((\.\./[^)]+)\)", TEXT):
        assert (ROOT / "docs" / path).exists(), path
