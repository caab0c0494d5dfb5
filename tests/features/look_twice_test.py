"""The second look at an image: where it looks, and what it sees."""

import dataclasses
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf import DeepDescriptor
from anchornet_tf.features.look_twice import Box, FocusedMap, LookTwice, object_box
from anchornet_tf.features.object_probe import GRID, ObjectProbe
from anchornet_tf.matchers.feature_cache import Described

DEPTH = 4


def _logits(rows, columns):
    logits = np.full(GRID, -9.0)
    logits[rows, columns] = 9.0
    return logits


def test_the_box_surrounds_the_object_with_a_margin():
    box = object_box(_logits(slice(7, 21), slice(14, 28)))
    # Half of the height: two hundredths of the weight less on each side, then 15 % more.
    height = 0.5 * 0.96
    np.testing.assert_allclose(box.top, 0.25 + 0.5 * 0.02 - 0.15 * height, atol=2e-3)
    np.testing.assert_allclose(box.bottom, 0.75 - 0.5 * 0.02 + 0.15 * height, atol=2e-3)
    assert box.right == 1.0 and 0.4 < box.left < 0.5


def test_without_an_object_the_box_is_nearly_the_image():
    np.testing.assert_allclose(object_box(np.full(GRID, -5.0)), (0, 0, 1, 1), atol=1e-6)


@pytest.mark.parametrize("place", [(0, 0), (27, 27), (13, 14)])
def test_a_tiny_object_is_shown_with_what_is_around_it(place):
    box = object_box(_logits(*place))
    assert box.bottom - box.top >= 0.25 - 1e-9 and box.right - box.left >= 0.25 - 1e-9
    assert min(box) >= 0 and max(box) <= 1
    y, x = (np.array(place) + 0.5) / 28
    assert box.top <= y <= box.bottom and box.left <= x <= box.right


def test_boxes_are_whole_pixels():
    box = Box(0.1, 0.2, 0.53, 0.99)
    rows, columns = box.pixels((50, 31))
    assert (rows, columns) == (slice(5, 26), slice(6, 31))
    snapped = box.snapped((50, 31))
    assert snapped.pixels((50, 31)) == (rows, columns)
    np.testing.assert_allclose(snapped, (5 / 50, 6 / 31, 26 / 50, 1.0))
    assert Box(0.999, 0.0, 1.0, 0.001).pixels((3, 3)) == (slice(2, 3), slice(0, 1))


def _network(images):
    """Mean colours of 4x4 pixels, and a channel that is never zero."""
    pooled = tf.nn.avg_pool2d(images / 255, 4, 4, "VALID")
    return tf.concat([pooled, tf.ones_like(pooled[..., :1])], axis=-1)


@pytest.fixture(scope="module")
def describe():
    # Red is an object.
    probe = ObjectProbe(tf.constant([40.0, 0, 0, -20]), tf.constant(0.0), tf.constant(0.0))
    return LookTwice(DeepDescriptor(_network, 32, batch_size=2), probe, 64)


def _image(top, left, seed):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 40, (80, 100, 3)).astype(np.uint8)
    image[top : top + 30, left : left + 30, 0] = 255
    return image


def test_the_second_look_describes_the_crop(describe):
    images = [_image(5, 60, 0), _image(40, 10, 1), _image(20, 30, 2)]
    maps = describe(images)
    assert all(isinstance(features, FocusedMap) for features in maps)
    once = DeepDescriptor(_network, 32)(images)
    for image, features, whole in zip(images, maps, once, strict=True):
        np.testing.assert_allclose(features.values, whole.values, atol=1e-6)
        rows, columns = features.box.pixels((80, 100))
        assert image[rows, columns, 0].mean() > 2 * image[..., 0].mean()
        (expected,) = DeepDescriptor(_network, 64)([image[rows, columns]])
        np.testing.assert_allclose(features.closer_values, expected.values, atol=1e-6)
        closer = features.closer
        assert closer.grid_size == (16, 16) and closer.depth == 2 * DEPTH
        assert closer.image_size == (rows.stop - rows.start, columns.stop - columns.start)
        assert closer is features.closer  # Made once.


def test_both_looks_stand_side_by_side():
    rng = np.random.default_rng(3)
    values, closer_values = rng.random((8, 8, DEPTH)), rng.random((4, 6, DEPTH))
    features = FocusedMap(values, (80, 80), closer_values, Box(0.25, 0.5, 0.75, 1.0))
    found = features.closer.values

    def unit(array):
        return array / np.linalg.norm(array, axis=-1, keepdims=True)

    np.testing.assert_allclose(found[..., :DEPTH], unit(closer_values), atol=1e-6)
    # Cell (1, 2) of 4 x 6 is at 0.25 + 1.5 / 4 * 0.5 and 0.5 + 2.5 / 6 * 0.5 of the image.
    y, x = (0.25 + 1.5 / 8) * 8 - 0.5, (0.5 + 2.5 / 12) * 8 - 0.5
    (top, down), (left, across) = (int(y), y % 1), (int(x), x % 1)
    units = unit(values)
    read = (1 - down) * (1 - across) * units[top, left] + (1 - down) * across * units[top, left + 1]
    read += down * (1 - across) * units[top + 1, left] + down * across * units[top + 1, left + 1]
    np.testing.assert_allclose(found[1, 2, DEPTH:], np.sqrt(0.5) * unit(read), atol=1e-6)
    second = features.closer.second_look
    np.testing.assert_allclose(second.values, closer_values, atol=1e-6)


def test_maps_survive_a_file_and_another_size(tmp_path: pathlib.Path, describe):
    image = _image(40, 10, 1)
    (features,) = describe([image])
    entry = Described(image, features)
    assert entry.num_bytes == image.nbytes + features.values.nbytes + features.closer_values.nbytes
    again = entry.to_file(tmp_path / "map.npz").read().features
    assert isinstance(again, FocusedMap) and again.box == features.box
    np.testing.assert_array_equal(again.closer.values, features.closer.values)
    larger = dataclasses.replace(features, image_size=(160, 200))
    assert larger.closer.image_size == tuple(2 * side for side in features.closer.image_size)
