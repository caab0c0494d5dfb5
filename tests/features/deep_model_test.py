"""Descriptors of a whole AnchorNet: class-agnostic and of one class, from a model or its folder."""

import numpy as np
import pytest

from anchornet_tf.features import networks
from anchornet_tf.features.registry import get_descriptor
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.trunks.backbone import Backbone


@pytest.fixture(scope="module")
def model():
    backbone = Backbone(weights=None)
    model = AnchorNet(("bird", "cow"), 3, latent_filters=4, dimensions=8, weights=backbone)
    model.bank("cow").running_mean.assign([0.1, 0.2, 0.3])
    return model


@pytest.fixture(autouse=True)
def no_other_trunk(monkeypatch):
    """A model has its own trunk: the ImageNet one must not be made beside it."""
    monkeypatch.setattr(networks, "_default_extractor", lambda: pytest.fail("made another trunk"))


IMAGE = np.random.default_rng(0).integers(0, 256, (64, 48, 3), dtype=np.uint8)


def _close(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)


def test_class_agnostic_descriptor(model):
    (features,) = get_descriptor("anchornet", image_size=None, model=model)([IMAGE])
    assert features.values.shape == (16, 12, 4) and features.image_size == (64, 48)
    _close(features.values, model(IMAGE[None])[0])


def test_descriptor_of_one_class(model):
    describe = get_descriptor("anchornet-class", image_size=None, model=model, class_name="cow")
    (features,) = describe([IMAGE])
    _close(features.values, model.class_responses(IMAGE[None], "cow")[0])


def test_a_folder_serves_as_the_model(model, tmp_path):
    model.save_to_preset(tmp_path / "model")
    describe = get_descriptor("anchornet", image_size=None, model=str(tmp_path / "model"))
    _close(describe([IMAGE])[0].values, model(IMAGE[None])[0])


@pytest.mark.parametrize(
    "name, given, message",
    [
        ("anchornet", ("model", "class_name"), "takes the options model, .*"),
        ("anchornet", ("model", "bank"), "takes the options model, .*"),
        ("anchornet", ("model", "extractor"), "takes the options model, .*"),
        ("anchornet-class", (), "Expected a bank, or a model with a class_name"),
        ("anchornet-class", ("model",), "Expected a bank, or a model with a class_name"),
        ("anchornet-class", ("bank", "class_name"), "Expected a bank, or a model"),
        ("anchornet-class", ("model", "class_name", "bank"), "Expected a bank, or a model"),
        ("anchornet-class", ("model", "class_name", "extractor"), "Expected no extractor"),
        ("anchornet-class", ("model", "class_name", "equalization"), "Expected `equalization`"),
        ("anchornet", ("model", "equalization"), "Expected `equalization`"),
        ("hc", ("model",), "takes the options extractor, .*"),
    ],
)
def test_parts_that_do_not_fit(model, name, given, message):
    values = {
        "model": model,
        "class_name": "cow",
        "bank": model.bank("cow"),
        "extractor": TapExtractor(model.backbone, model.hypercolumn_layer),
        "equalization": 0.1,
    }
    with pytest.raises(ValueError, match=f"{message}.*Received: "):
        get_descriptor(name, **{key: values[key] for key in given})


def _fitted(model):
    """Gives the model equalizers that are not the identity."""
    rng = np.random.default_rng(0)
    linear = rng.normal(size=(8, 4, 5, 6)) @ rng.normal(size=(6, 6))
    model.fit_equalizers([(np.float32(linear), np.arange(8) % 2)])


def test_equalization_can_be_asked_for(model, tmp_path):
    _fitted(model)
    model.save_to_preset(tmp_path / "model")
    codes = model.autoencoder(model.stacked_maps(IMAGE[None]))[0]
    options = {"image_size": None, "model": tmp_path / "model"}
    (plain,) = get_descriptor("anchornet", equalization=0, **options)([IMAGE])
    _close(plain.values, codes)
    (as_saved,) = get_descriptor("anchornet", **options)([IMAGE])
    assert np.abs(as_saved.values - plain.values).max() > 1e-3
    (of_class,) = get_descriptor("anchornet-class", class_name="cow", equalization=0.0, **options)(
        [IMAGE]
    )
    _close(of_class.values, model.class_responses(IMAGE[None], "cow", "whitened")[0])


def test_equalization_of_a_bank_alone(model, tmp_path):
    extractor = TapExtractor(model.backbone, model.hypercolumn_layer)
    rng = np.random.default_rng(0)
    file = BankFile.of(model.bank("cow"), "cow", extractor.pca_digest, {})
    file = file.calibrated(rng.normal(size=3), np.cov(rng.normal(size=(3, 50))))
    file.save(tmp_path / "cow.npz")
    options = {"image_size": None, "bank": tmp_path / "cow.npz", "extractor": extractor}
    (plain,) = get_descriptor("anchornet-class", equalization=0, **options)([IMAGE])
    _close(plain.values, file.bank("whitened")(model.taps(IMAGE[None]))[0])
    (evened_out,) = get_descriptor("anchornet-class", **options)([IMAGE])
    _close(evened_out.values, plain.values @ file.equalizer)


def test_unknown_class(model):
    with pytest.raises(ValueError, match="Received: 'dog'"):
        get_descriptor("anchornet-class", model=model, class_name="dog")
