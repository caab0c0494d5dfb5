"""Tests of dense flow from boxes against the published program and a plain raster scan."""

import numpy as np
import pytest

from anchornet_tf.matchers.dense_from_boxes import displacement_from_boxes, one_to_one
from tests.shared_data import shared_path


def _scan(displacement, confidence):
    """The one-to-one filter as a raster scan with evictions."""
    owner, kept = {}, np.ones(confidence.shape, bool)
    for pixel in np.ndindex(confidence.shape):
        place = tuple(np.add(pixel, displacement[pixel]))
        if place in owner and confidence[owner[place]] >= confidence[pixel]:
            kept[pixel] = False
            continue
        if place in owner:
            kept[owner[place]] = False
        owner[place] = pixel
    return kept


def test_raw_flow_equals_the_golden_file():
    golden = np.load(shared_path("golden/pf__tiny_pf.npz"))
    sizes = [tuple(golden[name].astype(int).ravel()) for name in ("sizeA", "sizeB")]
    best = golden["flow_conf"].argmax(axis=1)
    displacement, covered, confidence = displacement_from_boxes(
        golden["flow_boxesA"] - 1,
        golden["flow_boxesB"][best] - 1,
        golden["flow_conf"].max(axis=1),
        *sizes,
    )
    assert covered.all()
    np.testing.assert_array_equal(displacement[..., 1], golden["flow_raw_vx"])
    np.testing.assert_array_equal(displacement[..., 0], golden["flow_raw_vy"])
    np.testing.assert_array_equal(
        one_to_one(displacement, covered, confidence, sizes[1]), _scan(displacement, confidence)
    )


def test_one_to_one_equals_the_scan_with_many_ties():
    rng = np.random.default_rng(0)
    rows, columns = np.indices((12, 15))
    places = np.stack([rng.integers(0, 6, (12, 15)), rng.integers(0, 7, (12, 15))], axis=-1)
    displacement = places - np.stack([rows, columns], axis=-1)
    confidence = rng.integers(0, 3, (12, 15)).astype(float)
    kept = one_to_one(displacement, np.ones((12, 15), bool), confidence, (6, 7))
    np.testing.assert_array_equal(kept, _scan(displacement, confidence))
    assert kept.sum() == len(np.unique(places.reshape(-1, 2), axis=0))


def test_pixels_that_are_not_valid_do_not_compete():
    displacement = np.zeros((1, 3, 2))
    displacement[0, :, 1] = [2, 1, 0]  # all claim the last pixel
    valid, confidence = np.array([[True, True, False]]), np.array([[1.0, 2.0, 3.0]])
    kept = one_to_one(displacement, valid, confidence, (1, 3))
    np.testing.assert_array_equal(kept, [[False, True, False]])


def test_surest_box_decides_by_hand():
    source = [[0, 0, 3, 3], [2, 2, 5, 5], [2, 2, 5, 5]]
    matched = [[10, 10, 13, 13], [0, 0, 6, 6], [1, 1, 1, 1]]
    displacement, covered, confidence = displacement_from_boxes(
        source, matched, [1.0, 2.0, 2.0], (7, 8), (20, 20)
    )
    assert covered.sum() == 16 + 16 - 4
    np.testing.assert_array_equal(displacement[0, 0], [10, 10])
    np.testing.assert_array_equal(
        displacement[2, 2], [-2, -2]
    )  # the surer box, the first of equals
    np.testing.assert_array_equal(displacement[3, 5], [-1, 1])  # at twice the scale
    assert confidence[0, 0] == 1 and confidence[2, 2] == 2 and confidence[6, 7] == 0
    np.testing.assert_array_equal(displacement[6, 7], 0)


def test_targets_stay_inside_the_image_and_boxes_may_reach_over():
    source = [[-5, -5, 12, 12], [50, 50, 60, 60], [-9, -9, -3, -3]]
    matched = [[-30, -30, 40, 40], [0, 0, 5, 5], [0, 0, 5, 5]]
    displacement, covered, _ = displacement_from_boxes(source, matched, [1, 1, 1], (10, 9), (8, 7))
    assert covered.all()
    places = displacement + np.stack(np.indices((10, 9)), axis=-1)
    assert places.min() >= 0 and (places.max(axis=(0, 1)) <= (7, 6)).all()


def test_lines_points_unmatched_and_no_boxes_cover_nothing():
    lines = [[2, 2, 2, 6], [2, 2, 6, 2], [3, 3, 3, 3], [1, 1, 5, 5]]
    for boxes, confidence in ((lines, [1, 1, 1, 0]), ([], [])):
        displacement, covered, _ = displacement_from_boxes(boxes, boxes, confidence, (8, 8), (8, 8))
        assert not covered.any() and not displacement.any()
        assert not one_to_one(displacement, covered, np.zeros((8, 8)), (8, 8)).any()


def test_shapes_that_disagree_are_refused():
    box = [[0, 0, 5, 5]]
    with pytest.raises(ValueError, match="one matched box and one confidence"):
        displacement_from_boxes(box, box * 2, [1], (8, 8), (8, 8))
    with pytest.raises(ValueError, match="one matched box and one confidence"):
        displacement_from_boxes(box, box, [1, 2], (8, 8), (8, 8))
