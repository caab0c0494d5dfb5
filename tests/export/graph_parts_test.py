"""Parts in a graph are the boxes of `look_twice`, to the pixel."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.features.look_twice import Box, object_box
from anchornet_tf.features.object_probe import GRID
from export import graph_parts


def _logits():
    """Returns logits of objects of all sizes and places, of none and of noise."""
    rng = np.random.default_rng(0)
    logits = np.full((40, *GRID), -9.0, np.float32)
    for number, each in enumerate(logits[:36]):
        sides = rng.integers(1, 29, 2) if number % 2 else rng.integers(1, 5, 2)
        top, left = (rng.integers(0, 29 - side) for side in sides)
        each[top : top + sides[0], left : left + sides[1]] = 6.0
        each += rng.normal(0, 1, GRID)
    logits[36:] = rng.normal(0, 3, (4, *GRID))
    logits[36] = -5
    logits[37, 0, 0] = 60
    return logits


@pytest.mark.parametrize("size", [(224, 224), (375, 500), (97, 1031), (31, 7), (2, 3), (1, 1)])
def test_parts_are_the_boxes(size):
    logits = _logits()
    parts = graph_parts.object_parts(tf.constant(logits), tf.constant(size))
    first, last = (share.numpy() for share in parts.shares())
    distinct = {tuple(each) for each in parts.size.numpy().tolist()}
    assert len(distinct) > 10 or min(size) < 90
    for row, each in enumerate(logits):
        box = object_box(each)
        rows, columns = box.pixels(size)
        assert parts.start[row].numpy().tolist() == [rows.start, columns.start]
        assert parts.stop[row].numpy().tolist() == [rows.stop, columns.stop]
        np.testing.assert_array_equal([*first[row], *last[row]], box.snapped(size))


@pytest.mark.parametrize("first, last", [(0.1, 0.5), (0.3, 0.7), (0.5, 0.9), (1.0, 1.0)])
def test_halves_are_rounded_as_in_python(monkeypatch, first, last):
    borders = tf.constant([first], tf.float64), tf.constant([last], tf.float64)
    monkeypatch.setattr(graph_parts, "_extents", lambda weights: borders)
    parts = graph_parts.object_parts(tf.zeros((1, *GRID)), tf.constant((5, 10)))
    rows, columns = Box(first, first, last, last).pixels((5, 10))
    assert parts.start.numpy().tolist() == [[rows.start, columns.start]]
    assert parts.stop.numpy().tolist() == [[rows.stop, columns.stop]]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_crops_are_resized_with_antialiasing(dtype):
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (3, 90, 120, 3)).astype(dtype)
    start, stop = [[0, 0], [10, 30], [89, 5]], [[90, 120], [80, 35], [90, 6]]
    parts = graph_parts.Parts(tf.constant(start), tf.constant(stop), tf.constant((90, 120)))
    found = parts.cut_out(tf.constant(images), (32, 40))
    assert found.shape == (3, 32, 40, 3) and found.dtype == tf.float32
    for row, ((top, left), (bottom, right)) in enumerate(zip(start, stop, strict=True)):
        crop = images[row, top:bottom, left:right]
        expected = tf.image.resize(crop, (32, 40), antialias=True)
        np.testing.assert_allclose(found[row], expected, atol=1e-4)
