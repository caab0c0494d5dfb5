"""Looking twice in a graph equals `Matcher` that looks twice; the descriptor here is a cheap one.

Parts and grids are the same, so flows agree everywhere. The evidence for a match has steps, such as
which cell is the most alike, and rounding may decide on which side of a step it is.
"""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf import DeepDescriptor, Matcher
from anchornet_tf.features.look_twice import LookTwice
from anchornet_tf.features.object_probe import ObjectProbe
from anchornet_tf.matchers import evidence, hough
from anchornet_tf.matchers.confidence import Calibration, Confidence
from export import graph_closer_look, graph_flow, graph_matching
from tests.export.agreement import assert_confidences_agree

SIZE, CLOSER = (48, 64), (80, 80)
PIXELS = 5e-3
DEPTH = 7


def _describe(images):
    """Returns mean colours, their squares and a one, of 4 x 4 pixels: `(batch, .., .., DEPTH)`."""
    values = tf.concat([images - 128, tf.square(images - 128) / 128], axis=-1) / 64
    pooled = tf.nn.avg_pool2d(values, 4, 4, "VALID")
    return tf.concat([pooled, tf.ones_like(pooled[..., :1])], axis=-1)


@pytest.fixture(scope="module")
def confidence():
    rng = np.random.default_rng(4)

    def calibration(count):
        parts = rng.normal(size=count), rng.uniform(1, 2, count), rng.normal(0, 0.3, count)
        return Calibration(*(part.astype(np.float32) for part in parts), 0.3, -0.5)

    # Red is an object.
    probe = ObjectProbe(
        tf.constant([20.0, -5, 0, 0, 0, 0, -4]), tf.constant(0.1), tf.constant(-1.0)
    )
    count = len(evidence.NAMES)
    return Confidence(
        {"nearest": calibration(count), "hough": calibration(count + len(hough.EVIDENCE))}, probe
    )


def _images(size, seed, batch):
    """Images of noise with a red object, at other places in each."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 120, (batch, *size, 3)).astype(np.uint8)
    for image in images:
        sides = [max(1, int(side * rng.uniform(0.2, 0.6))) for side in size]
        top, left = rng.integers(0, np.subtract(size, sides) + 1)
        image[top : top + sides[0], left : left + sides[1], 0] = rng.integers(190, 256, sides)
    return images


def _of_matcher(matcher, confidence, sources, targets):
    describe = LookTwice(DeepDescriptor(_describe, SIZE), confidence.probe, CLOSER)
    python = Matcher(describe, matcher, confidence=confidence)
    return [python(source, target) for source, target in zip(sources, targets, strict=True)]


@pytest.fixture(scope="module", params=graph_matching.MATCHERS)
def compiled(request, confidence):
    """Returns the matcher's name and a graph, which is made once for all sizes."""

    signature = [tf.TensorSpec((None, None, None, 3), tf.uint8)] * 2

    @tf.function(input_signature=signature, autograph=False)
    def run(source, target):
        flow = graph_closer_look.match_images(
            _describe, source, target, SIZE, CLOSER, confidence.probe, request.param, confidence
        )
        return flow, graph_flow.spread(flow)

    return request.param, run


@pytest.mark.parametrize(
    "batch, source_size, target_size",
    [
        (1, (71, 90), (120, 83)),
        (3, (150, 131), (97, 240)),
        (1, (224, 336), (224, 112)),  # Centres of cells lie on borders of pixels.
        (1, (9, 14), (5, 40)),
    ],
)
def test_flows_are_those_of_the_matcher(compiled, confidence, batch, source_size, target_size):
    matcher, run = compiled
    sources, targets = _images(source_size, 1, batch), _images(target_size, 2, batch)
    grid, (displacement, sure) = run(sources, targets)
    expected = _of_matcher(matcher, confidence, sources, targets)
    assert grid.displacement.shape[1:3] == expected[0].grid_size
    rng = np.random.default_rng(3)
    points = rng.uniform(-0.5, np.subtract(source_size[::-1], 0.5), (batch, 40, 2))
    points = points.astype(np.float32)
    moved, points_sure = graph_flow.transfer_points(graph_flow.GridFlow(*grid), points)
    for row, flow in enumerate(expected):
        np.testing.assert_allclose(displacement[row], flow.displacement, atol=PIXELS)
        assert_confidences_agree(sure[row], flow.confidence)
        found = flow.transfer_with_confidence(points[row])
        np.testing.assert_allclose(moved[row], found[0], atol=PIXELS)
        assert_confidences_agree(points_sure[row], found[1])


def test_images_of_a_few_pixels(compiled, confidence):
    matcher, run = compiled
    sources, targets = _images((2, 3), 1, 2), _images((3, 2), 2, 2)
    _, (displacement, _) = run(sources, targets)
    expected = _of_matcher(matcher, confidence, sources, targets)
    for found, flow in zip(displacement, expected, strict=True):
        np.testing.assert_allclose(found, flow.displacement, atol=PIXELS)


def test_the_second_look_changes_the_flow(compiled, confidence):
    matcher, run = compiled
    sources, targets = _images((71, 90), 1, 1), _images((120, 83), 2, 1)
    once = graph_matching.match_images(_describe, sources, targets, SIZE, matcher, confidence)
    _, (displacement, _) = run(sources, targets)
    # Nothing but the second look could change anything.
    assert np.abs(displacement - graph_flow.spread(once)[0]).mean() > 0.1


@pytest.mark.parametrize("matcher", graph_matching.MATCHERS)
def test_scores_without_a_confidence(confidence, matcher):
    sources, targets = _images((60, 70), 5, 1), _images((50, 90), 6, 1)
    flow = graph_closer_look.match_images(
        _describe, sources, targets, SIZE, CLOSER, confidence.probe, matcher
    )
    describe = LookTwice(DeepDescriptor(_describe, SIZE), confidence.probe, CLOSER)
    expected = Matcher(describe, matcher, confidence=None)(sources[0], targets[0])
    displacement, scores = graph_flow.spread(flow)
    np.testing.assert_allclose(displacement[0], expected.displacement, atol=PIXELS)
    np.testing.assert_allclose(scores[0], expected.confidence, atol=1e-4)
