"""Tests of the geometry of boxes, against counting pixels."""

import numpy as np
import pytest

from anchornet_tf.features import boxes


def _random_boxes(count, seed):
    corners = np.random.default_rng(seed).integers(0, 20, (count, 2, 2))
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def _mask(box):
    mask = np.zeros((20, 20), bool)
    x1, y1, x2, y2 = box
    mask[y1 : y2 + 1, x1 : x2 + 1] = True
    return mask


def test_intersection_and_union_count_pixels():
    a, b = _random_boxes(7, seed=0), _random_boxes(9, seed=1)
    shared = boxes.intersection_areas(a, b)
    overlap = boxes.intersection_over_union(a, b)
    for i, box_a in enumerate(a):
        for j, box_b in enumerate(b):
            both, either = _mask(box_a) & _mask(box_b), _mask(box_a) | _mask(box_b)
            assert shared[i, j] == both.sum()
            np.testing.assert_allclose(overlap[i, j], both.sum() / either.sum())
    np.testing.assert_array_equal(boxes.box_areas(a), [_mask(box).sum() for box in a])


def test_frames_are_centres_and_half_sizes():
    frames = boxes.box_frames(np.array([[2.0, 4.0, 10.0, 5.0]]))
    np.testing.assert_array_equal(np.ravel(frames), [6.0, 4.5, 4.0, 0.5])


def test_whole_image_box_holds_every_pixel():
    box = boxes.whole_image_box((20, 20)).astype(int)
    assert _mask(box[0]).all()


def test_no_boxes_are_fine():
    assert boxes.check_boxes([]).shape == (0, 4)
    assert boxes.intersection_over_union(np.zeros((0, 4)), np.ones((3, 4))).shape == (0, 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((3, 5)), r"shape \(n, 4\)"),
        (np.zeros(4), r"shape \(n, 4\)"),
        ([[0, 0, np.nan, 1]], "finite"),
        ([[5, 0, 4, 1]], "x1 <= x2"),
    ],
)
def test_malformed_boxes_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        boxes.check_boxes(wrong)
