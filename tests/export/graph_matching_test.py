"""Matching in a graph equals matching in Python; the descriptor here is a cheap one."""

import numpy as np
import pytest
import tensorflow as tf

import anchornet_tf
from anchornet_tf.features.feature_map import FeatureMap
from export import graph_flow, graph_matching

SIZE = (48, 64)


def _describe(images):
    """Returns mean colours and mean squared colours of 4 x 4 pixels, `(batch, 12, 16, 6)`."""
    values = tf.concat([images - 128, tf.square(images - 128) / 128], axis=-1)
    return tf.nn.avg_pool2d(values, 4, 4, "VALID")


def _describe_in_python(images):
    resized = [tf.image.resize(image, SIZE, antialias=True)[None] for image in images]
    return [
        FeatureMap(_describe(small)[0].numpy(), image.shape[:2])
        for small, image in zip(resized, images, strict=True)
    ]


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for size in ((71, 90), (30, 131))]


@pytest.fixture(scope="module", params=graph_matching.MATCHERS)
def matched(request, images):
    """Flows of the pair in both directions, from the graph and from Python."""

    @tf.function(input_signature=[tf.TensorSpec((None, None, None, 3), tf.float32)] * 2)
    def run(source, target):
        flow = graph_matching.match_images(_describe, source, target, SIZE, request.param)
        return flow, graph_flow.spread(flow)

    a, b = images
    return [
        (
            run(source[None].astype(np.float32), target[None].astype(np.float32)),
            anchornet_tf.match_pair(source, target, _describe_in_python, request.param),
        )
        for source, target in ((a, b), (b, a))
    ]


def test_the_flow_is_that_of_match_pair(matched):
    for (_, (displacement, confidence)), flow in matched:
        np.testing.assert_allclose(displacement[0], flow.displacement, atol=1e-3)
        np.testing.assert_allclose(confidence[0], flow.confidence, atol=1e-5)


def test_points_are_those_of_the_flow(matched):
    rng = np.random.default_rng(1)
    for (grid, _), flow in matched:
        height, width = flow.shape
        points = rng.uniform(-0.5, [width - 0.5, height - 0.5], (50, 2)).astype(np.float32)
        points[:4] = [[-0.5, -0.5], [0, 0], [width - 1, height - 1], [width - 0.6, 0]]
        grid = graph_flow.GridFlow(*grid)
        moved, confidence = graph_flow.transfer_points(grid, tf.constant(points[None]))
        np.testing.assert_allclose(moved[0], flow.transfer_points(points), atol=2e-3)
        assert confidence.shape == (1, 50)


def test_pairs_of_a_batch_do_not_mix(images):
    a, b = (tf.constant(image[None], tf.float32) for image in images)
    flipped = a[:, ::-1]
    both = graph_matching.match_images(
        _describe, tf.concat([a, flipped], 0), tf.concat([b, b], 0), SIZE
    )
    for row, source in enumerate((a, flipped)):
        alone = graph_matching.match_images(_describe, source, b, SIZE)
        np.testing.assert_allclose(both.displacement[row], alone.displacement[0], atol=1e-3)


def test_unknown_matcher(images):
    with pytest.raises(ValueError, match="Expected a matcher of nearest, hough. Received: 'dsp'"):
        graph_matching.match_images(_describe, images[0][None], images[1][None], SIZE, "dsp")
