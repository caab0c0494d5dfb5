"""Annotations, pairs and limited benchmarks."""

import numpy as np
import pytest

from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Pair, Protocol

PROTOCOL = Protocol(measures=("pck",), normalize_by=("image",), thresholds=(0.1,))


def annotation(name, points, names, visible=None):
    visible = np.ones(len(points), bool) if visible is None else visible
    return Annotation(name, name, "cat", np.float64(points), tuple(names), visible)


def pairs_of(groups):
    image = annotation("a", [[1, 2]], ["nose"])
    return tuple(Pair(f"{i}", image, image, group) for i, group in enumerate(groups))


def test_shared_points_go_by_name_and_visibility():
    source = annotation("a", [[1, 1], [2, 2], [3, 3]], ["nose", "tail", "eye"], [True, True, False])
    target = annotation("b", [[5, 5], [6, 6], [7, 7]], ["eye", "nose", "nose"])
    points, candidates = Pair("p", source, target, "g").shared_points()
    np.testing.assert_array_equal(points, [[1, 1]])
    np.testing.assert_array_equal(candidates, [[[6, 6], [7, 7]]])
    nothing = annotation("c", [[0, 0]], ["wing"])
    points, candidates = Pair("q", source, nothing, "g").shared_points()
    assert points.shape == (0, 2) and candidates.shape == (0, 1, 2)


def test_a_limit_spreads_over_groups_and_grows_by_adding():
    benchmark = Benchmark("b", pairs_of(["x"] * 50 + ["y"] * 5), PROTOCOL)
    few, more = benchmark.limited(4, seed=3), benchmark.limited(9, seed=3)
    assert [sum(pair.group == g for pair in few.pairs) for g in "xy"] == [2, 2]
    assert {pair.name for pair in few.pairs} < {pair.name for pair in more.pairs}
    assert "4 of 55 pairs" in few.notes[0]
    assert benchmark.limited(99, seed=3).pairs == benchmark.pairs
    with pytest.raises(ValueError, match="Received: limit=0"):
        benchmark.limited(0, seed=0)


def test_bad_annotations():
    with pytest.raises(ValueError, match="1 points, 2 names"):
        annotation("a", [[1, 2]], ["nose", "tail"])
    with pytest.raises(ValueError, match="must be finite. Received: .*nan.* of a"):
        annotation("a", [[np.nan, 2]], ["nose"])
    with pytest.raises(ValueError, match="at least one pair"):
        Benchmark("b", (), PROTOCOL)
    with pytest.raises(ValueError, match="unique. Received: 0 twice"):
        Benchmark("b", pairs_of("x") * 2, PROTOCOL)
