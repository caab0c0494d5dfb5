"""Models by the name of a preset or by their folder."""

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
    model.save_folder(tmp_path / "presets" / "small")
    (tmp_path / "presets" / "empty").mkdir()
    return tmp_path


def test_a_preset_by_its_name(model, installed):
    assert presets.preset_names() == ("small",)
    loaded = anchornet_tf.load("small")
    assert loaded.classes == ("bird",)
    np.testing.assert_array_equal(loaded.autoencoder.kernel, model.autoencoder.kernel)


def test_a_folder(model, installed, monkeypatch):
    model.save_folder(installed / "mine" / "small")
    assert presets.find(installed / "mine" / "small") == installed / "mine" / "small"
    monkeypatch.chdir(installed / "mine")
    assert presets.find("small").resolve() == installed / "mine" / "small"
    assert anchornet_tf.load(installed / "mine" / "small").classes == ("bird",)


@pytest.mark.parametrize("name", ["nothing", "empty", ""])
def test_neither(installed, name):
    with pytest.raises(ValueError, match=f"a preset of small. Received: '{name}'"):
        anchornet_tf.load(name)


def test_no_preset_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(presets, "_PRESETS", tmp_path)
    with pytest.raises(ValueError, match="no preset is installed. Received: 'voc20'"):
        presets.find("voc20")


def test_options_reach_the_loader(installed, monkeypatch):
    seen = {}
    monkeypatch.setattr(AnchorNet, "load_folder", lambda folder, **options: seen.update(options))
    presets.load("small", weights="trunk.npz")
    assert seen == {"weights": "trunk.npz"}
