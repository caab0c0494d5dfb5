"""Descriptors of a whole AnchorNet: class-agnostic and of one class, from a model or its folder."""

import numpy as np
import pytest

from anchornet_tf.features import deep
from anchornet_tf.features.registry import get_descriptor
from anchornet_tf.models.anchornet import AnchorNet
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
    monkeypatch.setattr(deep, "_default_extractor", lambda: pytest.fail("made another trunk"))


IMAGE = np.random.default_rng(0).integers(0, 256, (64, 48, 3), dtype=np.uint8)


def _close(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)


def test_class_agnostic_descriptor(model):
    (features,) = deep.DeepDescriptor("anchornet", image_size=None, model=model)([IMAGE])
    assert features.values.shape == (16, 12, 4) and features.image_size == (64, 48)
    _close(features.values, model(IMAGE[None])[0])


def test_descriptor_of_one_class(model):
    describe = get_descriptor("anchornet-class", image_size=None, model=model, class_name="cow")
    (features,) = describe([IMAGE])
    _close(features.values, model.class_responses(IMAGE[None], "cow")[0])


def test_a_folder_serves_as_the_model(model, tmp_path):
    model.save_folder(tmp_path / "model")
    describe = get_descriptor("anchornet", image_size=None, model=str(tmp_path / "model"))
    _close(describe([IMAGE])[0].values, model(IMAGE[None])[0])


@pytest.mark.parametrize(
    "name, given, message",
    [
        ("anchornet", ("model", "class_name"), "Expected a model and no bank"),
        ("anchornet", ("model", "bank"), "Expected a model and no bank"),
        ("anchornet-class", (), "Expected a bank, or a model with a class_name"),
        ("anchornet-class", ("model",), "Expected a bank, or a model with a class_name"),
        ("anchornet-class", ("bank", "class_name"), "Expected a bank, or a model"),
        ("anchornet-class", ("model", "class_name", "bank"), "Expected a bank, or a model"),
        ("hc", ("model",), "Expected no bank and no model for the descriptor 'hc'"),
        ("anchornet", ("model", "extractor"), "Expected no extractor beside a model"),
    ],
)
def test_parts_that_do_not_fit(model, name, given, message):
    values = {"model": model, "class_name": "cow", "bank": model.bank("cow"), "extractor": object()}
    with pytest.raises(ValueError, match=f"{message}.*Received: "):
        deep.DeepDescriptor(name, **{key: values[key] for key in given})


def test_unknown_class(model):
    with pytest.raises(ValueError, match="Received: 'dog'"):
        deep.DeepDescriptor("anchornet-class", model=model, class_name="dog")
