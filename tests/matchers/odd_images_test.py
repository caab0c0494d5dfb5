"""Every descriptor that needs no network with every matcher, on images that nobody expects."""

import numpy as np
import pytest

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.sift import SiftDescriptor
from anchornet_tf.features.whitened_hog import HogDescriptor
from anchornet_tf.matchers.registry import MATCHERS, get_matcher
from tests.matchers.matcher_properties import assert_inside_target


def _random_deep(images):
    """Stands for a network: any image becomes 14 x 14 cells, some of whose channels are zero."""
    rng = np.random.default_rng(0)
    values = np.maximum(rng.normal(size=(len(images), 14, 14, 24)), 0)
    return [FeatureMap(one, image.shape[:2]) for one, image in zip(values, images, strict=True)]


def _flat_deep(images):
    """A network on constant images: the same descriptor everywhere."""
    return [FeatureMap(np.ones((14, 14, 24)), image.shape[:2]) for image in images]


def _two_valued(height, width):
    rows, columns = np.indices((height, width)) // 16
    return np.repeat(255 * ((rows + columns) % 2)[..., np.newaxis], 3, axis=2).astype(np.uint8)


def _noise(height, width):
    return np.random.default_rng(1).integers(0, 256, (height, width, 3)).astype(np.uint8)


DESCRIPTORS = {
    "sift": SiftDescriptor(),
    "hog": HogDescriptor(),
    "random": _random_deep,
    "flat": _flat_deep,
}
IMAGES = {
    "one pixel": _noise(1, 1),
    "one row": _noise(1, 200),
    "narrow": _noise(33, 150),
    "constant": np.full((90, 110, 3), 77, np.uint8),
    "black": np.zeros((60, 50, 3), np.uint8),
    "two-valued": _two_valued(64, 96),
    "tiny": _noise(20, 20),
}


def _matcher(name):
    options = {"num_proposals": 60} if "num_proposals" in MATCHERS.options(name) else {}
    return get_matcher(name, **options)


def _check(source, target, describe, matcher):
    maps = describe([source, target])
    flow = _matcher(matcher)(*maps, source_image=source, target_image=target)
    assert flow.shape == source.shape[:2] and flow.target_size == target.shape[:2]
    if matcher != "none":  # It stays where it is, even where the target ends before.
        assert_inside_target(flow)
    assert flow.valid.any()


@pytest.mark.parametrize("matcher", MATCHERS.names)
@pytest.mark.parametrize("descriptor", DESCRIPTORS)
def test_odd_images_give_a_flow(descriptor, matcher):
    for image in IMAGES.values():
        _check(image, image, DESCRIPTORS[descriptor], matcher)


@pytest.mark.parametrize("matcher", MATCHERS.names)
@pytest.mark.parametrize("descriptor", ["hog", "random"])
def test_odd_images_of_different_kinds_give_a_flow(descriptor, matcher):
    images = list(IMAGES.values())
    for source, target in zip(images, images[1:] + images[:1], strict=True):
        _check(source, target, DESCRIPTORS[descriptor], matcher)


@pytest.mark.parametrize("descriptor", ["sift", "hog"])
@pytest.mark.parametrize("matcher", ["nam", "phm", "lom"])
def test_a_very_narrow_image_is_matched_with_itself(descriptor, matcher):
    image = _noise(33, 700)
    features = DESCRIPTORS[descriptor]([image])[0]
    flow = _matcher(matcher)(features, features, source_image=image, target_image=image)
    assert (flow.confidence > 0).all()
    np.testing.assert_allclose(flow.displacement, 0, atol=1e-5)


def test_constant_images_are_matched_at_once():
    # As many comparisons as a photograph needs would take minutes.
    image = np.full((375, 500, 3), 90, np.uint8)
    features = SiftDescriptor()([image])[0]
    flow = get_matcher("nearest")(features, features)
    assert not flow.displacement.any() and not flow.confidence.any()
