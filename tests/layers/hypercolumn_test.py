"""The hypercolumn against NumPy: projection, normalisation, upsampling, order of channels."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.layers import hypercolumn
from anchornet_tf.trunks import pca


def _taps(sizes=((8, 10), (2, 3), (1, 2)), channels=(6, 7, 8), batch=2):
    rng = np.random.default_rng(0)
    return [
        rng.normal(size=(batch, *size, depth)).astype(np.float32)
        for size, depth in zip(sizes, channels, strict=True)
    ]


def _layer(taps, dimensions=5):
    numbers = range(len(taps[0]))
    wide = [np.repeat(np.repeat(tap, 4, axis=1), 4, axis=2) for tap in taps]
    noisy = [tap + np.random.default_rng(1).normal(size=tap.shape) for tap in wide]
    fitted = pca.HypercolumnPCA(pca.fit([(numbers, noisy)], dimensions=dimensions), {})
    return hypercolumn.Hypercolumn(dimensions, fitted), fitted


def _interpolation(small, large):
    """Rows of bilinear weights with half-pixel centres, clamped at the border."""
    matrix = np.zeros((large, small))
    for row in range(large):
        place = np.clip((row + 0.5) * small / large - 0.5, 0, small - 1)
        low = int(np.floor(place))
        high = min(low + 1, small - 1)
        matrix[row, low] += 1 - (place - low)
        matrix[row, high] += place - low
    return matrix


def test_hypercolumn_is_the_formula():
    taps = _taps()
    layer, fitted = _layer(taps)
    expected = []
    for tap, basis in zip(taps, fitted.taps, strict=True):
        projected = (tap - basis.mean) @ basis.components
        projected /= np.linalg.norm(projected, axis=-1, keepdims=True)
        rows, columns = (_interpolation(tap.shape[axis], taps[0].shape[axis]) for axis in (1, 2))
        expected.append(np.einsum("Yy,byxc,Xx->bYXc", rows, projected, columns))
    np.testing.assert_allclose(layer(taps), np.concatenate(expected, -1), rtol=1e-4, atol=1e-5)


def test_projected_taps_have_unit_length_and_zero_stays_finite():
    taps = _taps()
    layer, _ = _layer(taps)
    for tap in layer.project(taps):
        np.testing.assert_allclose(np.linalg.norm(tap, axis=-1), 1, rtol=1e-5)
    zeros = hypercolumn.Hypercolumn(5)([np.zeros_like(tap) for tap in taps])
    assert np.isfinite(zeros).all()


def test_graph_with_unknown_sizes_and_gradients():
    taps = _taps()
    layer, _ = _layer(taps)
    signature = [[tf.TensorSpec((None, None, None, tap.shape[-1])) for tap in taps]]
    compute = tf.function(lambda taps: layer(taps), input_signature=signature)
    np.testing.assert_allclose(compute(taps), layer(taps), rtol=1e-5, atol=1e-6)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer([tf.constant(tap) for tap in taps]) ** 3)
    gradients = tape.gradient(loss, [variable.value for variable in layer.trainable_variables])
    assert len(gradients) == 6 and all(float(tf.norm(gradient)) > 0 for gradient in gradients)


def test_survives_saving(tmp_path):
    taps = _taps()
    layer, _ = _layer(taps)
    inputs = [keras.Input((None, None, tap.shape[-1])) for tap in taps]
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    np.testing.assert_array_equal(again(taps), model(taps))


def test_a_missing_tap_is_an_error():
    taps = _taps()
    layer, _ = _layer(taps)
    with pytest.raises(ValueError):
        layer(taps[:2])
