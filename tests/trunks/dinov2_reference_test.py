"""DINOv2 with real weights against activations that plain NumPy computed."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.trunks.backbone import Backbone
from tests.shared_data import shared_path

pytest.importorskip("keras_hub", reason="needs the extra hub-models")
_TAPS = ("block1", "block6", "block12", "norm")


@pytest.fixture(scope="module")
def trunk():
    return Backbone(shared_path("data/dinov2-small-finetuned"), taps=_TAPS)


@pytest.fixture(scope="module")
def reference():
    with np.load(shared_path("data/dinov2-small-finetuned/reference_518.npz")) as archive:
        return dict(archive)


def _assert_equal(taps, reference, number):
    blocks = reference[f"blocks{number}"]
    expected = [*(blocks[int(name[5:]) - 1] for name in _TAPS[:-1]), reference[f"norm{number}"]]
    for tap, values in zip(taps, expected, strict=True):
        found = np.reshape(tap, (-1, values.shape[-1]))[reference["cells"]]
        np.testing.assert_allclose(found, values, atol=1e-3 * np.abs(values).max())


@pytest.mark.slow
def test_the_keras_model_and_its_class_token(trunk, reference):
    assert trunk.trunk.name == "dinov2_small"
    for number in (0, 1):
        _assert_equal(trunk(reference[f"image{number}"][None]), reference, number)
    network = trunk.network
    pixels = (reference["image0"][None] / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    tokens = network.tokens(network.patches(tf.constant(pixels, tf.float32)))
    expected = reference["cls0"]
    found = tokens["norm"][0, 0]
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.slow
def test_after_saving_and_loading(trunk, reference, tmp_path):
    inputs = keras.Input((None, None, 3), dtype="uint8")
    keras.Model(inputs, trunk(inputs)).save(tmp_path / "trunk.keras")
    again = keras.saving.load_model(tmp_path / "trunk.keras")
    _assert_equal(again(reference["image0"][None]), reference, 0)


@pytest.mark.slow
def test_the_saved_model(trunk, reference, tmp_path):
    holder = tf.train.Checkpoint()
    holder.variables = [variable.value for variable in trunk.variables]
    signature = [tf.TensorSpec((None, None, None, 3), tf.uint8)]
    holder.taps = tf.function(lambda images: trunk(images), input_signature=signature)
    tf.saved_model.save(holder, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    _assert_equal(loaded.taps(reference["image1"][None]), reference, 1)
