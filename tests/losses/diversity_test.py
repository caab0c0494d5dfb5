"""L_DivA and L_DivB against NumPy, by hand, by finite differences, as Keras regularizers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.losses import diversity
from tests.losses.finite_differences import assert_gradient


def _kernel(filters=4):
    return np.random.default_rng(0).normal(size=(3, 3, 5, filters)).astype(np.float32)


def _maps(batch=2):
    return np.random.default_rng(1).uniform(0.1, 2, (batch, 7, 9, 4)).astype(np.float32)


def _cosine(a, b):
    return (a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b)


def test_filter_diversity_is_the_formula():
    kernel, terms = _kernel(), []
    for i in range(4):
        for j in range(4):
            if i != j:
                taps = [
                    _cosine(kernel[y, x, :, i], kernel[y, x, :, j])
                    for y in range(3)
                    for x in range(3)
                ]
                terms.append(abs(sum(taps)) / 9)
    np.testing.assert_allclose(diversity.filter_diversity_loss(kernel), np.mean(terms), rtol=1e-5)


def test_filter_diversity_extremes():
    same = np.repeat(_kernel(1), 3, axis=-1) * [1, 2, -3]
    np.testing.assert_allclose(diversity.filter_diversity_loss(np.float32(same)), 1, rtol=1e-5)
    orthogonal = np.eye(5, dtype=np.float32)[None, None]
    assert float(diversity.filter_diversity_loss(orthogonal)) == pytest.approx(0, abs=1e-7)
    assert float(diversity.filter_diversity_loss(_kernel(1))) == 0
    assert np.isfinite(diversity.filter_diversity_loss(np.zeros((3, 3, 5, 4), np.float32)))


def _smooth(image, sigma):
    height, width = image.shape
    result = np.zeros_like(image, dtype=np.float64)
    for y in range(height):
        for x in range(width):
            rows = np.exp(-((np.arange(height) - y) ** 2) / (2 * sigma**2))
            columns = np.exp(-((np.arange(width) - x) ** 2) / (2 * sigma**2))
            weights = np.outer(rows / rows.sum(), columns / columns.sum())
            result[y, x] = (weights * image).sum()
    return result


def test_smoothing_is_the_formula():
    maps = _maps()
    smooth = diversity.gaussian_smoothing(tf.constant(maps), 1.5)
    np.testing.assert_allclose(smooth[1, :, :, 2], _smooth(maps[1, :, :, 2], 1.5), rtol=1e-5)
    np.testing.assert_allclose(
        diversity.gaussian_smoothing(tf.ones((1, 5, 6, 2)), 3.0), 1, rtol=1e-5
    )


@pytest.mark.parametrize("sigma", [0, 1.5])
def test_response_diversity_is_the_formula(sigma):
    maps, per_image = _maps(), []
    for image in maps:
        smooth = [_smooth(image[..., k], sigma) if sigma else image[..., k] for k in range(4)]
        per_image.append(
            np.mean(
                [_cosine(smooth[i], smooth[j]) ** 2 for i in range(4) for j in range(4) if i != j]
            )
        )
    np.testing.assert_allclose(
        diversity.response_diversity_loss(maps, sigma), np.mean(per_image), rtol=1e-5
    )


def test_response_diversity_extremes():
    apart = np.zeros((1, 6, 6, 2), np.float32)
    apart[0, 0, 0, 0] = apart[0, 5, 5, 1] = 1
    assert float(diversity.response_diversity_loss(apart, 0)) == 0
    assert (
        0
        < float(diversity.response_diversity_loss(apart, 2))
        < float(diversity.response_diversity_loss(apart, 4))
    )
    np.testing.assert_allclose(
        diversity.response_diversity_loss(np.ones((1, 6, 6, 2), np.float32), 3), 1, rtol=1e-5
    )
    with pytest.raises(ValueError, match="Received: sigma=-1"):
        diversity.response_diversity_loss(apart, -1)


def test_gradients():
    assert_gradient(diversity.filter_diversity_loss, _kernel(), step=1e-3)
    assert_gradient(lambda maps: diversity.response_diversity_loss(maps, 1.5), _maps())


def test_regularizers_on_a_users_own_layer(tmp_path):
    layer = keras.layers.Conv2D(
        4,
        3,
        activation="softplus",
        kernel_regularizer=diversity.FilterDiversity(10.0),
        activity_regularizer=diversity.ResponseDiversity(20.0, sigma=1.5),
    )
    model = keras.Sequential([keras.Input((9, 9, 5)), layer])
    outputs = model(np.random.default_rng(2).normal(size=(3, 9, 9, 5)).astype(np.float32))
    expected = 10 * diversity.filter_diversity_loss(
        layer.kernel
    ) + 20 * diversity.response_diversity_loss(outputs, 1.5)
    np.testing.assert_allclose(sum(model.losses), expected, rtol=1e-5)
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras").layers[-1]
    assert again.kernel_regularizer.get_config() == {"weight": 10.0}
    assert again.activity_regularizer.get_config() == {"weight": 20.0, "sigma": 1.5}
