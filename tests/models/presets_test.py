"""Models are found by the name of a preset or by their folder."""

import numpy as np
import pytest

import anchornet_tf
from anchornet_tf.models import presets
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.trunks.backbone import Backbone


@pytest.fixture(scope="module")
def model():
    return AnchorNet(("bird",), 2, latent_filters=3, dimensions=4, weights=Backbone(weights=None))


@pytest.fixture
def installed(model, tmp_path, monkeypatch):
    """One preset, `small`, and a folder without a model."""
    monkeypatch.setattr(presets, "_PRESETS", tmp_path / "presets")
    model.save_to_preset(tmp_path / "presets" / "small")
    (tmp_path / "presets" / "empty").mkdir()
    return tmp_path


def test_a_preset_by_its_name(model, installed):
    assert presets.preset_names() == ("small",)
    loaded = anchornet_tf.load("small")
    assert loaded.classes == ("bird",)
    np.testing.assert_array_equal(loaded.autoencoder.kernel, model.autoencoder.kernel)


def test_a_folder(model, installed, monkeypatch):
    model.save_to_preset(installed / "mine" / "small")
    assert presets.find(installed / "mine" / "small") == installed / "mine" / "small"
    monkeypatch.chdir(installed / "mine")
    assert presets.find("small").resolve() == installed / "mine" / "small"
    assert anchornet_tf.load(installed / "mine" / "small").classes == ("bird",)


@pytest.mark.parametrize("name", ["nothing", "empty", ""])
def test_neither(installed, name):
    with pytest.raises(ValueError, match=f"name of a preset: small. Received: '{name}'"):
        anchornet_tf.load(name)


def test_no_preset_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(presets, "_PRESETS", tmp_path)
    with pytest.raises(ValueError, match="no preset is installed. Received: 'voc20'"):
        presets.find("voc20")


def test_equalization_of_a_loaded_model(model, installed):
    assert anchornet_tf.load("small").equalization == 0.25
    loaded = AnchorNet.from_preset("small", equalization=0)
    assert loaded.equalization == 0 == loaded.code_equalizer.strength
    assert loaded.options()["equalization"] == 0


def test_shipped_or_not(model, installed, monkeypatch):
    assert presets.is_shipped("small") and not presets.is_shipped("other")
    model.save_to_preset(installed / "mine" / "small")
    monkeypatch.chdir(installed / "mine")
    assert not presets.is_shipped("small")
