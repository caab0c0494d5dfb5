"""Tests of the random changes to training images."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.training import augmentation
from anchornet_tf.training.augmentation import Augmentation


def _picture(height=40, width=60, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def _seeds(count, first=0):
    return [np.array([first, i], np.int64) for i in range(count)]


def _for_seeds(function, count):
    """Stacks `function(seed)` for many seeds; as one graph, which is far faster than one by one."""

    @tf.function
    def run(seeds):
        return tf.map_fn(function, seeds, fn_output_signature=function(seeds[0]).dtype)

    return run(tf.constant(_seeds(count)))


def _windows(height, width, count=400, area=(0.25, 1.0), aspect=(3 / 4, 4 / 3)):
    def draw(seed):
        return tf.stack(augmentation.crop_window(height, width, seed, area, aspect))

    return _for_seeds(draw, count).numpy().T


def test_augment_in_a_graph_of_unknown_size():
    spec = [tf.TensorSpec((None, None, 3), tf.uint8), tf.TensorSpec((2,), tf.int64)]
    graph = tf.function(lambda image, seed: augmentation.augment(image, 32, seed), spec)
    assert graph.get_concrete_function().output_shapes == (32, 32, 3)
    for image in (_picture(), _picture(200, 31), _picture(1, 1), _picture(1, 50)):
        changed = graph(image, _seeds(1)[0])
        assert changed.dtype == tf.float32
        assert changed.shape == (32, 32, 3)
        assert changed.numpy().min() >= 0 and changed.numpy().max() <= 255


def test_same_seed_same_pixels_other_seed_other_pixels():
    image = _picture()
    first, again, other = (
        augmentation.augment(image, 24, np.array(seed, np.int64)).numpy()
        for seed in ([3, 4], [3, 4], [3, 5])
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1


def test_windows_lie_in_the_image_and_keep_their_ranges():
    height, width = 200, 300
    top, left, window_height, window_width = _windows(height, width)
    assert min(top.min(), left.min()) == 0
    assert (top + window_height <= height).all() and (left + window_width <= width).all()
    share = window_height * window_width / (height * width)
    # Whole pixels move the share and the aspect by about a percent.
    assert share.min() > 0.245 and share.min() < 0.27 and share.max() > 0.97 and share.max() <= 1
    aspect = window_width / window_height
    inside = share < 0.6
    assert 0.74 < aspect[inside].min() < 0.78 and 1.3 < aspect[inside].max() < 1.35


def test_window_area_and_place_are_uniform():
    top, _, window_height, window_width = _windows(200, 200, count=1000)
    share = window_height * window_width / 200**2
    quarters, _ = np.histogram(share, bins=4, range=(0.25, 1.0))
    # 250 each, deviation 14.
    assert np.abs(quarters - 250).max() < 60
    small = share < 0.5
    place = top[small] / (200 - window_height[small])
    assert 0.45 < place.mean() < 0.55 and place.min() < 0.05 and place.max() > 0.95


def test_windows_of_an_image_too_long_for_any_aspect():
    top, left, window_height, window_width = _windows(10, 400, area=(0.5, 1.0))
    share = window_height * window_width / (10 * 400)
    assert share.min() > 0.45 and share.max() <= 1
    assert (top + window_height <= 10).all() and (left + window_width <= 400).all()


def test_whole_window_is_the_plain_resize():
    image = _picture(50, 50)
    crop = augmentation.random_resized_crop(image, 16, _seeds(1)[0], (1.0, 1.0), (1.0, 1.0))
    np.testing.assert_allclose(crop, augmentation.evaluation_resize(image, 16))


def test_flips_half_of_the_time():
    image = tf.constant(_picture(4, 5), tf.float32)
    results = _for_seeds(lambda seed: augmentation.random_flip(image, seed), 300).numpy()
    is_mirrored = (results == image.numpy()[:, ::-1]).all(axis=(1, 2, 3))
    is_same = (results == image.numpy()).all(axis=(1, 2, 3))
    assert (is_mirrored ^ is_same).all()
    # 150, deviation 9.
    assert 110 < is_mirrored.sum() < 190


@pytest.mark.parametrize("probability, mirrored", [(0.0, False), (1.0, True)])
def test_flip_probability(probability, mirrored):
    image = _picture(4, 5)
    for seed in _seeds(5):
        result = augmentation.random_flip(image, seed, probability).numpy()
        np.testing.assert_array_equal(result, image[:, ::-1] if mirrored else image)


def _draws_of_jitter(seed):
    draws = tf.random.stateless_uniform((3,), seed, alg="philox").numpy() * 2 - 1
    normal_seed = tf.random.experimental.stateless_fold_in(seed, 1, alg="philox")
    return draws, tf.random.stateless_normal((3,), normal_seed, alg="philox").numpy()


def test_colour_jitter_is_four_changes_one_after_the_other():
    image = _picture().astype(np.float64)
    seed = tf.constant([7, 9], tf.int64)
    (bright, contrasting, saturated), normal = _draws_of_jitter(seed)
    luma = np.array([0.2989, 0.5870, 0.1140])
    grey = (image @ luma)[..., np.newaxis]
    expected = grey + (1 + 0.3 * saturated) * (image - grey)
    expected = expected * (1 + 0.2 * bright)
    mean = (expected @ luma).mean()
    # Luma weights add up to 0.9999, which the mean of grey sees twice.
    expected = mean + (1 + 0.4 * contrasting) * (expected - mean)
    axes = np.array(
        [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
    )
    expected = expected + 255 * axes @ (0.1 * normal * [0.2175, 0.0188, 0.0045])
    found = augmentation.colour_jitter(image.astype(np.float32), seed, 0.2, 0.4, 0.3, 0.1)
    np.testing.assert_allclose(found, np.clip(expected, 0, 255), atol=0.05)


def test_no_jitter_changes_nothing():
    image = _picture().astype(np.float32)
    found = augmentation.colour_jitter(image, _seeds(1)[0], 0.0, 0.0, 0.0, 0.0)
    np.testing.assert_allclose(found, image, atol=1e-4)


def test_brightness_keeps_its_range():
    grey = np.full((2, 2, 3), 100, np.float32)
    levels = _for_seeds(
        lambda seed: augmentation.colour_jitter(grey, seed, 0.4, 0.0, 0.0, 0.0)[0, 0, 0], 200
    ).numpy()
    assert 59.99 < levels.min() < 65 and 135 < levels.max() < 140.01


def test_evaluation_resize():
    image = _picture(8, 12)
    squashed = augmentation.evaluation_resize(image, 4)
    assert squashed.dtype == tf.float32 and squashed.shape == (4, 4, 3)
    constant = augmentation.evaluation_resize(np.full((3, 500, 3), 77, np.uint8), 16).numpy()
    np.testing.assert_allclose(constant, 77, rtol=1e-5)
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[:, ::4] = 240
    # Sampling without averaging would give values far from the mean of 60.
    inner = augmentation.evaluation_resize(stripes, 8).numpy()[:, 1:-1]
    np.testing.assert_allclose(inner, 60, atol=2)
    np.testing.assert_array_equal(augmentation.evaluation_resize(image[:8, :8], 8), image[:8, :8])


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"area_range": (0.0, 1.0)}, r"Received: area_range=\(0.0, 1.0\)"),
        ({"area_range": (0.5, 0.2)}, r"Received: area_range=\(0.5, 0.2\)"),
        ({"area_range": (0.5, 1.2)}, r"Received: area_range=\(0.5, 1.2\)"),
        ({"aspect_range": (2.0, 1.0)}, r"Received: aspect_range=\(2.0, 1.0\)"),
        ({"flip_probability": 1.5}, "Received: flip_probability=1.5"),
        ({"brightness": -0.1}, "Received: brightness=-0.1"),
        ({"lighting": -1.0}, "Received: lighting=-1.0"),
    ],
)
def test_refuses_settings_out_of_bounds(settings, message):
    with pytest.raises(ValueError, match=message):
        Augmentation(**settings)
