"""Scores become probabilities, for whole matchers and inside a graph."""

import json

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf import FeatureMap, Flow, Matcher, get_matcher
from anchornet_tf.features.object_probe import ObjectProbe
from anchornet_tf.matchers import evidence
from anchornet_tf.matchers.confidence import Calibration, Confidence, confidence_of
from anchornet_tf.matchers.evidence import NAMES
from anchornet_tf.matchers.hough import EVIDENCE


def _calibration(extra=0, seed=0):
    rng = np.random.default_rng(seed)
    count = len(NAMES) + extra
    center, weights = rng.standard_normal((2, count)).astype(np.float32)
    return Calibration(center, np.full(count, 2, np.float32), 0.3 * weights, 0.1, -1.0)


def _confidence(depth=8):
    weights = tf.constant(np.random.default_rng(5).standard_normal(depth), tf.float32)
    probe = ObjectProbe(weights, tf.constant(0.3), tf.constant(0.2))
    return Confidence({"nearest": _calibration(), "hough": _calibration(len(EVIDENCE))}, probe)


@pytest.fixture(scope="module")
def maps():
    rng = np.random.default_rng(3)
    sizes = (60, 80), (90, 50)
    return [FeatureMap(rng.standard_normal((12, 14, 8)), size) for size in sizes]


def test_probability_is_object_times_right():
    calibration = _calibration()
    values = np.random.default_rng(1).standard_normal((5, len(NAMES))).astype(np.float32) * 5
    found = calibration.probabilities(tf.constant(values)).numpy()
    standard = np.clip((values - calibration.center) / 2, -4, 4)
    right = 1 / (1 + np.exp(-(standard @ calibration.weights + 0.1)))
    there = 1 / (1 + np.exp(-2 * (values[:, NAMES.index("source_object")] + 1)))
    np.testing.assert_allclose(found, right * there, rtol=1e-5)


@pytest.mark.parametrize("name", ["nearest", "hough"])
def test_flows_get_probabilities_and_keep_scores(maps, name):
    confidence = _confidence()
    matcher = get_matcher(name)
    raw = matcher(*maps)
    [flow] = confidence.of_flows(matcher, [raw], maps[:1], maps[1:])
    np.testing.assert_array_equal(flow.displacement, raw.displacement)
    np.testing.assert_array_equal(flow.scores, raw.confidence)
    assert flow.confidence.min() > 0 and flow.confidence.max() < 1
    assert not np.allclose(flow.confidence, flow.scores)
    positions, _, scores = raw.cells(112)
    looks = [confidence.look(features.values[None]) for features in maps]
    arrays = (
        evidence.positions_on_grid(positions, raw.target_size).astype(np.float32),
        scores,
    )
    own = None if raw.evidence is None else raw.evidence[None]
    expected = confidence.probabilities(name, *looks, *(array[None] for array in arrays), own)[0]
    np.testing.assert_allclose(flow.cells(112)[2], expected, atol=1e-6)


def test_matchers_that_were_not_fitted_keep_their_scores(maps):
    matcher = get_matcher("none")
    raw = matcher(*maps)
    [flow] = _confidence().of_flows(matcher, [raw], maps[:1], maps[1:])
    np.testing.assert_array_equal(flow.confidence, raw.confidence)


def test_contents_survive_json(maps):
    confidence = _confidence()
    again = Confidence.from_contents(json.loads(json.dumps(confidence.contents())))
    matcher = get_matcher("nearest")
    flows = [
        each.of_flows(matcher, [matcher(*maps)], maps[:1], maps[1:])[0]
        for each in (confidence, again)
    ]
    np.testing.assert_array_equal(flows[0].confidence, flows[1].confidence)


@pytest.mark.parametrize(
    "contents",
    [{}, {"format": "x"}, {**_confidence().contents(), "evidence": ["a"]}, [1]],
)
def test_other_contents_are_refused(contents):
    with pytest.raises(ValueError, match="Confidence.contents.*Received: "):
        Confidence.from_contents(contents)


def test_a_matcher_takes_its_confidence_from_the_descriptor(maps):
    def describe(images):
        return maps[: len(images)]

    describe.confidence = _confidence().contents()
    assert set(Matcher(describe, "nearest").confidence.calibrations) == {"nearest", "hough"}
    assert Matcher(describe, "nearest", confidence=None).confidence is None
    own = _confidence()
    assert Matcher(describe, "nearest", confidence=own).confidence is own
    with pytest.raises(ValueError, match="`confidence` must be.*Received: 'sure'"):
        Matcher(describe, "nearest", confidence="sure")
    assert confidence_of(object(), "auto") is not None  # What was fitted to the hypercolumn.


def test_flow_keeps_both_through_resizing_and_files(tmp_path, maps):
    raw = get_matcher("nearest")(*maps)
    flow = raw.with_confidence(np.random.default_rng(0).random((12, 14)))
    flow.save(tmp_path / "flow.npz")
    again = Flow.load(tmp_path / "flow.npz")
    np.testing.assert_allclose(again.confidence, flow.confidence)
    np.testing.assert_allclose(again.scores, flow.scores)
    half = flow.resized((30, 40), (45, 25))
    assert half.scores.shape == (30, 40) and not np.allclose(half.scores, half.confidence)
    np.testing.assert_allclose(half.with_scores().confidence, half.scores)
    dense = Flow(flow.displacement, flow.target_size, confidence=flow.scores)
    np.testing.assert_allclose(dense.with_confidence(np.full((3, 3), 0.25)).confidence, 0.25)
    with pytest.raises(ValueError, match="Received: confidence.shape"):
        flow.with_confidence(np.zeros(3))


def test_points_come_with_their_confidence(maps):
    sure = np.linspace(0, 1, 12 * 14).reshape(12, 14)
    flow = get_matcher("nearest")(*maps).with_confidence(sure)
    points = np.array([[10.0, 5.0], [70.0, 50.0]])
    moved, found = flow.transfer_with_confidence(points)
    np.testing.assert_array_equal(moved, flow.transfer_points(points))
    np.testing.assert_allclose(found, flow.confidence[[5, 50], [10, 70]], atol=1e-6)
    hole = Flow(np.zeros((4, 4, 2)), (4, 4), np.zeros((4, 4), bool))
    moved, found = hole.transfer_with_confidence([[1, 1]])
    assert np.isnan(moved).all() and found[0] == 0
