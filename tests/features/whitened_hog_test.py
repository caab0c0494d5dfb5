"""Tests of the HOG descriptor: its grid and its boxes."""

import numpy as np
import pytest

from anchornet_tf.features.hog import box_hog
from anchornet_tf.features.hog_background import learn_background, shipped_background
from anchornet_tf.features.whitened_hog import HogDescriptor, HogFeatureMap


def _image(size=(50, 75), seed=0):
    return np.random.default_rng(seed).integers(0, 256, (*size, 3)).astype(np.uint8)


def test_grid_covers_the_image_with_cells_of_about_eight_pixels():
    [features] = HogDescriptor()([_image()])
    assert isinstance(features, HogFeatureMap)
    assert features.values.shape == (6, 9, 31)
    assert features.image_size == (50, 75)


def test_an_edge_shows_in_the_cells_it_passes():
    image = np.zeros((64, 64, 3), np.uint8)
    image[:, 36:] = 255  # inside column 4 of 8 cells
    [features] = HogDescriptor()([image])
    energy = features.values[..., 18:27].sum(axis=(0, 2))
    # Bilinear votes reach the cells beside it.
    assert energy.argmax() == 4
    np.testing.assert_allclose(energy[[0, 1, 6, 7]], 0, atol=1e-3)
    assert features.values[..., 18].sum() == pytest.approx(energy.sum(), rel=1e-4)


def test_boxes_are_described_by_whitened_templates():
    image = _image()
    boxes = np.array([[5, 5, 40, 45], [-5, 10, 30, 30]])
    [features] = HogDescriptor()([image])
    expected = shipped_background().whiten(box_hog(image, boxes))
    np.testing.assert_allclose(features.describe_boxes(boxes), expected, rtol=1e-4, atol=1e-4)


def test_a_box_is_most_similar_to_itself():
    boxes = np.array([[5, 5, 40, 45], [20, 10, 60, 40], [0, 0, 30, 30]])
    [features] = HogDescriptor()([_image()])
    descriptors = features.describe_boxes(boxes)
    assert descriptors.dtype == np.float32
    scores = descriptors @ descriptors.T
    np.testing.assert_array_equal(scores.argmax(axis=1), range(3))


def test_own_statistics_can_be_used(tmp_path):
    path = tmp_path / "own.npz"
    learn_background([_image((100, 100), seed=1)]).save(path)
    boxes = np.array([[5, 5, 40, 45]])
    [own] = HogDescriptor(background=path)([_image()])
    [shipped] = HogDescriptor()([_image()])
    assert not np.allclose(own.describe_boxes(boxes), shipped.describe_boxes(boxes))


def test_constant_and_tiny_images_are_finite():
    for size in ((2, 2), (3, 50), (30, 30)):
        image = np.full((*size, 3), 128, np.uint8)
        [features] = HogDescriptor()([image])
        assert np.isfinite(features.values).all()
        assert np.isfinite(features.describe_boxes([[0, 0, 1, 1]])).all()


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"\(height, width, 3\)"):
        HogDescriptor()([np.zeros((20, 20), np.uint8)])
