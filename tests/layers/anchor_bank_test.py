"""The factored bank equals the plain convolution: values, gradients, borders, odd sizes."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.layers import anchor_bank, hypercolumn


def _taps(sizes, dimensions=16, batch=2, seed=0):
    rng = np.random.default_rng(seed)
    return [tf.constant(rng.normal(size=(batch, *size, dimensions)), tf.float32) for size in sizes]


def _plain(taps, kernel, bias):
    return tf.nn.bias_add(tf.nn.conv2d(hypercolumn.stack(taps), kernel, 1, "SAME"), bias)


def _filters(depth, count, seed=1):
    rng = np.random.default_rng(seed)
    kernel = tf.constant(rng.normal(size=(3, 3, depth, count)) / np.sqrt(9 * depth), tf.float32)
    return kernel, tf.constant(rng.normal(size=count), tf.float32)


def _relative(left, right):
    left, right = np.float64(left), np.float64(right)
    return np.abs(left - right).max() / np.abs(right).max()


SIZES = {
    "paper": ((56, 56), (14, 14), (7, 7)),
    "odd": ((13, 22), (4, 6), (2, 3)),
    "smallest": ((8, 8), (2, 2), (1, 1)),
    "one row": ((1, 9), (1, 3), (1, 2)),
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize("banks", [1, 20])
@pytest.mark.parametrize("fast_gradient", [False, True])
def test_values_and_gradients_equal_the_plain_convolution(sizes, banks, fast_gradient):
    taps = _taps(sizes)
    kernel, bias = _filters(48, 4 * banks)
    weights = tf.constant(
        np.random.default_rng(2).normal(size=(2, *sizes[0], 4 * banks)), tf.float32
    )
    results = []
    factored_convolution = functools.partial(
        anchor_bank.factored_convolution, fast_gradient=fast_gradient
    )
    for compute in (factored_convolution, _plain):
        with tf.GradientTape() as tape:
            tape.watch([*taps, kernel, bias])
            responses = compute(taps, kernel, bias)
            # Weighting every cell differently makes the border count in the gradients.
            loss = tf.reduce_sum(weights * responses)
        results.append([responses, *tape.gradient(loss, [*taps, kernel, bias])])
    for factored, plain in zip(*results, strict=True):
        assert _relative(factored, plain) < 1e-5
    border = np.ones(sizes[0], bool)
    border[1:-1, 1:-1] = False
    assert _relative(results[0][0].numpy()[:, border], results[1][0].numpy()[:, border]) < 1e-5


def test_full_depth():
    taps = _taps(SIZES["paper"], dimensions=256, batch=1)
    kernel, bias = _filters(768, 8)
    assert (
        _relative(anchor_bank.factored_convolution(taps, kernel, bias), _plain(taps, kernel, bias))
        < 1e-5
    )


def test_shifted_interpolation_by_hand():
    # Two cells to four: centres at -0.25, 0.25, 0.75, 1.25, clamped at the ends.
    upsampling = np.float32([[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
    shifted = anchor_bank.shifted_interpolation(2, 4).numpy()
    np.testing.assert_allclose(shifted[..., 1], upsampling, atol=1e-6)
    np.testing.assert_allclose(shifted[..., 0], np.vstack([np.zeros(2), upsampling[:3]]), atol=1e-6)
    np.testing.assert_allclose(shifted[..., 2], np.vstack([upsampling[1:], np.zeros(2)]), atol=1e-6)


def test_graph_with_unknown_sizes():
    taps = _taps(SIZES["odd"])
    bank = anchor_bank.AnchorBank(4)
    signature = [[tf.TensorSpec((None, None, None, 16))] * 3]
    compute = tf.function(lambda taps: bank(taps), input_signature=signature)
    np.testing.assert_allclose(compute(taps), bank(taps), rtol=1e-5, atol=1e-5)


def test_the_three_responses():
    taps = _taps(SIZES["odd"])
    bank = anchor_bank.AnchorBank(4)
    linear = bank(taps).numpy()
    bank.response = "softplus"
    np.testing.assert_allclose(bank(taps), np.log1p(np.exp(linear)), rtol=1e-5, atol=1e-6)
    bank.response = "whitened"
    bank.running_mean.assign([0.1, 0.2, 0.3, 0.4])
    bank.running_square.assign([1.01, 0.29, 0.34, 4.16])
    expected = (linear - [0.1, 0.2, 0.3, 0.4]) / [1.0, 0.5, 0.5, 2.0]
    np.testing.assert_allclose(bank(taps), expected, rtol=1e-4, atol=1e-5)


def test_running_statistics_are_a_moving_average():
    bank = anchor_bank.AnchorBank(4, momentum=0.9)
    mean, square = np.zeros(4), np.ones(4)
    for seed in range(3):
        linear = bank.linear(_taps(SIZES["odd"], seed=seed)).numpy()
        bank.update_statistics(tf.constant(linear))
        mean = 0.9 * mean + 0.1 * linear.mean(axis=(0, 1, 2))
        square = 0.9 * square + 0.1 * (linear**2).mean(axis=(0, 1, 2))
    np.testing.assert_allclose(bank.running_mean, mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(bank.running_square, square, rtol=1e-4)
    assert len(bank.trainable_variables) == 2 and len(bank.non_trainable_variables) == 2


def test_survives_saving(tmp_path):
    inputs = [keras.Input((None, None, 16)) for _ in range(3)]
    bank = anchor_bank.AnchorBank(4, response="whitened")
    model = keras.Model(inputs, bank(inputs))
    bank.running_mean.assign([0.1, 0.2, 0.3, 0.4])
    model.save(tmp_path / "bank.keras")
    taps = _taps(SIZES["odd"])
    np.testing.assert_array_equal(
        keras.saving.load_model(tmp_path / "bank.keras")(taps), model(taps)
    )


def test_bad_input():
    with pytest.raises(ValueError, match="positive integer. Received: 0"):
        anchor_bank.AnchorBank(0)
    with pytest.raises(ValueError, match="Received: 'relu'"):
        anchor_bank.AnchorBank(4, response="relu")
    kernel, bias = _filters(48, 4)
    with pytest.raises(ValueError, match="Expected taps of 48 channels together. Received: 32"):
        anchor_bank.factored_convolution(_taps(SIZES["odd"][:2]), kernel, bias)
