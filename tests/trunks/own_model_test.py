"""A user's own Keras model as a trunk, and the trunks of keras.applications."""

import json

import keras
import numpy as np
import pytest

import anchornet_tf
from anchornet_tf.trunks import networks, pca, pretrained, registry, trunk_weights
from anchornet_tf.trunks.backbone import Backbone


def _model(size=None, padding="same"):
    images = keras.Input((size, size, 3))
    fine = keras.layers.Conv2D(6, 5, 4, padding, activation="relu", name="fine")(images)
    coarse = keras.layers.Conv2D(9, 3, 2, padding, name="coarse")(fine)
    flat = keras.layers.GlobalAveragePooling2D(name="pooled")(coarse)
    return keras.Model(images, keras.layers.Dense(3, name="top")(flat), name="mine")


def _images(height, width):
    return np.random.default_rng(0).uniform(0, 255, (1, height, width, 3)).astype(np.float32)


def test_five_lines(monkeypatch, tmp_path):
    trunk = Backbone.from_model(_model(), ["fine", "coarse"], preprocessing="tf")
    images = [_images(64, 48)[0], _images(80, 64)[0]]
    taps = [(range(1), trunk(image[None])) for image in images]
    projections = pca.HypercolumnPCA(pca.fit(taps, dimensions=4), {"taps": ["fine", "coarse"]})
    extractor = anchornet_tf.TapExtractor(trunk, projections)
    flow = anchornet_tf.match_pair(*images, features="hc", matcher="nearest", extractor=extractor)
    assert flow.shape == (64, 48)
    describe = anchornet_tf.get_descriptor("hc", extractor=extractor, image_size=None)
    assert describe(images)[0].values.shape == (16, 12, 8)


def test_taps_are_the_layers_and_the_model_is_left_alone():
    model = _model()
    trunk = Backbone.from_model(model, ["fine", "coarse"], preprocessing="tf")
    images = _images(64, 48)
    expected = keras.Model(model.inputs, [model.get_layer(n).output for n in ("fine", "coarse")])
    for tap, values in zip(trunk(images), expected(images / 127.5 - 1), strict=True):
        np.testing.assert_allclose(tap, values, rtol=1e-4, atol=1e-4)
    assert trunk.trunk.strides == (4, 8) and trunk.trunk.channels == (6, 9)
    trunk.network.weights[0].assign_add(np.ones(trunk.network.weights[0].shape))
    assert not np.allclose(trunk.network.weights[0], model.weights[0])


def test_a_model_of_one_size_sees_that_size():
    trunk = Backbone.from_model(_model(size=64), ["fine"])
    assert trunk(_images(100, 50))[0].shape == (1, 16, 16, 6)
    assert trunk.compute_output_shape((1, 100, 50, 3)) == ((1, 16, 16, 6),)


def test_folder_and_keras_file(tmp_path):
    trunk = Backbone.from_model(_model(), ["fine", "coarse"])
    trunk.save_to_folder(tmp_path / "mine")
    again = Backbone(tmp_path / "mine")
    assert again.trunk == trunk.trunk and again.digest() == trunk.digest()
    assert Backbone(f"{tmp_path / 'mine'}/coarse").trunk.tap_names == ("coarse",)
    inputs = keras.Input((None, None, 3), dtype="uint8")
    keras.Model(inputs, trunk(inputs)).save(tmp_path / "trunk.keras")
    loaded = keras.saving.load_model(tmp_path / "trunk.keras")
    images = _images(40, 40).astype(np.uint8)
    np.testing.assert_array_equal(loaded(images)[1], trunk(images)[1])


@pytest.mark.parametrize(
    "layers, message",
    [
        (["fin"], "one of the 5 layers of mine, such as fine.*Received: 'fin'"),
        (["pooled"], "layer that gives maps .*Received: 'pooled' of shape"),
        (["coarse", "fine"], "finest tap first. Received: coarse of stride 8"),
    ],
)
def test_layers_that_do_not_fit(layers, message):
    with pytest.raises(ValueError, match=message):
        Backbone.from_model(_model(), layers)


def test_models_that_do_not_fit():
    grey = keras.Sequential([keras.Input((32, 32, 1)), keras.layers.Conv2D(2, 3, name="a")])
    with pytest.raises(ValueError, match="model of RGB images .*Received: "):
        Backbone.from_model(grey, ["a"])
    with pytest.raises(ValueError, match="functional Keras model .*Received: Dense"):
        Backbone.from_model(keras.layers.Dense(3), ["a"])


