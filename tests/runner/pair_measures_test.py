"""The notes of a pair, against values by hand and the published evaluation."""

import dataclasses
import json

import numpy as np
import pytest

from anchornet_tf.datasets.annotated.annotation import Annotation, Pair
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.runner import pair_measures
from anchornet_tf.runner.scores import region_scores
from tests.runner.made_up import POINTS, PROTOCOL, SIZE, annotation
from tests.shared_data import shared_path


def _flow(dy=0.0, dx=0.0, valid=None):
    return Flow(np.broadcast_to(np.float32([dy, dx]), (*SIZE, 2)), SIZE, valid)


def _pair(**target):
    return Pair("p", annotation("a"), annotation("b", **target), "g")


def test_errors_and_lengths_by_hand():
    notes = pair_measures.measure_flow(_flow(0, 0), _pair(shift=(3, 4)), PROTOCOL, ("pck",))
    assert notes["errors"] == [5.0] * 5
    assert notes["lengths"] == {"bbox_kp": 40, "image": 60, "bbox": 40}
    exact = pair_measures.measure_flow(_flow(4, 3), _pair(shift=(3, 4)), PROTOCOL, ("pck",))
    assert exact["errors"] == [0.0] * 5
    json.dumps(notes, allow_nan=False)


def test_the_flow_is_read_at_the_rounded_point():
    displacement = np.zeros((*SIZE, 2), np.float32)
    displacement[10, 10] = [0, 1]
    points = POINTS[:1] + 0.4
    pair = Pair("p", annotation("a", points=points), annotation("b", points=points), "g")
    notes = pair_measures.keypoint_errors(Flow(displacement, SIZE), pair, PROTOCOL)
    assert notes["errors"] == [pytest.approx(1)]


def test_unmatched_points_have_no_error_and_points_outside_read_the_border():
    valid = np.ones(SIZE, bool)
    valid[10, 10] = False
    notes = pair_measures.keypoint_errors(_flow(valid=valid), _pair(), PROTOCOL)
    assert notes["errors"] == [None, 0, 0, 0, 0]
    outside = np.array([[-3.0, 5.0], [10, 10]])
    pair = Pair("p", annotation("a", points=outside), annotation("b", points=outside), "g")
    notes = pair_measures.keypoint_errors(_flow(0, 2), pair, PROTOCOL)
    assert notes["errors"] == [2, 2]


def test_the_nearest_of_points_with_one_name_counts():
    def named(points):
        return Annotation(
            "a", "a", "cat", np.float64(points), ("eye",) * len(points), np.ones(len(points), bool)
        )

    pair = Pair("p", named([[10, 10], [30, 10]]), named([[12, 10], [40, 10]]), "g")
    protocol = dataclasses.replace(PROTOCOL, normalize_by=("image",))
    assert pair_measures.keypoint_errors(_flow(), pair, protocol)["errors"] == [2, 10]


def test_lengths_that_do_not_exist_are_none_and_sizes_go_by_the_protocol():
    pair = Pair("p", annotation("a"), annotation("b", points=POINTS[:1]), "g")
    flow = Flow(np.zeros((*SIZE, 2)), (90, 80))
    notes = pair_measures.keypoint_errors(flow, pair, PROTOCOL)
    assert notes["lengths"]["bbox_kp"] is None and notes["lengths"]["image"] == 90
    by_source = dataclasses.replace(PROTOCOL, length_of="source")
    assert pair_measures.keypoint_errors(flow, pair, by_source)["lengths"]["image"] == 60


def test_a_pair_without_common_points_has_no_errors():
    other = dataclasses.replace(annotation("b"), point_names=tuple("vwxyz"))
    pair = Pair("p", annotation("a"), other, "g")
    assert pair_measures.keypoint_errors(_flow(), pair, PROTOCOL)["errors"] == []


def test_masks():
    notes = pair_measures.measure_flow(_flow(0, 5), _pair(shift=(5, 0)), PROTOCOL, ("parts",))
    assert notes == {"object_iou": 1, "part_iou": 1, "has_parts": True}
    bare = dataclasses.replace(annotation("c"), read_masks=None)
    notes = pair_measures.measure_flow(_flow(), Pair("p", bare, bare, "g"), PROTOCOL, ("parts",))
    assert notes["object_iou"] is None


def test_box_matches_equal_the_golden_file():
    boxes = np.load(shared_path("golden/pf__car_pair_boxes.npz"))
    golden = np.load(shared_path("golden/pf__car_pair_eval.npz"))
    sides = [
        Annotation(
            name, name, "car", boxes[f"pts{name}"].T - 1, tuple("0123456789"), np.ones(10, bool)
        )
        for name in "AB"
    ]
    pair = Pair("p", *sides, "car(S)")
    for column, name in enumerate(golden["fn"]):
        notes = pair_measures.measure_boxes(
            pair,
            boxes["boxesA"] - 1,
            boxes["boxesB"] - 1,
            boxes[f"match_{name}"],
            boxes[f"confidence_{name}"],
            tuple(boxes["sizeB"]),
        )
        pcr, mean_iou = region_scores([notes])
        one = np.ones(1)
        np.testing.assert_allclose(pcr.value(one), golden["AuC_PCR"][0, column], atol=1e-12)
        np.testing.assert_allclose(mean_iou.value(one), golden["AuC_mIoU"][0, column], atol=1e-10)


def test_pairs_without_a_truth_for_boxes_do_not_count():
    line = np.array([[10, 10], [20, 20], [30, 30]])
    pair = Pair("p", annotation("a", points=line), annotation("b", points=line), "g")
    boxes = np.array([[5, 5, 25, 25]])
    empty = pair_measures.measure_boxes(pair, boxes, boxes, [0], [1.0], SIZE)
    assert empty == {"distances": []}
    nowhere = pair_measures.measure_boxes(
        _pair(), np.array([[0, 0, 5, 5]]), boxes, [0], [1.0], SIZE
    )
    assert nowhere == {"distances": []}


def test_unknown_measures():
    with pytest.raises(ValueError, match="some of pck, parts, regions. Received: speed"):
        pair_measures.check_measures(("pck", "speed"))
    with pytest.raises(ValueError, match="Received: none"):
        pair_measures.check_measures(())
