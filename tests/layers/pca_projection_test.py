"""The projection layer against the formula V^T (x - mu)."""

import keras
import numpy as np
import pytest

from anchornet_tf.layers.pca_projection import PCAProjection


def _fitted(channels=6, dimensions=4):
    rng = np.random.default_rng(0)
    components = np.linalg.qr(rng.normal(size=(channels, channels)))[0][:, :dimensions]
    return components, rng.normal(size=channels) * 10


def test_projection_is_the_formula():
    components, mean = _fitted()
    layer = PCAProjection(4)
    layer.set_components(components, mean)
    cells = np.random.default_rng(1).normal(size=(2, 3, 5, 6)).astype(np.float32)
    np.testing.assert_allclose(layer(cells), (cells - mean) @ components, rtol=1e-4, atol=1e-4)


def test_survives_saving(tmp_path):
    model = keras.Sequential([keras.Input((None, None, 6)), PCAProjection(4)])
    model.layers[0].set_components(*_fitted())
    model.save(tmp_path / "m.keras")
    cells = np.random.default_rng(2).normal(size=(1, 3, 5, 6)).astype(np.float32)
    np.testing.assert_array_equal(
        keras.saving.load_model(tmp_path / "m.keras")(cells), model(cells)
    )


def test_bad_shapes():
    components, mean = _fitted()
    with pytest.raises(ValueError, match="positive integer. Received: 0"):
        PCAProjection(0)
    with pytest.raises(ValueError, match="Expected 5 components. Received: 4"):
        PCAProjection(5).set_components(components, mean)
    with pytest.raises(ValueError, match=r"Received: \(6, 4\) and \(5,\)"):
        PCAProjection(4).set_components(components, mean[:5])
    with pytest.raises(ValueError, match="at least 4 channels"):
        PCAProjection(4)(np.zeros((1, 2, 2, 3), np.float32))
    layer = PCAProjection(4)
    layer.build((None, None, None, 7))
    with pytest.raises(ValueError, match="Expected 7 channels. Received: 6"):
        layer.set_components(components, mean)
