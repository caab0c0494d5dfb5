"""Flows of two looks become one."""

import numpy as np
import pytest

from anchornet_tf import FeatureMap, Flow, Matcher
from anchornet_tf.features.look_twice import Box, FocusedMap
from anchornet_tf.matchers.closer_look import (
    CLOSER_ODDS,
    match_with_closer_look,
    with_closer_look,
)
from anchornet_tf.utils.image_io import ScaledImage

SOURCE, TARGET = Box(0.25, 0.5, 0.75, 1.0), Box(0.0, 0.2, 0.5, 0.6)


def _constant(shape, target_size, vector, **options):
    return Flow.from_grid(np.full((4, 4, 2), vector, np.float32), shape, target_size, **options)


def test_the_closer_look_counts_inside_its_part():
    whole = _constant((80, 100), (60, 200), (1.0, 2.0), confidence=np.full((4, 4), 0.2))
    # Parts of 40 x 50 and 30 x 80 pixels.
    closer = _constant((40, 50), (30, 80), (-3.0, 5.0), confidence=np.full((4, 4), 0.9))
    flow = with_closer_look(whole, closer, SOURCE, TARGET)
    points = np.array([[10.0, 10.0], [70.0, 40.0], [70.0, 70.0]])
    moved, sure = flow.transfer_with_confidence(points)
    # Inside: (70, 40) is (20, 20) of the part, goes to (25, 17), which is (40 + 25, 0 + 17).
    np.testing.assert_allclose(moved, [[12, 11], [65, 17], [72, 59]], atol=1e-4)
    np.testing.assert_allclose(sure, [0.2, 0.9, 0.2], atol=1e-6)
    assert flow.shape == (80, 100) and flow.target_size == (60, 200)


def test_parts_in_other_pixels_agree():
    """A large photograph is described at fewer pixels; the flow is in those of the original."""
    rng = np.random.default_rng(0)
    vectors = rng.uniform(-4, 4, (4, 4, 2)).astype(np.float32)
    flows = []
    for scale in (1, 2):
        whole = _constant((80, 100), (60, 200), (0.0, 0.0))
        closer = Flow.from_grid(vectors * scale, (40 * scale, 50 * scale), (30 * scale, 80 * scale))
        flows.append(with_closer_look(whole, closer, SOURCE, TARGET))
    np.testing.assert_allclose(flows[0].displacement, flows[1].displacement, atol=0.3)


def test_what_is_not_valid_stays_so():
    whole = _constant((80, 100), (60, 200), (0.0, 0.0))
    closer = _constant((40, 50), (30, 80), (0.0, 0.0), valid=np.zeros((4, 4), bool))
    flow = with_closer_look(whole, closer, SOURCE, TARGET)
    assert flow.valid[:15].all() and not flow.valid[25:55, 55:].any()


def test_probabilities_and_scores_are_both_kept():
    whole, closer = (
        _constant(shape, target, (0.0, 0.0), confidence=np.full((4, 4), score)).with_confidence(
            np.full((4, 4), sure)
        )
        for shape, target, score, sure in (
            ((80, 100), (60, 200), 3.0, 0.2),
            ((40, 50), (30, 80), 7.0, 0.9),
        )
    )
    flow = with_closer_look(whole, closer, SOURCE, TARGET)
    assert flow.has_probabilities
    # The odds of the closer look, nine to one, are raised.
    raised = 9 * CLOSER_ODDS / (1 + 9 * CLOSER_ODDS)
    found = [flow.confidence[5, 5], flow.confidence[40, 70]]
    np.testing.assert_allclose(found, [0.2, raised], rtol=1e-5)
    np.testing.assert_allclose([flow.scores[5, 5], flow.scores[40, 70]], [3, 7])


def _focused(rng, box):
    return FocusedMap(rng.random((8, 8, 6)), (64, 64), rng.random((8, 8, 6)), box)


def test_only_pairs_of_two_looks_are_matched_again():
    rng = np.random.default_rng(1)
    plain = FeatureMap(rng.random((8, 8, 6)), (64, 64))
    sources = [_focused(rng, SOURCE), plain, _focused(rng, SOURCE)]
    targets = [_focused(rng, TARGET), _focused(rng, TARGET), plain]
    asked = []

    def match(sources, targets, source_images, target_images):
        asked.append([source.image_size for source in sources])
        assert all(
            image.original_size == features.image_size
            for image, features in zip(
                [*source_images, *target_images], [*sources, *targets], strict=True
            )
        )
        return [
            _constant(source.image_size, target.image_size, (0.0, 0.0))
            for source, target in zip(sources, targets, strict=True)
        ]

    image = ScaledImage(np.zeros((32, 32, 3), np.uint8), (64, 64))
    flows = match_with_closer_look(match, sources, targets, [image] * 3, [image] * 3)
    assert asked == [[(64, 64)] * 3, [(32, 32)]]
    assert [flow.grid_size for flow in flows] == [(64, 64), (4, 4), (4, 4)]


@pytest.mark.parametrize("name", ["hough", "nearest", "dsp"])
def test_every_matcher_of_maps_looks_twice(name):
    """The same image twice: both looks find every place again."""
    rng = np.random.default_rng(2)
    values = rng.standard_normal((16, 16, 12))
    features = FocusedMap(values, (64, 64), rng.standard_normal((16, 16, 12)), SOURCE)
    pixels = rng.integers(0, 255, (64, 64, 3)).astype(np.uint8)
    matcher = Matcher(lambda images: [features for _ in images], name, confidence=None)
    flow = matcher(pixels, pixels)
    assert np.abs(flow.displacement).mean() < 2
