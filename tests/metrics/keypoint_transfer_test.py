"""Keypoint transfer on maps with known nearest neighbours, and the sets it is measured on."""

import numpy as np
import pytest

from anchornet_tf.datasets import keypoint_sets
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.metrics.keypoint_transfer import AnnotatedImage, nearest_keypoint_pck
from tests.shared_data import shared_path


def _image(points, visible=None, size=(16, 32), length=10.0):
    visible = np.ones(len(points), bool) if visible is None else np.array(visible)
    return AnnotatedImage(np.zeros((*size, 3), np.uint8), np.float64(points), visible, length)


def test_a_moved_pattern_carries_its_points():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(8, 8, 32)).astype(np.float32)
    # Two cells to the right on a grid of 8 cells over 32 pixels are 8 pixels.
    maps = [FeatureMap(values, (16, 32)), FeatureMap(np.roll(values, 2, axis=1), (16, 32))]
    images = [_image([[5.5, 4.5], [9.5, 8.5]]), _image([[13.5, 4.5], [17.5, 8.5]])]
    np.testing.assert_array_equal(
        nearest_keypoint_pck(images, maps, (0.05, 0.1), cells=8), np.ones((2, 2))
    )
    moved = [images[0], _image([[13.5, 4.5], [29.5, 8.5]])]
    scores = nearest_keypoint_pck(moved, maps, (0.05,), cells=8)
    assert scores[0, 0] == 0.5


def test_only_points_visible_in_both_count():
    values = np.random.default_rng(1).normal(size=(8, 8, 32)).astype(np.float32)
    maps = [FeatureMap(values, (16, 32))] * 3
    points = [[5.5, 4.5], [9.5, 8.5]]
    images = [_image(points, [1, 0]), _image(points, [1, 1]), _image(points, [0, 1])]
    # Of the six ordered pairs, the two between the first and the last share no point.
    assert nearest_keypoint_pck(images, maps, (0.1,), cells=8).shape == (4, 1)


def test_pf_willow():
    sets = keypoint_sets.pf_willow(shared_path("data/pf-willow"))
    assert len(sets) == 10 and all(len(images) == 10 for images in sets.values())
    assert {name for name, _ in sets} == {"bird", "bottle", "car", "motorbike"}
    image = sets["bird", "duck(S)"][0]
    assert image.points.shape == (10, 2) and image.length == np.ptp(image.points, axis=0).max()
    height, width = image.image.shape[:2]
    assert (image.points >= 0).all() and (image.points <= [width - 1, height - 1]).all()


def test_pf_willow_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="PF-WILLOW(.|\n)*Received: "):
        keypoint_sets.pf_willow(tmp_path)


def test_parts_world(tmp_path):
    sets = keypoint_sets.parts_world(["bird"])
    images = sets["bird", "bird"]
    assert len(images) >= 10
    assert len({len(image.points) for image in images}) == 1
    assert np.mean([image.visible.mean() for image in images]) > 0.5
    assert all(0 < image.length <= 224 for image in images)
