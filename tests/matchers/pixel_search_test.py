"""Tests of the pixel search against a loop over its candidates."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.matchers.pixel_search import (
    flow_distances,
    locate,
    pack_source,
    pack_target,
    search_pixels,
)

_OUTSIDE = 500.0
_DEFORMATION = 2.5


def _features(height, width, depth, seed):
    features = np.random.default_rng(seed).normal(size=(height, width, depth))
    return (512 * features / np.linalg.norm(features, axis=-1, keepdims=True)).astype(np.float32)


def _plain_distances(source, target, displacement):
    positions = np.moveaxis(np.indices(source.shape[:2]), 0, -1) + displacement
    rows, columns = positions[..., 0], positions[..., 1]
    inside = (rows >= 0) & (rows < target.shape[0]) & (columns >= 0) & (columns < target.shape[1])
    distances = np.full(source.shape[:2], _OUTSIDE)
    matches = target[rows[inside], columns[inside]].astype(np.float64)
    distances[inside] = np.linalg.norm(source[inside] - matches, axis=-1)
    return distances


def _plain_search(source, target, displacement, radius, step):
    best = np.full(source.shape[:2], np.inf)
    result = displacement.copy()
    moves = range(-radius, radius + 1, step)
    for move in ((dy, dx) for dx in moves for dy in moves):
        costs = _plain_distances(source, target, displacement + move)
        costs += _DEFORMATION * np.abs(move).sum()
        better = costs < best
        best[better] = costs[better]
        result[better] = displacement[better] + move
    return result


@tf.function
def _search(source, target, displacement, radius, step, dtype=tf.float32):
    return search_pixels(
        source,
        target,
        displacement,
        radius=radius,
        step=step,
        deformation=_DEFORMATION,
        outside_distance=_OUTSIDE,
        dtype=dtype,
    )


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
@pytest.mark.parametrize(("radius", "step"), [(20, 4), (4, 1), (6, 3), (0, 1)])
def test_against_a_loop(radius, step, dtype):
    source, target = _features(23, 31, 5, 0), _features(27, 19, 5, 1)
    # Some windows lie partly or wholly outside the target, on each side.
    displacement = np.random.default_rng(2).integers(-70, 70, (23, 31, 2)).astype(np.int32)
    displacement[:12] //= 8
    actual = _search(source, target, displacement, radius, step, dtype)
    expected = _plain_search(source, target, displacement, radius, step)
    np.testing.assert_array_equal(actual, expected)


def test_crowded_tile():
    # All pixels look at one place: one tile of the target makes many groups.
    source, target = _features(20, 30, 4, 0), _features(20, 30, 4, 1)
    displacement = np.array([10, 15]) - np.moveaxis(np.indices((20, 30)), 0, -1)
    displacement = displacement.astype(np.int32)
    actual = _search(source, target, displacement, 4, 1)
    np.testing.assert_array_equal(actual, _plain_search(source, target, displacement, 4, 1))


def test_equal_costs_take_the_first_in_x_then_y():
    # Two equally distant matches, at (dy, dx) = (-1, +1) and (+1, -1): the lower dx comes first.
    source = np.zeros((3, 3, 1), np.float32)
    target = np.full((3, 3, 1), 400, np.float32)
    target[0, 2] = target[2, 0] = 0
    result = _search(source, target, np.zeros((3, 3, 2), np.int32), 1, 1)
    np.testing.assert_array_equal(result[1, 1], [1, -1])


def test_flow_distances():
    source, target = _features(9, 11, 5, 0), _features(8, 14, 5, 1)
    displacement = np.random.default_rng(2).integers(-9, 9, (9, 11, 2)).astype(np.int32)
    actual = flow_distances(source, target, displacement, _OUTSIDE)
    np.testing.assert_allclose(actual, _plain_distances(source, target, displacement), rtol=1e-6)


def test_packed_products_are_squared_distances():
    source = np.random.default_rng(0).normal(size=(6, 3))
    target = np.random.default_rng(1).normal(size=(2, 4, 3))
    products = pack_source(tf.constant(source)) @ tf.transpose(
        pack_target(tf.constant(target), outside_distance=3.0)
    )
    expected = np.square(source[:, None] - target.reshape(-1, 3)).sum(axis=-1)
    np.testing.assert_allclose(products[:, :-1], expected)
    np.testing.assert_allclose(products[:, -1], 9)


def test_locate():
    places = locate(tf.constant([[-1], [0], [2], [3]]), tf.constant([-1, 0, 4, 5]), (3, 5))
    expected = [[15, 15, 15, 15], [15, 0, 4, 15], [15, 10, 14, 15], [15, 15, 15, 15]]
    np.testing.assert_array_equal(places, expected)


@pytest.mark.parametrize(("radius", "step"), [(5, 2), (4, 0), (-4, 1)])
def test_bad_radius(radius, step):
    with pytest.raises(ValueError, match="`radius` must be a multiple of `step`.*Received: radius"):
        _search(np.zeros((5, 5, 2)), np.zeros((5, 5, 2)), np.zeros((5, 5, 2)), radius, step)
