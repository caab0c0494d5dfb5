"""Public layers, regularizers and optimizers are at home in Keras: saving, `fit`, strategies."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.keras_native_program import PARTS
from tests.repository.tree import ROOT


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What a process of its own says: devices can be split only before they are used."""
    path = tmp_path_factory.mktemp("keras") / "results.json"
    finished = subprocess.run(
        [sys.executable, "-m", "tests.keras_native_program", str(path)],
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", PARTS)
def test_a_part_in_keras(results, name):
    found = results[name]
    assert results["replicas"] == 2
    assert found["same_class"] and found["same_config"]
    assert found["optimizer"] == "LayerwiseOptimizer"
    assert found["difference"] < 1e-6
    assert found["all_trained"] and np.isfinite(found["losses"]).all()
    assert np.isfinite(found["mixed_losses"]).all()
    assert (found["extra_losses"] > 0) == name.endswith("Diversity")
