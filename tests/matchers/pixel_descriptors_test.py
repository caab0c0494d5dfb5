"""Tests of pixels' descriptors against maps resampled as a whole."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.features.feature_map import resize_bilinear
from anchornet_tf.matchers.pixel_descriptors import PixelDescriptors


@pytest.mark.parametrize("norm", [None, 512.0])
@pytest.mark.parametrize("grid", [(5, 7), (30, 40), (64, 40), (1, 1)])
def test_any_pixels_of_a_map_of_any_resolution(grid, norm):
    cells = np.random.default_rng(0).normal(size=(*grid, 6)).astype(np.float32)
    expected = resize_bilinear(cells, (30, 40))
    if norm is not None:
        expected = norm * expected / np.linalg.norm(expected, axis=-1, keepdims=True)
    descriptors = PixelDescriptors(tf.constant(cells), (30, 40), norm)
    read = tf.function(lambda rows, columns: descriptors.at(rows, columns))
    for rows, columns in ((range(30), range(40)), ([3], range(9, 25)), ([0, 7, 29], [1, 39])):
        found = read(tf.constant(list(rows)), tf.constant(list(columns)))
        np.testing.assert_allclose(
            found, expected[np.ix_(rows, columns)], rtol=1e-4, atol=1e-5 * (norm or 1)
        )
    np.testing.assert_allclose(
        descriptors.every(4, [2, 1]), expected[2::4, 1::4], rtol=1e-4, atol=1e-5 * (norm or 1)
    )


def test_zeros_stay_zero():
    descriptors = PixelDescriptors(tf.zeros((3, 4, 2)), (6, 8), 512.0)
    assert not descriptors.every(1).numpy().any()
