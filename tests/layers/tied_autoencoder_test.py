"""The tied autoencoder against NumPy: one shared kernel, exact adjoints, noise, online mean."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.layers.tied_autoencoder import TiedAutoencoder
from tests.repository.tree import ROOT

CHANNELS, LATENT = 12, 5


def _maps(batch=3, seed=0, channels=CHANNELS):
    rng = np.random.default_rng(seed)
    return rng.normal(1.0, 1.0, size=(batch, 4, 6, channels)).astype(np.float32)


@pytest.fixture
def layer():
    layer = TiedAutoencoder(LATENT)
    rng = np.random.default_rng(1)
    layer.set_components(rng.normal(size=(CHANNELS, LATENT)), rng.normal(size=CHANNELS))
    return layer


def _arrays(layer):
    return layer.kernel.numpy()[0, 0], layer.running_mean.numpy()


def test_there_is_one_kernel(layer):
    layer.reconstruct(_maps())
    assert [variable.name for variable in layer.trainable_variables] == ["kernel"]
    assert [variable.name for variable in layer.non_trainable_variables] == ["running_mean"]
    assert tuple(layer.kernel.shape) == (1, 1, CHANNELS, LATENT)


def test_pieces_are_the_formulas(layer):
    kernel, mean = _arrays(layer)
    gamma, code = _maps(), _maps(channels=LATENT)
    tolerance = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(layer.centre(gamma), gamma - mean, **tolerance)
    np.testing.assert_allclose(layer.encode(gamma), (gamma - mean) @ kernel, **tolerance)
    np.testing.assert_allclose(layer.decode(code), code @ kernel.T, **tolerance)
    expected = (gamma - mean) @ kernel @ kernel.T
    np.testing.assert_allclose(layer.reconstruct(gamma - mean), expected, **tolerance)


def test_calling_gives_the_code_of_the_uncorrupted_maps(layer):
    gamma = _maps()
    for training in (False, True):
        np.testing.assert_array_equal(layer(gamma, training=training), layer.encode(gamma))


def test_decode_is_the_adjoint_of_encode(layer):
    gamma, code = _maps(), _maps(seed=2, channels=LATENT)
    centred = layer.centre(gamma).numpy().astype(np.float64)
    encoded, decoded = np.float64(layer.encode(gamma)), np.float64(layer.decode(code))
    np.testing.assert_allclose((encoded * code).sum(), (centred * decoded).sum(), rtol=1e-5)


def test_noise_zeroes_whole_channels_at_the_exact_rate(layer):
    centred = _maps(batch=400)
    corrupted = layer.corrupt(centred, training=True, seed=(1, 2)).numpy()
    is_zero = (corrupted == 0).all(axis=(1, 2))  # (batch, channels)
    np.testing.assert_array_equal(is_zero.sum(axis=1), 3)  # A quarter of twelve.
    np.testing.assert_array_equal(corrupted, np.where(is_zero[:, None, None], 0, centred))
    # Every channel is as likely: 100 times of 400, with a deviation of 8.7.
    assert np.abs(is_zero.sum(axis=0) - 100).max() < 45
    assert len({tuple(row) for row in is_zero}) > 100


def test_noise_at_the_ends_of_its_range():
    centred = _maps()
    for noise, expected in ((0.0, centred), (1.0, np.zeros_like(centred))):
        layer = TiedAutoencoder(LATENT, noise=noise)
        np.testing.assert_array_equal(layer.corrupt(centred, training=True, seed=(0, 0)), expected)


def test_noise_depends_on_the_seed_alone(layer):
    centred = _maps()
    first = layer.corrupt(centred, training=True, seed=(1, 2)).numpy()
    np.testing.assert_array_equal(layer.corrupt(centred, training=True, seed=(1, 2)), first)
    assert (layer.corrupt(centred, training=True, seed=(1, 3)).numpy() != first).any()


def test_seeds_of_images_do_not_depend_on_the_batch(layer):
    centred, seeds = _maps(), np.array([[1, 2], [3, 4], [1, 2]])
    together = layer.corrupt(centred, training=True, seed=seeds).numpy()
    alone = [
        layer.corrupt(centred[i : i + 1], training=True, seed=seeds[i : i + 1]) for i in range(3)
    ]
    np.testing.assert_array_equal(together, np.concatenate(alone))
    zeros = (together == 0).all(axis=(1, 2))
    np.testing.assert_array_equal(zeros.sum(axis=1), 3)
    np.testing.assert_array_equal(zeros[0], zeros[2])
    assert (zeros[0] != zeros[1]).any()


def test_no_noise_at_inference(layer):
    centred = _maps()
    np.testing.assert_array_equal(layer.corrupt(centred), centred)
    np.testing.assert_array_equal(layer.corrupt(centred, training=False, seed=(1, 2)), centred)


def test_training_reconstructs_from_the_corrupted_maps(layer):
    kernel, _ = _arrays(layer)
    centred = _maps()
    corrupted = layer.corrupt(centred, training=True, seed=(1, 2)).numpy()
    reconstructed = layer.reconstruct(centred, training=True, seed=(1, 2))
    np.testing.assert_allclose(reconstructed, corrupted @ kernel @ kernel.T, rtol=1e-4, atol=1e-4)


def test_running_mean_is_a_moving_average():
    layer = TiedAutoencoder(LATENT, momentum=0.9)
    mean = np.zeros(CHANNELS)
    for seed in range(3):
        layer.update_mean(_maps(seed=seed))
        mean = 0.9 * mean + 0.1 * _maps(seed=seed).mean(axis=(0, 1, 2))
    np.testing.assert_allclose(layer.running_mean, mean, rtol=1e-5)
    layer.update_mean(_maps()[:0])
    np.testing.assert_allclose(layer.running_mean, mean, rtol=1e-5)
    layer(_maps(), training=True)
    np.testing.assert_allclose(layer.running_mean, mean, rtol=1e-5)


def test_kernel_learns_from_encoder_and_decoder(layer):
    kernel, mean = _arrays(layer)
    gamma, code = _maps(), _maps(seed=2, channels=LATENT)
    weights, centred = _maps(seed=3), gamma - mean
    with tf.GradientTape(persistent=True) as tape:
        encoded = tf.reduce_sum(layer.encode(gamma) * code)
        decoded = tf.reduce_sum(layer.decode(code) * weights)
        both = tf.reduce_sum(layer.reconstruct(centred) * weights)
    results = [tape.gradient(loss, layer.kernel.value) for loss in (encoded, decoded, both)]
    flat = [array.reshape(-1, array.shape[-1]) for array in (centred, code, weights)]
    x, y, w = (array.astype(np.float64) for array in flat)
    # d<xF, y> = x^T y, d<yF^T, w> = w^T y, d<xFF^T, w> = x^T w F + w^T x F.
    expected = [x.T @ y, w.T @ y, (x.T @ w + w.T @ x) @ kernel]
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.numpy()[0, 0], value, rtol=1e-3, atol=1e-3)


def test_starts_orthogonal():
    layer = TiedAutoencoder(LATENT)
    layer(_maps())
    kernel, mean = _arrays(layer)
    np.testing.assert_allclose(kernel.T @ kernel, np.eye(LATENT), atol=1e-5)
    np.testing.assert_array_equal(mean, 0)


def test_graph_with_unknown_sizes(layer):
    @tf.function(input_signature=[tf.TensorSpec((None, None, None, CHANNELS))])
    def compute(gamma):
        centred = layer.centre(gamma)
        seeds = tf.tile([[1, 2]], [tf.shape(gamma)[0], 1])
        noisy = layer.reconstruct(centred, training=True, seed=seeds)
        assert noisy.shape[-1] == CHANNELS
        return layer(gamma), layer.reconstruct(centred), noisy

    centred = layer.centre(_maps())
    code, reconstructed, noisy = compute(_maps())
    np.testing.assert_allclose(code, layer(_maps()), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(reconstructed, layer.reconstruct(centred), rtol=1e-4, atol=1e-5)
    eager = layer.reconstruct(centred, training=True, seed=[[1, 2]] * 3)
    np.testing.assert_allclose(noisy, eager, rtol=1e-4, atol=1e-5)


def test_survives_saving(layer, tmp_path):
    inputs = keras.Input((None, None, CHANNELS))
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "autoencoder.keras")
    loaded = keras.saving.load_model(tmp_path / "autoencoder.keras")
    np.testing.assert_array_equal(loaded(_maps()), model(_maps()))
    (copy,) = (part for part in loaded.layers if isinstance(part, TiedAutoencoder))
    assert copy.get_config() == layer.get_config()
    np.testing.assert_array_equal(copy.decode(layer(_maps())), layer.decode(layer(_maps())))


_MIRRORED = f"""
import numpy as np
import tensorflow as tf

