"""Equalized descriptors: their covariance is C^(1 - 2 strength), and saving keeps the map."""

import keras
import numpy as np
import pytest

from anchornet_tf.layers.equalizer import Equalizer


def _sample(channels=6, count=4000):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(count, channels)) * np.geomspace(3, 0.3, channels)
    rotation, _ = np.linalg.qr(rng.normal(size=(channels, channels)))
    return (values - values.mean(axis=0)) @ rotation


@pytest.mark.parametrize("strength", [0.0, 0.25, 0.5])
def test_covariance_afterwards(strength):
    values = _sample()
    covariance = np.cov(values.T)
    layer = Equalizer(strength)
    layer.fit(covariance)
    after = np.cov(layer(values.astype(np.float32)).numpy().T)
    scale = np.trace(covariance) / 6
    variance, directions = np.linalg.eigh(covariance / scale)
    expected = scale * (directions * variance ** (1 - 2 * strength)) @ directions.T
    np.testing.assert_allclose(after, expected, atol=1e-4)


def test_a_rotated_descriptor_has_the_same_cosines():
    values = _sample().astype(np.float32)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0].astype(np.float32)

    def cosines(descriptors):
        layer = Equalizer()
        layer.fit(np.cov(descriptors.T))
        some = layer(descriptors[:20]).numpy()
        some /= np.linalg.norm(some, axis=1, keepdims=True)
        return some @ some.T

    np.testing.assert_allclose(cosines(values), cosines(values @ rotation), atol=1e-4)


def test_directions_without_variance_are_not_blown_up():
    covariance = np.diag([1.0, 1.0, 0.0])
    layer = Equalizer(0.5)
    layer.fit(covariance)
    assert np.abs(layer.matrix.numpy()).max() <= 1e-3**-0.5 * 1.001


def test_identity_before_it_is_fitted_and_saving(tmp_path):
    inputs = keras.Input((None, None, 6))
    layer = Equalizer(name="equalizer")
    model = keras.Model(inputs, layer(inputs))
    maps = _sample()[:24].reshape(1, 4, 6, 6).astype(np.float32)
    np.testing.assert_allclose(model(maps), maps, atol=1e-6)
    assert not layer.trainable_variables
    layer.fit(np.cov(_sample().T))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(maps), model(maps))
    assert loaded.get_layer("equalizer").strength == 0.25


def test_bad_input():
    with pytest.raises(ValueError, match="from 0 to 0.5. Received: 0.6"):
        Equalizer(0.6)
    layer = Equalizer()
    with pytest.raises(ValueError, match="Received: \\(2, 3\\)"):
        layer.fit(np.ones((2, 3)))
    with pytest.raises(ValueError, match="positive trace. Received: mean variance 0"):
        layer.fit(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="finite covariance"):
        layer.fit(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="known number of channels"):
        layer.build((None, None))


@pytest.mark.parametrize("strength", [0.0, 0.1, 0.5])
def test_another_strength_equals_a_fit_with_it(strength):
    covariance = np.cov(np.random.default_rng(0).normal(size=(6, 40)) * np.arange(1, 7)[:, None])
    expected, changed = Equalizer(strength), Equalizer(0.25)
    expected.fit(covariance)
    changed.fit(covariance)
    changed.change_strength(strength)
    np.testing.assert_allclose(changed.matrix, expected.matrix, rtol=1e-4, atol=1e-5)
    assert changed.strength == strength


def test_the_identity_has_no_other_strength():
    layer = Equalizer(0)
    layer.fit(np.eye(3))
    layer.change_strength(0)
    with pytest.raises(ValueError, match="Received: a map of strength 0, to be changed to 0.25"):
        layer.change_strength(0.25)


def test_a_part_is_evened_out_relative_to_the_whole():
    variance = np.array([8.0, 4.0, 2.0, 0.5, 0.25])
    whole, part = Equalizer(), Equalizer()
    whole.fit(np.diag(variance))
    part.fit(np.diag(variance[3:]), scale=variance.mean())
    np.testing.assert_allclose(part.matrix, np.asarray(whole.matrix)[3:, 3:], rtol=1e-5, atol=1e-6)
