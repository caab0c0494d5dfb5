"""Feature maps: checks, normalising, centring and resampling."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap, cell_centers, check_size, resize_bilinear


def _map(height=5, width=7, depth=3, seed=0):
    values = np.random.default_rng(seed).normal(size=(height, width, depth))
    return FeatureMap(values, (50, 70))


def test_values_become_float32():
    feature_map = FeatureMap(np.ones((2, 3, 4), np.float64), [20, np.int64(30)])
    assert feature_map.values.dtype == np.float32
    assert feature_map.image_size == (20, 30)
    assert feature_map.grid_size == (2, 3)
    assert feature_map.depth == 4


@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4, 5), (0, 3, 4)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"\(height, width, depth\).*Received"):
        FeatureMap(np.zeros(shape), (10, 10))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_values_that_are_not_finite_in_float32_are_refused(bad):
    values = np.zeros((2, 2, 2))
    values[1, 0, 1] = bad
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="1 of 8 values"):
        FeatureMap(values, (10, 10))


@pytest.mark.parametrize("size", [(0, 5), (5, -1), (5,), (5, 5, 3), 5, (2.5, 3), "ab", None])
def test_sizes_must_be_pairs_of_positive_integers(size):
    with pytest.raises(ValueError, match="`image_size` must be a .height, width. pair.*Received"):
        FeatureMap(np.zeros((2, 2, 2)), size)


def test_whole_floats_are_sizes():
    assert check_size((4.0, np.float32(5)), "size") == (4, 5)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("size", [(10, 14), (3, 4), (5, 20), (1, 1), (5, 7), (13, 2)])
def test_resized_agrees_with_tensorflow(size, antialias):
    feature_map = _map()
    expected = tf.image.resize(feature_map.values, size, antialias=antialias).numpy()
    result = feature_map.resized(*size, antialias=antialias)
    np.testing.assert_allclose(result.values, expected, atol=1e-5)
    assert result.image_size == feature_map.image_size


def test_resize_refuses_bad_sizes():
    with pytest.raises(ValueError, match="`size`"):
        resize_bilinear(np.zeros((2, 2, 1)), (0, 3))


def test_cells_sit_at_half_pixel_centres():
    np.testing.assert_allclose(cell_centers(2, 8), [1.5, 5.5])
    np.testing.assert_allclose(cell_centers(5, 5), np.arange(5))
