"""Tests of the spatial pyramid against loops over its regions and states."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.matchers import spatial_pyramid


def _noise(height, width, depth=6, seed=0):
    return np.random.default_rng(seed).normal(size=(height, width, depth)).astype(np.float32)


def _plain_node_costs(source, target, step, num_steps, reference):
    source, target = source[::step, ::step], target[::step, ::step]
    height, width = source.shape[:2]
    costs = np.zeros((21, 2 * num_steps[1] + 1, 2 * num_steps[0] + 1))
    for dx in range(-num_steps[1], num_steps[1] + 1):
        for dy in range(-num_steps[0], num_steps[0] + 1):
            distances = np.full((height, width), 500.0)
            for y in range(max(0, -dy), min(height, target.shape[0] - dy)):
                for x in range(max(0, -dx), min(width, target.shape[1] - dx)):
                    difference = source[y, x].astype(np.float64) - target[y + dy, x + dx]
                    distances[y, x] = min(500.0, np.linalg.norm(difference))
            node = 0
            for side in (1, 2, 4):
                rows, columns = height // side, width // side
                for x in range(side):
                    for y in range(side):
                        first_row = y * rows + int(reference)
                        first_column = x * columns + int(reference)
                        region = distances[
                            first_row : (y + 1) * rows, first_column : (x + 1) * columns
                        ]
                        mean = region.sum() / (rows * columns)
                        costs[node, dx + num_steps[1], dy + num_steps[0]] = mean
                        node += 1
    return costs


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("target_size", [(20, 26), (13, 45)])
def test_node_costs_against_a_loop(target_size, reference):
    source, target = 250 * _noise(18, 23), 250 * _noise(*target_size, seed=1)
    actual = tf.function(spatial_pyramid.node_costs)(
        tf.constant(source[::2, ::2]),
        tf.constant(target[::2, ::2]),
        tf.constant([3, 4]),
        truncation=500.0,
        reference=reference,
    )
    expected = _plain_node_costs(source, target, 2, (3, 4), reference)
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_normalized_levels_have_mean_one():
    costs = np.random.default_rng(0).uniform(size=(21, 4, 5)).astype(np.float32)
    for reference in (False, True):
        normalized = spatial_pyramid.normalize_levels(tf.constant(costs), reference).numpy()
        for level in (slice(0, 1), slice(1, 5), slice(5, 21)):
            expected = costs[level] / costs[level].mean()
            np.testing.assert_allclose(normalized[level], expected, rtol=1e-5)
    assert not spatial_pyramid.normalize_levels(tf.zeros((21, 4, 5))).numpy().any()


@pytest.mark.parametrize(
    ("size", "target_size", "step", "num_steps"),
    [
        ((351, 538), (311, 477), 9, (19, 29)),
        ((10, 12), (300, 8), 1, (150, 6)),
        ((108, 150), (108, 150), 3, (18, 25)),
    ],
)
def test_lattice(size, target_size, step, num_steps):
    actual_step, actual_num_steps = spatial_pyramid.lattice(
        tf.constant(size), tf.constant(target_size)
    )
    assert actual_step == step
    np.testing.assert_array_equal(actual_num_steps, num_steps)


def test_leaf_regions_end_where_the_next_begin():
    regions = spatial_pyramid.leaf_regions(
        tf.range(21), tf.constant([10, 18]), tf.constant(2), tf.constant([10, 10])
    )
    flow = np.zeros((10, 18, 2))
    for first, end, displacement in zip(*(part.numpy() for part in regions), strict=True):
        flow[first[0] : end[0], first[1] : end[1]] = displacement
    # Borders floor(k * 9 / 4) = 2, 4, 6 of rows and floor(k * 17 / 4) = 4, 8, 12 of columns.
    block_rows = np.repeat([0, 1, 2, 3], [2, 2, 2, 4])
    block_columns = np.repeat([0, 1, 2, 3], [4, 4, 4, 6])
    states = 5 + block_rows[:, None] + 4 * block_columns
    expected = 2 * np.stack([states % 21 - 10, states // 21 - 10], axis=-1)
    np.testing.assert_array_equal(flow, expected)


def test_leaf_regions_without_pixels_are_left_out():
    # Borders floor(k * 3 / 4) = 0, 1, 2: the first of four rows of regions holds nothing.
    first, end, _ = spatial_pyramid.leaf_regions(
        tf.range(21), tf.constant([4, 8]), tf.constant(1), tf.constant([10, 10])
    )
    assert len(first) == 12
    assert (end - first).numpy().prod(axis=1).sum() == 4 * 8
