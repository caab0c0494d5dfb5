"""Tests of the region measures against the published program's evaluation and cases by hand."""

import numpy as np
import pytest

from anchornet_tf.metrics import region_matching
from anchornet_tf.metrics.thin_plate_spline import ThinPlateSpline
from tests.shared_data import shared_path


def _golden():
    boxes = np.load(shared_path("golden/pf__car_pair_boxes.npz"))
    return boxes, np.load(shared_path("golden/pf__car_pair_eval.npz"))


def test_every_stage_equals_the_golden_file():
    boxes, golden = _golden()
    source, target = boxes["boxesA"] - 1, boxes["boxesB"] - 1
    points, target_points = boxes["ptsA"].T - 1, boxes["ptsB"].T - 1

    active = np.flatnonzero(region_matching.active_boxes(source, points))
    np.testing.assert_array_equal(active + 1, golden["act"][0])
    spline = ThinPlateSpline(points, target_points)
    truth = region_matching.ground_truth_boxes(source[active], spline, tuple(boxes["sizeB"]))
    np.testing.assert_array_equal(truth.T + 1, golden["gt"])
    distances = region_matching.match_distances(truth, target)
    np.testing.assert_allclose(distances, golden["IoU2GT"], atol=1e-12)

    for column, name in enumerate(golden["fn"]):
        matches = boxes[f"match_{name}"][active]
        matched = distances[np.arange(len(active)), matches]
        pcr = region_matching.pcr_curve([matched])
        np.testing.assert_allclose(pcr, golden["PCR"][:, column], atol=1e-12)
        area = region_matching.pcr_area(pcr)
        np.testing.assert_allclose(area, golden["AuC_PCR"][0, column], atol=1e-12)
        confidence = boxes[f"confidence_{name}"][active]
        mean_iou = region_matching.mean_iou_curve([matched], [confidence])
        np.testing.assert_allclose(mean_iou, golden["mIoU"][:, column], atol=1e-12)
        area = region_matching.mean_iou_area(mean_iou)
        np.testing.assert_allclose(area, golden["AuC_mIoU"][0, column], atol=1e-10)


def test_active_boxes_by_hand():
    points = np.array([[10, 10], [50, 10], [10, 50], [50, 50]])
    boxes = [
        [10, 10, 30, 30],  # inside, holds a corner
        [20, 20, 40, 40],  # inside, but holds no keypoint
        [0, 10, 39, 50],  # 29 of 39 columns inside: not three quarters
        [0, 10, 41, 50],  # 31 of 41 columns inside
        [100, 100, 120, 120],  # elsewhere
        [10, 10, 10, 10],  # a point has no area
    ]
    active = region_matching.active_boxes(boxes, points)
    np.testing.assert_array_equal(active, [True, False, False, True, False, False])


def test_ground_truth_of_a_shift_is_the_shifted_box_clamped():
    points = np.array([[0, 0], [30, 0], [0, 30], [30, 30]])
    spline = ThinPlateSpline(points, points + (5, -3))
    truth = region_matching.ground_truth_boxes([[10, 10, 20, 25], [0, 0, 9, 9]], spline, (40, 22))
    np.testing.assert_allclose(truth, [[15, 7, 21, 22], [5, 0, 14, 6]])


def test_perfect_and_hopeless_matches():
    perfect = region_matching.pcr_curve([np.zeros(7), np.zeros(3)])
    np.testing.assert_array_equal(perfect, 1)
    assert region_matching.pcr_area(perfect) == pytest.approx(0.99)
    np.testing.assert_array_equal(region_matching.pcr_curve([np.ones(5)]), 0)
    curve = region_matching.mean_iou_curve([np.zeros(200)], [np.arange(200)])
    assert region_matching.mean_iou_area(curve) == pytest.approx(99)


def test_each_pair_counts_the_same_and_bins_are_half_open():
    curve = region_matching.pcr_curve([np.array([0.0, 0.0, 0.0, 0.5]), np.array([0.01]), []])
    assert curve[0] == pytest.approx((0.75 + 0) / 2)
    assert curve[1] == pytest.approx((0.75 + 1) / 2)
    assert curve[49] == pytest.approx((0.75 + 1) / 2)
    assert curve[50] == pytest.approx(1)


def test_mean_iou_ranks_by_confidence_and_skips_missing_ranks():
    distances = [np.array([0.5, 0.0]), np.array([0.2])]
    confidences = [np.array([1.0, 2.0]), np.array([7.0])]
    curve = region_matching.mean_iou_curve(distances, confidences)
    first, second = (1.0 + 0.8) / 2, 0.5
    np.testing.assert_allclose(curve[:3], [first, (first + second) / 2, (first + second) / 3])


def test_nothing_to_evaluate():
    assert np.isnan(region_matching.pcr_curve([])).all()
    assert np.isnan(region_matching.pcr_area(region_matching.pcr_curve([np.array([])])))
    np.testing.assert_array_equal(region_matching.mean_iou_curve([], []), 0)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="one distance and one confidence"):
        region_matching.mean_iou_curve([np.zeros(3)], [np.zeros(2)])
    with pytest.raises(ValueError, match=r"shape \(n, 4\)"):
        region_matching.active_boxes(np.zeros((2, 3)), np.zeros((4, 2)))
