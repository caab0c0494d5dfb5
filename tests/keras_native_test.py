"""Public layers, regularizers and optimizers are at home in Keras: saving, `fit`, strategies."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys

import keras
import numpy as np
import pytest

import anchornet_tf
from tests.keras_native_program import PARTS
from tests.repository.tree import ROOT

# Where layers, models and losses are defined.
_ROOMS = ("layers", "losses", "models", "trunks")
# The network inside a `Backbone`, which is what saves it.
_INSIDE = {"VisionTransformer"}


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


def test_every_public_part_has_a_case():
    """A new layer, model, loss or regularizer needs a case in the program, public name or not."""
    kinds = keras.layers.Layer, keras.losses.Loss, keras.regularizers.Regularizer
    found = set()
    for room in _ROOMS:
        for module in pkgutil.walk_packages([str(ROOT / "anchornet_tf" / room)]):
            name = f"anchornet_tf.{room}.{module.name}"
            for value in vars(importlib.import_module(name)).values():
                own = isinstance(value, type) and value.__module__ == name
                if own and issubclass(value, kinds) and not value.__name__.startswith("_"):
                    found.add(value.__name__)
    public = {
        name for name in anchornet_tf.__all__ if isinstance(getattr(anchornet_tf, name), type)
    }
    public = {name for name in public if issubclass(getattr(anchornet_tf, name), kinds)}
    assert found - _INSIDE == public == set(PARTS)


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
