"""Overlaps of transferred masks by hand."""

import numpy as np
import pytest

from anchornet_tf.matchers.flow import Flow
from anchornet_tf.metrics.part_transfer import object_iou, weighted_part_iou


def _mask(top, left, bottom, right, size=(10, 12)):
    found = np.zeros(size, bool)
    found[top:bottom, left:right] = True
    return found


def _shift(dy, dx, size=(10, 12)):
    return Flow(np.broadcast_to(np.float32([dy, dx]), (*size, 2)), size)


def test_the_targets_mask_is_pulled_onto_the_source():
    # The object moved two columns to the right: the flow that says so makes both masks equal.
    source, target = _mask(2, 2, 6, 6), _mask(2, 4, 6, 8)
    assert object_iou(_shift(0, 2), source, target) == 1
    assert object_iou(_shift(0, 0), source, target) == pytest.approx(8 / 24)
    # The other way round it would be four columns off.
    assert object_iou(_shift(0, -2), source, target) == 0


def test_parts_weigh_by_their_unions():
    source = {"head": _mask(0, 0, 4, 4), "tail": _mask(6, 0, 8, 2), "wing": _mask(0, 8, 2, 10)}
    target = {"head": _mask(0, 0, 4, 2), "tail": _mask(6, 0, 8, 2), "beak": _mask(0, 8, 2, 10)}
    # Head: 8 of 16 pixels; tail: 4 of 4. Only the parts that both have count.
    assert weighted_part_iou(_shift(0, 0), source, target) == pytest.approx((8 + 4) / (16 + 4))
    by_mean = (8 / 16 * 16 + 4 / 4 * 4) / (16 + 4)
    assert weighted_part_iou(_shift(0, 0), source, target) == pytest.approx(by_mean)


def test_defined_values():
    full, empty = _mask(2, 2, 6, 6), _mask(0, 0, 0, 0)
    flow = _shift(0, 0)
    assert weighted_part_iou(flow, {"head": full}, {"tail": full}) == 0
    assert weighted_part_iou(flow, {}, {}) == 0
    assert weighted_part_iou(flow, {"head": empty}, {"head": empty}) == 0
    assert weighted_part_iou(flow, {"head": full}, {"head": empty}) == 0
    assert object_iou(flow, empty, empty) == 0
    # Everything lands outside the target.
    assert object_iou(_shift(0, 50), full, full) == 0


def test_wrong_sizes():
    with pytest.raises(ValueError, match=r"its size \(10, 12\). Received: \(5, 5\)"):
        object_iou(_shift(0, 0), np.ones((5, 5), bool), _mask(0, 0, 2, 2))
    with pytest.raises(ValueError, match="target_mask"):
        weighted_part_iou(_shift(0, 0), {"a": _mask(0, 0, 2, 2)}, {"a": np.ones((5, 5), bool)})
