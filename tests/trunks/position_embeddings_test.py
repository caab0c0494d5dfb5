"""Interpolated positions against plain loops of what PyTorch computes for the makers."""

import math

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.trunks import position_embeddings


def _cubic(distance, constant):
    distance = abs(distance)
    if distance <= 1:
        return (constant + 2) * distance**3 - (constant + 3) * distance**2 + 1
    if distance < 2:
        return constant * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return 0.0


def _plain(line, count, scale):
    """`interpolate(mode="bicubic", scale_factor=...)` of a line, without the antialias filter."""
    found = []
    for index in range(count):
        place = (index + 0.5) / scale - 0.5
        first = math.floor(place)
        cells = [(min(max(first + step, 0), len(line) - 1), first + step) for step in range(-1, 3)]
        found.append(sum(line[cell] * _cubic(place - true, -0.75) for cell, true in cells))
    return np.array(found)


def _antialiased(line, count):
    """`interpolate(mode="bicubic", size=..., antialias=True)` of a line."""
    found, width = [], max(len(line) / count, 1)
    for index in range(count):
        place = (index + 0.5) * len(line) / count
        weights = [_cubic((cell + 0.5 - place) / width, -0.5) for cell in range(len(line))]
        found.append(np.dot(weights, line) / sum(weights))
    return np.array(found)


@pytest.mark.parametrize("count", [3, 7, 16, 37, 40])
def test_lines(count):
    line = np.random.default_rng(0).normal(size=37)
    weights = position_embeddings.plain_weights(37, tf.constant(count), 0.1)
    expected = _plain(line, count, (count + 0.1) / 37)
    np.testing.assert_allclose(weights.numpy() @ line, expected, atol=1e-4)
    weights = position_embeddings.antialiased_weights(37, tf.constant(count))
    np.testing.assert_allclose(weights.numpy() @ line, _antialiased(line, count), atol=1e-4)


@pytest.mark.parametrize("antialias", [False, True])
def test_grids(antialias):
    grid = np.random.default_rng(1).normal(size=(9, 9, 2)).astype(np.float32)
    compute = tf.function(
        lambda rows, columns: position_embeddings.interpolated(
            tf.constant(grid), rows, columns, antialias
        )
    )
    np.testing.assert_allclose(compute(9, 9), grid, atol=1e-6)
    found = compute(tf.constant(5), tf.constant(12))
    down = [
        [_antialiased(line, 5) if antialias else _plain(line, 5, 5.1 / 9) for line in rows.T]
        for rows in grid.transpose(1, 0, 2)
    ]  # (9 columns, 2 channels, 5 rows)
    down = np.array(down)
    expected = [
        [_antialiased(line, 12) if antialias else _plain(line, 12, 12.1 / 9) for line in channel.T]
        for channel in down.transpose(1, 0, 2)
    ]  # (2 channels, 5 rows, 12 columns)
    np.testing.assert_allclose(found, np.array(expected).transpose(1, 2, 0), atol=1e-4)


def test_turns_are_those_of_places_from_minus_one_to_one():
    cosines, sines = position_embeddings.rotary(tf.constant(2), tf.constant(3), 8, 100.0)
    assert cosines.shape == (6, 8)
    y, x = -1 + 2 * 1.5 / 2, -1 + 2 * 2.5 / 3  # of the last patch
    angles = [2 * math.pi * place / 100.0**power for place in (y, x) for power in (0, 0.5)]
    np.testing.assert_allclose(cosines[5], np.cos(angles * 2), atol=1e-5)
    np.testing.assert_allclose(sines[5], np.sin(angles * 2), atol=1e-5)
