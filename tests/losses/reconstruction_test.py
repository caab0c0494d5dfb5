"""L_R against plain NumPy, by hand and by finite differences."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.losses.reconstruction import reconstruction_loss
from tests.losses.finite_differences import assert_gradient

IS_POSITIVE = np.array([True, False, True, False, False])


@pytest.fixture
def maps():
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, 5, 4, 6, 3)).astype(np.float32)


def test_is_the_formula(maps):
    centred, reconstructed = maps.astype(np.float64)
    expected = np.mean(
        [
            np.sum((a / np.sqrt((a**2).sum()) - b / np.sqrt((b**2).sum())) ** 2)
            for a, b in zip(centred[IS_POSITIVE], reconstructed[IS_POSITIVE], strict=True)
        ]
    )
    np.testing.assert_allclose(reconstruction_loss(*maps, IS_POSITIVE), expected, rtol=1e-5)


def test_by_hand():
    first, second = np.zeros((2, 1, 1, 2, 1), np.float32)
    first[0, 0, :, 0] = (3, 4)
    for other, expected in (((6, 8), 0), ((-4, 3), 2), ((-3, -4), 4), ((5, 0), 0.8)):
        second[0, 0, :, 0] = other
        assert float(reconstruction_loss(first, second, [True])) == pytest.approx(
            expected, abs=1e-6
        )


def test_norms_are_of_each_image(maps):
    centred, reconstructed = maps
    scales = np.float32([1, 2, 30, 4, 5]).reshape(-1, 1, 1, 1)
    np.testing.assert_allclose(
        reconstruction_loss(scales * centred, reconstructed / scales, IS_POSITIVE),
        reconstruction_loss(centred, reconstructed, IS_POSITIVE),
        rtol=1e-5,
    )


def test_without_positives_is_zero(maps):
    assert float(reconstruction_loss(*maps, np.zeros(5, bool))) == 0


def test_empty_maps_give_finite_gradients(maps):
    centred, reconstructed = tf.constant(maps[0]), tf.zeros_like(maps[1])
    with tf.GradientTape() as tape:
        tape.watch([centred, reconstructed])
        loss = reconstruction_loss(centred, reconstructed, IS_POSITIVE)
    assert float(loss) == pytest.approx(1, rel=1e-5)
    for gradient in tape.gradient(loss, [centred, reconstructed]):
        assert np.isfinite(gradient).all()


def test_negatives_get_no_gradient(maps):
    centred, reconstructed = (tf.constant(part) for part in maps)
    with tf.GradientTape() as tape:
        tape.watch([centred, reconstructed])
        loss = reconstruction_loss(centred, reconstructed, IS_POSITIVE)
    for gradient in tape.gradient(loss, [centred, reconstructed]):
        gradient = gradient.numpy()
        assert np.abs(gradient[~IS_POSITIVE]).max() == 0 < np.abs(gradient[IS_POSITIVE]).max()


def test_gradients(maps):
    centred, reconstructed = maps
    assert_gradient(lambda x: reconstruction_loss(x, reconstructed, IS_POSITIVE), centred)
    assert_gradient(lambda x: reconstruction_loss(centred, x, IS_POSITIVE), reconstructed)
