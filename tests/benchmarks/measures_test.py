"""Memory and operations are counted as they are."""

import numpy as np
import tensorflow as tf

from benchmarks import memory, operations
from benchmarks.pictures import drawn_image, jpeg_bytes
from benchmarks.proposal_flow import made_pair


def test_peak_growth_sees_memory_that_is_given_back():
    size = 64 * memory.MEGABYTE
    peak = memory.peak_growth(lambda: np.ones(size, np.uint8).sum())
    assert 0.9 * size < peak < 2 * size
    assert memory.peak_growth(lambda: None) < size / 8


def test_resident_memory():
    assert memory.resident_bytes() > 10 * memory.MEGABYTE


def test_operations_of_a_convolution():
    images, kernel = tf.zeros((2, 5, 6, 3)), tf.zeros((1, 1, 3, 4))
    count = operations.count_operations(lambda x: tf.nn.conv2d(x, kernel, 1, "SAME"), images)
    assert count == 2 * (2 * 5 * 6) * 3 * 4


def test_maps_of_a_graph():
    images = tf.zeros((2, 5, 6, 3))

    def function(x):
        return tf.concat([x, x], axis=-1)

    assert operations.count_stacked_maps(function, 6, images) == 1
    assert operations.count_stacked_maps(function, 7, images) == 0
    assert operations.count_stacked_maps(lambda x: 2 * x, 3, images) == 0


def test_pictures():
    image = drawn_image(0, (30, 40))
    assert image.shape == (30, 40, 3) and image.dtype == np.uint8
    assert tf.io.decode_jpeg(jpeg_bytes(image)).shape == (30, 40, 3)


def test_a_pair_has_as_many_boxes_as_wanted():
    pair = made_pair(1500, 2, 4)
    for boxes in pair.boxes:
        assert boxes.shape == (1500, 4)
        assert (boxes[:, 2:] > boxes[:, :2]).all()
        assert len(np.unique(boxes, axis=0)) > 1000
