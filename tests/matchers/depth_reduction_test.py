"""Tests of the projection of two maps: a NumPy formula, kept distances, and odd maps."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.matchers.depth_reduction import reduce_depth


def _maps(rank, depth=40, noise=0.0, sizes=((9, 11), (7, 8))):
    """Two maps whose descriptors vary along `rank` directions, and a little along all."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(rank, depth))
    return [
        (
            rng.normal(size=(*size, rank)) @ directions + noise * rng.normal(size=(*size, depth))
        ).astype(np.float32)
        for size in sizes
    ]


def _distances(source, target):
    source, target = (np.reshape(cells, (-1, np.shape(cells)[-1])) for cells in (source, target))
    return np.linalg.norm(source[:, np.newaxis] - target, axis=-1)


def test_equals_the_formula():
    maps = _maps(12)
    units = [cells.reshape(-1, 40).astype(np.float64) for cells in maps]
    units = [cells / np.linalg.norm(cells, axis=1, keepdims=True) for cells in units]
    moments = sum(cells.T @ cells / len(cells) for cells in units)
    basis = np.linalg.eigh(moments)[1][:, -5:]
    projected = [cells @ basis for cells in maps]
    reduced = tf.function(reduce_depth)(*maps, 5)
    # Directions may point either way.
    signs = np.sign(np.sum(projected[0] * reduced[0].numpy(), axis=(0, 1)))
    for found, expected in zip(reduced, projected, strict=True):
        np.testing.assert_allclose(found, signs * expected, atol=1e-3)


def test_distances_are_kept_where_the_directions_suffice():
    maps = _maps(12)
    reduced = reduce_depth(*maps, 12)
    assert [cells.shape for cells in reduced] == [(9, 11, 12), (7, 8, 12)]
    np.testing.assert_allclose(_distances(*reduced), _distances(*maps), rtol=1e-4)


def test_distances_are_nearly_kept_where_the_rest_is_small():
    maps = _maps(12, noise=0.3)
    ratios = _distances(*reduce_depth(*maps, 12)) / _distances(*maps)
    assert ratios.max() < 1 + 1e-5
    assert ratios.min() > 0.9


@pytest.mark.parametrize("dimensions", [40, 41, 1000])
def test_maps_that_are_not_deeper_stay_as_they_are(dimensions):
    maps = _maps(12, noise=0.3)
    for found, expected in zip(reduce_depth(*maps, dimensions), maps, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_both_maps_count_alike_whatever_their_sizes_and_scales():
    rng = np.random.default_rng(0)
    source, target = np.zeros((40, 50, 6), np.float32), np.zeros((2, 2, 6), np.float32)
    source[..., :2] = 1e20 * rng.normal(size=(40, 50, 2))
    target[..., 4:] = rng.normal(size=(2, 2, 2))
    for found, expected in zip(reduce_depth(source, target, 4), (source, target), strict=True):
        lengths = np.linalg.norm(expected.astype(np.float64), axis=-1)
        np.testing.assert_allclose(np.linalg.norm(found.numpy().astype(float), axis=-1), lengths)


@pytest.mark.parametrize("value", [0.0, 3.0, 1e30])
def test_constant_maps(value):
    maps = np.full((5, 6, 8), value, np.float32), np.full((1, 1, 8), value, np.float32)
    for found in reduce_depth(*maps, 3):
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found, np.broadcast_to(found[0, 0], found.shape))
