"""The trunk: taps, sizes, preprocessing, bad input, saving; real images with real weights."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from anchornet_tf.trunks import backbone, pretrained, registry, trunk_weights
from tests.shared_data import shared_path


@pytest.fixture(scope="module")
def trunk():
    keras.utils.set_random_seed(0)
    return backbone.Backbone(weights=None)


@pytest.mark.parametrize("height, width", [(32, 32), (33, 47), (64, 97)])
def test_tap_shapes(trunk, height, width):
    taps = trunk(np.zeros((2, height, width, 3), np.uint8))
    expected = trunk.compute_output_shape((2, height, width, 3))
    assert [tuple(tap.shape) for tap in taps] == list(expected)
    assert [tap.shape[-1] for tap in taps] == [256, 1024, 2048]
    assert taps[0].shape[1] == -(-height // 4)


def test_taps_are_the_named_blocks_after_relu(trunk):
    reference = keras.applications.ResNet50(include_top=False, weights=None)
    reference.set_weights(trunk.network.get_weights())
    images = np.random.default_rng(0).uniform(0, 255, (1, 64, 64, 3)).astype(np.float32)
    inputs = keras.applications.resnet.preprocess_input(images.copy())
    for name, tap in zip(backbone.TAP_LAYERS, trunk(images), strict=True):
        until = keras.Model(reference.input, reference.get_layer(name).output)
        np.testing.assert_allclose(tap, until(inputs, training=False), rtol=1e-5, atol=1e-6)
        assert float(tf.reduce_min(tap)) >= 0


def test_preprocessing_is_bgr_without_the_mean():
    red = np.zeros((1, 32, 32, 3), np.uint8)
    red[..., 0] = 255
    expected = np.float32([0 - 103.939, 0 - 116.779, 255 - 123.68])
    np.testing.assert_allclose(backbone.preprocess(red)[0, 5, 7], expected, rtol=1e-6)


def test_uint8_and_float_agree(trunk):
    images = np.random.default_rng(1).integers(0, 256, (1, 40, 40, 3), dtype=np.uint8)
    for left, right in zip(trunk(images), trunk(images.astype(np.float64)), strict=True):
        np.testing.assert_array_equal(left, right)


def test_batch_normalisation_keeps_its_statistics_in_training(trunk):
    before = [variable.numpy() for variable in trunk.non_trainable_variables]
    images = np.random.default_rng(2).uniform(0, 255, (2, 32, 32, 3)).astype(np.float32)
    training, inference = trunk(images, training=True), trunk(images, training=False)
    np.testing.assert_array_equal(training[2], inference[2])
    for variable, value in zip(trunk.non_trainable_variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)


def test_gradients_reach_the_first_convolution(trunk):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(trunk(np.full((1, 32, 32, 3), 90.0, np.float32))[0])
    gradient = tape.gradient(loss, trunk.network.get_layer("conv1_conv").kernel.value)
    assert float(tf.norm(gradient)) > 0


@pytest.mark.parametrize(
    "images, message",
    [
        (np.zeros((64, 64, 3), np.uint8), "batch dimension"),
        (np.zeros((1, 64, 64, 1), np.uint8), "grey or RGBA"),
        (np.zeros((1, 64, 64, 4), np.uint8), "grey or RGBA"),
        (np.zeros((1, 1, 1, 3), np.uint8), "at least 32 pixels"),
        (np.zeros((1, 31, 64, 3), np.uint8), "at least 32 pixels"),
        (np.zeros((1, 64, 64, 3), np.int32), "uint8 or float"),
        (np.full((1, 64, 64, 3), np.nan, np.float32), "finite"),
    ],
)
def test_bad_images(trunk, images, message):
    with pytest.raises(ValueError, match=f"{message}(.|\n)*Received: "):
        trunk(images)


def test_graph_with_unknown_sizes(trunk):
    compute = tf.function(trunk, input_signature=[tf.TensorSpec((None, None, None, 3), tf.uint8)])
    images = np.random.default_rng(3).integers(0, 256, (1, 36, 52, 3), dtype=np.uint8)
    for left, right in zip(compute(images), trunk(images), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


def test_saves_and_loads_inside_a_keras_model(trunk, tmp_path):
    inputs = keras.Input((None, None, 3), dtype="uint8")
    model = keras.Model(inputs, trunk(inputs))
    model.save(tmp_path / "trunk.keras")
    again = keras.saving.load_model(tmp_path / "trunk.keras")
    images = np.random.default_rng(4).integers(0, 256, (1, 48, 48, 3), dtype=np.uint8)
    for left, right in zip(model(images), again(images), strict=True):
        np.testing.assert_array_equal(left, right)


def test_weights_that_do_not_fit_are_named(trunk):
    before = trunk.network.get_weights()[0]
    with pytest.raises(ValueError, match="conv1_conv/kernel.*Received: None"):
        trunk_weights.assign(trunk.named_variables(), {})
    np.testing.assert_array_equal(trunk.network.get_weights()[0], before)


# Positions of the names in ImageNet's list of a thousand classes.
_DRAKE, _GOOSE, _RED_WINE, _WINE_BOTTLE = 97, 99, 966, 907


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder, names", [("duck(S)", {_DRAKE, _GOOSE}), ("winebottle(woC)", {_RED_WINE, _WINE_BOTTLE})]
)
def test_imagenet_weights_classify_real_images(folder, names):
    paths = sorted(shared_path(f"data/pf-willow/{folder}").glob("*.png"))
    images = [np.asarray(Image.open(path).convert("RGB").resize((224, 224))) for path in paths]
    model = keras.applications.ResNet50(weights=None)
    variables = trunk_weights.named_variables(registry.find("resnet50"), model)
    trunk_weights.assign(variables, pretrained.load_imagenet())
    best = np.argmax(model(backbone.preprocess(np.stack(images)), training=False), axis=-1)
    assert sum(int(index) in names for index in best) > len(paths) / 2
