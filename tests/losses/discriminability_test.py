"""L_Discr and L_Aux against plain NumPy, by hand and by finite differences."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.losses import discriminability
from tests.losses.finite_differences import assert_gradient


@pytest.fixture
def responses():
    return np.random.default_rng(0).normal(size=(5, 4, 6, 3)).astype(np.float32)


IS_POSITIVE = np.array([True, False, True, False, False])


def test_discriminability_is_the_formula(responses):
    maps = np.log1p(np.exp(responses))
    signs = [1, -1, 1, -1, -1]
    expected = -np.mean(
        [sign * maps[i, :, :, k].max() for i, sign in enumerate(signs) for k in range(3)]
    )
    np.testing.assert_allclose(
        discriminability.discriminability_loss(maps, IS_POSITIVE), expected, rtol=1e-6
    )


def test_auxiliary_is_the_formula(responses):
    expected = np.mean([np.maximum(responses[i], 0).mean() for i in (1, 3, 4)])
    np.testing.assert_allclose(
        discriminability.auxiliary_loss(responses, IS_POSITIVE), expected, rtol=1e-6
    )


def test_auxiliary_without_background_is_zero(responses):
    assert float(discriminability.auxiliary_loss(responses, np.ones(5, bool))) == 0


def test_positives_get_no_gradient_from_the_auxiliary_loss(responses):
    maps = tf.constant(responses)
    with tf.GradientTape() as tape:
        tape.watch(maps)
        loss = discriminability.auxiliary_loss(maps, IS_POSITIVE)
    gradient = tape.gradient(loss, maps).numpy()
    assert np.abs(gradient[IS_POSITIVE]).max() == 0 < np.abs(gradient[~IS_POSITIVE]).max()


@pytest.mark.parametrize("name", ["discriminability_loss", "auxiliary_loss"])
def test_gradients(responses, name):
    loss = getattr(discriminability, name)
    assert_gradient(lambda maps: loss(maps, IS_POSITIVE), responses)
