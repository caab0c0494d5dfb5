"""Tests of the SD filter against the published program and a dense solve."""

import numpy as np
import pytest

from anchornet_tf.matchers.dense_from_boxes import displacement_from_boxes, one_to_one
from anchornet_tf.matchers.static_dynamic_filter import lab_from_rgb, static_dynamic_filter
from tests.shared_data import shared_path


def test_smoothed_flow_equals_the_golden_file():
    golden = np.load(shared_path("golden/pf__tiny_pf.npz"))
    sizes = [tuple(golden[name].astype(int).ravel()) for name in ("sizeA", "sizeB")]
    best = golden["flow_conf"].argmax(axis=1)
    displacement, covered, confidence = displacement_from_boxes(
        golden["flow_boxesA"] - 1,
        golden["flow_boxesB"][best] - 1,
        golden["flow_conf"].max(axis=1),
        *sizes,
    )
    valid = one_to_one(displacement, covered, confidence, sizes[1])
    smoothed = static_dynamic_filter(displacement, valid, golden["imgA"])
    np.testing.assert_allclose(smoothed[..., 0], golden["flow_vy"], atol=1e-6)
    np.testing.assert_allclose(smoothed[..., 1], golden["flow_vx"], atol=1e-6)


def _dense_filter(field, valid, guide, steps):
    """The same by a dense solve, edge by edge."""
    height, width = valid.shape
    index = np.arange(height * width).reshape(height, width)
    edges = [(index[y, x], index[y, x + 1]) for y in range(height) for x in range(width - 1)]
    edges += [(index[y, x], index[y + 1, x]) for y in range(height - 1) for x in range(width)]
    first, second = np.transpose(edges)

    def weights(values, rate):
        values = values.reshape(height * width, -1)
        distance = np.linalg.norm(values[first] - values[second], axis=1)
        spread = distance.max() - distance.min()
        return np.exp(-rate * (distance - distance.min()) / (spread or 1)) + 1e-5

    smoothed = np.zeros(height * width)
    for _ in range(steps):
        edge_weights = 20 * weights(guide, 30) * weights(smoothed, 15)
        system = np.diag(valid.ravel().astype(float))
        for a, b, weight in zip(first, second, edge_weights, strict=True):
            system[a, a] += weight
            system[b, b] += weight
            system[a, b] -= weight
            system[b, a] -= weight
        smoothed = np.linalg.solve(system, np.where(valid, field, 0).ravel())
    return smoothed.reshape(height, width)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_filter_equals_a_dense_solve(steps):
    rng = np.random.default_rng(0)
    field, valid = rng.normal(size=(6, 7, 2)), rng.random((6, 7)) > 0.3
    image = rng.integers(0, 256, (6, 7, 3)).astype(np.uint8)
    smoothed = static_dynamic_filter(field, valid, image, num_steps=steps)
    for channel in range(2):
        expected = _dense_filter(field[..., channel], valid, lab_from_rgb(image), steps)
        np.testing.assert_allclose(smoothed[..., channel], expected, atol=1e-8)


def test_constant_fields_are_kept_and_fill_the_gaps():
    image = np.random.default_rng(1).integers(0, 256, (8, 9, 3)).astype(np.uint8)
    valid = np.zeros((8, 9), bool)
    valid[2, 3] = valid[5, 5] = True
    field = np.where(valid[..., np.newaxis], [3.0, -2.0], np.nan)
    for guide in (image, np.full_like(image, 50)):
        smoothed = static_dynamic_filter(field, valid, guide)
        np.testing.assert_allclose(smoothed, np.broadcast_to([3.0, -2.0], (8, 9, 2)), atol=1e-3)


def test_nothing_valid_gives_zeros():
    image = np.zeros((4, 5, 3), np.uint8)
    field = np.full((4, 5, 2), np.nan)
    np.testing.assert_array_equal(static_dynamic_filter(field, np.zeros((4, 5)), image), 0)


def test_colours_by_hand():
    image = np.array([[[255, 255, 255], [0, 0, 0], [255, 0, 0]]], np.uint8)
    white, black, red = lab_from_rgb(image)[0]
    np.testing.assert_allclose(white, [100, 0, 0], atol=0.01)
    np.testing.assert_allclose(black, [0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(red, [53.24, 80.09, 67.20], atol=0.1)


def test_bad_input_is_refused():
    field, valid = np.zeros((4, 5, 2)), np.ones((4, 5), bool)
    with pytest.raises(ValueError, match="of one size"):
        static_dynamic_filter(field, valid, np.zeros((4, 6, 3), np.uint8))
    with pytest.raises(ValueError, match="at least 2 pixels"):
        static_dynamic_filter(field[:1], valid[:1], np.zeros((1, 5, 3), np.uint8))
