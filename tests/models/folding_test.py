"""A chain that was folded into one bank gives the numbers of the chain."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.models import folding
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.trunks.backbone import Backbone

CLASSES = ("bird", "cow", "car")


def _model(gamma="whitened"):
    """A model whose statistics, means and equalizers are all different from the trivial ones."""
    model = AnchorNet(
        CLASSES, 5, latent_filters=6, gamma=gamma, dimensions=8, weights=Backbone(weights=None)
    )
    rng = np.random.default_rng(0)
    for bank in model.banks:
        bank.bias.assign(rng.normal(size=5))
        bank.running_mean.assign(rng.normal(size=5))
        bank.running_square.assign(2 + rng.random(5) * 3)
    model.autoencoder.running_mean.assign(rng.normal(size=15))
    for equalizer in (model.code_equalizer, *model.bank_equalizers):
        size = equalizer.matrix.shape[0]
        equalizer.fit(np.cov(rng.normal(size=(size, 40))))
    return model


@pytest.fixture(scope="module")
def model():
    return _model()


def _images(height, width):
    return tf.constant(np.random.default_rng(1).uniform(0, 255, (2, height, width, 3)), tf.float32)


def _close(received, expected):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(received, expected, atol=1e-4 * scale, rtol=0)


# Odd sizes have other borders and other interpolation of the coarse taps.
@pytest.mark.parametrize("size", [(64, 64), (33, 75), (97, 50)])
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "live"])
def test_folded_equals_unfolded(model, size, fixed):
    images = _images(*size)
    _close(folding.features_function(model, fixed)(images), model.features(images).numpy())
    for name in CLASSES:
        responses = folding.class_function(model, name, fixed)(images)
        _close(responses, model.class_responses(images, name).numpy())


def test_the_filters_are_the_plain_formula(model):
    kernel, bias = folding.agnostic_filters(model)
    encoder = np.float64(model.autoencoder.kernel)[0, 0] @ np.float64(model.code_equalizer.matrix)
    stacked = np.concatenate([np.float64(bank.kernel) for bank in model.banks], axis=-1)
    means = np.concatenate([np.float64(bank.running_mean) for bank in model.banks])
    squares = np.concatenate([np.float64(bank.running_square) for bank in model.banks])
    biases = np.concatenate([np.float64(bank.bias) for bank in model.banks])
    deviations = np.sqrt(squares - means**2)
    np.testing.assert_allclose(kernel, (stacked / deviations) @ encoder, rtol=1e-4, atol=1e-5)
    whitened = (biases - means) / deviations - np.float64(model.autoencoder.running_mean)
    np.testing.assert_allclose(bias, whitened @ encoder, rtol=1e-4, atol=1e-5)


def test_softplus_is_not_linear_and_stays_as_it_is():
    model = _model("softplus")
    assert not folding.is_linear(model)
    images = _images(64, 64)
    expected = model.features(images).numpy()
    np.testing.assert_array_equal(folding.features_function(model, fixed=True)(images), expected)


def test_a_live_function_follows_the_variables_and_a_fixed_one_does_not():
    model, images = _model(), _images(64, 64)
    live, fixed = (tf.function(folding.features_function(model, fixed)) for fixed in (False, True))
    before = model.features(images).numpy()
    _close(live(images), before)
    model.bank("cow").kernel.assign(2 * model.bank("cow").kernel)
    after = model.features(images).numpy()
    assert np.abs(after - before).max() > 1e-2 * np.abs(before).max()
    _close(live(images), after)
    _close(fixed(images), before)


def test_gradients_reach_the_variables_as_through_the_chain(model):
    images = _images(64, 64)
    variables = [
        *(variable.value for bank in model.banks for variable in bank.trainable_variables),
        model.autoencoder.kernel.value,
    ]
    gradients = []
    for function in (model.features, folding.features_function(model, fixed=False)):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(function(images)))
        gradients.append(tape.gradient(loss, variables))
    for expected, received in zip(*gradients, strict=True):
        assert received is not None
        _close(received, expected.numpy())


def test_an_unknown_class_is_refused(model):
    with pytest.raises(ValueError, match="Received: 'dog'"):
        folding.class_function(model, "dog", fixed=True)


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_fewer_channels_are_the_best_approximation(model, rank):
    kernel, _ = folding.agnostic_filters(model)
    channels, reduced = folding.reduced_filters(kernel, 8, rank)
    assert reduced.shape == (3, 3, rank + 16, 6)
    fine = np.float64(kernel)[:, :, :8].transpose(2, 0, 1, 3).reshape(8, -1)
    left, values, right = np.linalg.svd(fine, full_matrices=False)
    best = (left[:, :rank] * values[:rank]) @ right[:rank]
    restored = np.einsum("cr,ijrf->cijf", channels, reduced[:, :, :rank]).reshape(8, -1)
    np.testing.assert_allclose(restored, best, atol=1e-5)
    np.testing.assert_array_equal(reduced[:, :, rank:], kernel[:, :, 8:])


def test_all_channels_change_nothing_and_fewer_do(model):
    images = _images(40, 56)
    expected = folding.features_function(model, fixed=True)(images).numpy()
    _close(folding.features_function(model, fixed=True, fine_rank=8)(images), expected)
    fewer = folding.features_function(model, fixed=True, fine_rank=2)(images)
    assert fewer.shape == expected.shape
    assert not np.allclose(fewer, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("rank", [0, 9])
def test_an_impossible_rank_is_refused(model, rank):
    with pytest.raises(ValueError, match=f"from 1 to 8.*Received: fine_rank={rank}"):
        folding.features_function(model, fixed=True, fine_rank=rank)
    with pytest.raises(ValueError, match="gamma='whitened'.*Received: fine_rank=2"):
        folding.features_function(_model("softplus"), fixed=True, fine_rank=2)
