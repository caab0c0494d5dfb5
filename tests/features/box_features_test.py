"""Tests of box descriptors cut out of feature maps."""

import numpy as np
import pytest
import scipy.ndimage

from anchornet_tf.features.box_features import crop_boxes, describe_boxes, normalize_descriptors
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.whitened_hog import HogDescriptor


def _map(grid=(6, 9), depth=4, image_size=(48, 72), seed=0):
    values = np.random.default_rng(seed).normal(size=(*grid, depth))
    return FeatureMap(values, image_size)


def _boxes(count=20, image_size=(48, 72), seed=1):
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-10, np.add(image_size[::-1], 10), (count, 2, 2))
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def test_crops_equal_interpolation_at_the_samples():
    features, boxes = _map(), _boxes()
    crops = crop_boxes(features, boxes, num_cells=5)
    assert crops.shape == (20, 5, 5, 4) and crops.dtype == np.float32
    for box, crop in zip(boxes, crops, strict=True):
        parts = (np.arange(5) + 0.5) / 5
        x = box[0] - 0.5 + parts * (box[2] - box[0] + 1)
        y = box[1] - 0.5 + parts * (box[3] - box[1] + 1)
        rows, columns = (y + 0.5) * 6 / 48 - 0.5, (x + 0.5) * 9 / 72 - 0.5
        where = np.meshgrid(rows, columns, indexing="ij")
        for channel in range(4):
            expected = scipy.ndimage.map_coordinates(
                features.values[..., channel], where, order=1, mode="nearest"
            )
            np.testing.assert_allclose(crop[..., channel], expected, atol=1e-5)


def test_the_whole_image_at_grid_size_is_the_map_itself():
    features = _map(grid=(8, 8))
    np.testing.assert_allclose(
        crop_boxes(features, [[0, 0, 71, 47]])[0], features.values, atol=1e-6
    )


def test_one_cell_maps_and_no_boxes_work():
    features = _map(grid=(1, 1))
    crops = crop_boxes(features, [[0, 0, 5, 5]])
    np.testing.assert_allclose(crops, np.broadcast_to(features.values, crops.shape))
    assert crop_boxes(features, []).shape == (0, 8, 8, 4)


def test_descriptors_are_of_length_one_and_centred():
    source, target = np.random.default_rng(0).uniform(1, 2, (2, 30, 16))
    plain_source, plain_target = normalize_descriptors(source, target, centered=False)
    np.testing.assert_allclose(np.linalg.norm(plain_source, axis=1), 1, rtol=1e-5)
    assert (plain_source @ plain_target.T).min() > 0.8
    mean = np.concatenate([source, target]).mean(axis=0)
    expected = (source - mean) / np.linalg.norm(source - mean, axis=1, keepdims=True)
    centred_source, _ = normalize_descriptors(source, target)
    np.testing.assert_allclose(centred_source, expected, atol=1e-5)


def test_constant_maps_give_zeros_not_nan():
    flat = FeatureMap(np.ones((4, 4, 3)), (40, 40))
    boxes = [[0, 0, 20, 20], [5, 5, 39, 39]]
    values = describe_boxes(flat, boxes).values
    for descriptors in normalize_descriptors(values, values):
        np.testing.assert_array_equal(descriptors, 0)


def test_the_length_follows_the_number_of_cells():
    boxes = _boxes(3)
    assert describe_boxes(_map(), boxes).values.shape == (3, 8 * 8 * 4)
    short = describe_boxes(_map(), boxes, num_cells=2)
    assert short.values.shape == (3, 2 * 2 * 4) and not short.comparable
    assert describe_boxes(_map(), []).values.shape == (0, 8 * 8 * 4)


def test_maps_with_box_descriptors_of_their_own_are_asked():
    image = np.random.default_rng(0).integers(0, 256, (48, 72, 3)).astype(np.uint8)
    [features] = HogDescriptor()([image])
    boxes = _boxes(3)
    found = describe_boxes(features, boxes)
    assert found.comparable
    np.testing.assert_array_equal(found.values, features.describe_boxes(boxes))


def test_bad_input_is_refused():
    boxes = [[0, 0, 5, 5]]
    with pytest.raises(ValueError, match="positive integer"):
        crop_boxes(_map(), boxes, num_cells=0)
    with pytest.raises(ValueError, match="x1 <= x2"):
        crop_boxes(_map(), [[5, 0, 0, 5]])