two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], two)
from anchornet_tf.layers.tied_autoencoder import TiedAutoencoder

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    layer = TiedAutoencoder({LATENT}, momentum=0.9)
    layer.build((None, None, None, {CHANNELS}))
maps = np.random.default_rng(0).normal(size=(3, 4, 2, 2, {CHANNELS})).astype(np.float32)
for batch in maps:
    shares = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(np.split(batch, 2)[context.replica_id_in_sync_group])
    )
    tf.function(lambda: strategy.run(layer.update_mean, args=(shares,)))()
expected = np.zeros({CHANNELS})
for batch in maps:
    expected = 0.9 * expected + 0.1 * batch.mean(axis=(0, 1, 2))
replicas = strategy.experimental_local_results(layer.running_mean.value)
assert len(replicas) == 2
for replica in replicas:
    np.testing.assert_allclose(replica.numpy(), expected, rtol=1e-4, atol=1e-6)
"""


@pytest.mark.slow
def test_replicas_agree_on_the_mean():
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-c", _MIRRORED]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"latent_filters": 0}, "positive integer. Received: 0"),
        ({"noise": 1.5}, "`noise` must be between 0 and 1. Received: 1.5"),
        ({"momentum": -0.1}, "`momentum` must be between 0 and 1. Received: -0.1"),
    ],
)
def test_bad_settings(arguments, message):
    with pytest.raises(ValueError, match=message):
        TiedAutoencoder(**arguments)


def test_bad_input(layer):
    with pytest.raises(ValueError, match="seed=None"):
        layer.corrupt(_maps(), training=True)
    with pytest.raises(ValueError, match="Received: an unbuilt layer"):
        TiedAutoencoder(LATENT).decode(_maps(channels=LATENT))
    with pytest.raises(ValueError, match="Expected a known number of channels"):
        TiedAutoencoder(LATENT).build((None, 4, 4, None))
    with pytest.raises(ValueError, match=r"Expected components \(12, 5\) .*Received: \(12, 4\)"):
        layer.set_components(np.zeros((12, 4)), np.zeros(12))
    with pytest.raises(ValueError, match=r"Received: \(9, 5\) and \(12,\)"):
        TiedAutoencoder(LATENT).set_components(np.zeros((9, 5)), np.zeros(12))