def test_weights_that_do_not_fit(tmp_path):
    trunk = Backbone.from_model(_model(), ["fine"])
    np.savez(tmp_path / "other.npz", **{"0000/kernel": np.zeros(3)})
    with pytest.raises(ValueError, match="'0000/kernel' of shape .*Received: \\(3,\\)"):
        Backbone(trunk.trunk, weights=tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(ValueError, match="in a .npz file .*Received: "):
        Backbone(trunk.trunk, weights=tmp_path / "text.npz")
    with pytest.raises(FileNotFoundError, match="Expected weights of own_mine.*Received: "):
        Backbone(trunk.trunk, weights=tmp_path / "none.npz")
    with pytest.raises(pretrained.WeightsUnavailable, match="nobody publishes.*Received: "):
        Backbone(trunk.trunk)


@pytest.mark.parametrize("name", ["convnext_tiny"])
def test_networks_of_keras_have_the_taps_that_are_said(name):
    trunk = registry.find(name)
    measured = networks.measure(trunk, [tap.layer for tap in trunk.taps])
    assert [(tap.stride, tap.channels) for tap in measured] == [
        (tap.stride, tap.channels) for tap in trunk.taps
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet152", "convnext_base", "efficientnetv2_s"])
def test_large_networks_of_keras_have_the_taps_that_are_said(name):
    test_networks_of_keras_have_the_taps_that_are_said(name)


def test_sizes_that_strides_do_not_divide():
    trunk = Backbone("convnext_tiny", weights=None)
    images = _images(70, 40)
    shapes = [tuple(tap.shape) for tap in trunk(images)]
    assert shapes == list(trunk.compute_output_shape(images.shape))
    assert shapes[0] == (1, 16, 8, 96) and shapes[2] == (1, 2, 1, 768)


@pytest.mark.parametrize("name", ["convnext_tiny", "dinov3_small"])
def test_a_download_that_fails_is_one_line_with_what_to_do(name, monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise OSError("403 Forbidden: the model is gated\nand more")

    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path))
    monkeypatch.setattr(keras.applications, "ConvNeXtTiny", refuse)
    vision_transformer = pytest.importorskip("anchornet_tf.trunks.vision_transformer")
    monkeypatch.setattr(vision_transformer, "load", refuse)
    with pytest.raises(pretrained.WeightsUnavailable) as raised:
        trunk_weights.load(registry.find(name), None, "imagenet")
    message = str(raised.value)
    assert "gated" in message and "\n" not in message and "Received: " in message
    assert ("facebook/dinov3-vits16" in message) == (name == "dinov3_small")


def test_weights_in_the_cache_come_before_a_download(monkeypatch, tmp_path):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path))
    trunk = Backbone.from_model(_model(), ["fine"], name="efficientnetv2_s")
    trunk.save_to_folder(tmp_path / "trunks" / "efficientnetv2_s")
    assert Backbone(trunk.trunk).digest() == trunk.digest()


def test_a_pca_that_is_missing_is_offered(monkeypatch, tmp_path):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path))
    trunk = Backbone.from_model(_model(), ["fine", "coarse"])
    with pytest.raises(ValueError, match="none comes with the package. Fit one first") as raised:
        anchornet_tf.TapExtractor(trunk)
    assert "python -m trainers.fit_pca --trunk=own_mine/fine+coarse" in str(raised.value)
    taps = [(range(1), trunk(_images(64, 64)))]
    record = {"taps": ["fine", "coarse"], "trunk_digest": trunk.digest()}
    fitted = pca.HypercolumnPCA(pca.fit(taps, dimensions=4), record)
    fitted.save(pca.fitted_place(trunk.trunk, trunk.digest()))
    extractor = anchornet_tf.TapExtractor(trunk)
    assert extractor.pca_digest == fitted.digest()
    other = Backbone.from_model(_model(), ["fine", "coarse"])
    with pytest.raises(ValueError, match="fitted on these weights of own_mine.*Received: "):
        anchornet_tf.TapExtractor(other, fitted)
    with pytest.raises(ValueError, match="taps of own_mine. Received: one of fine"):
        anchornet_tf.TapExtractor(Backbone.from_model(_model(), ["fine"]), fitted)


def test_a_description_is_plain_json():
    trunk = Backbone.from_model(_model(), ["fine"]).trunk
    assert json.loads(json.dumps(trunk.to_json()))["architecture"] == trunk.architecture
