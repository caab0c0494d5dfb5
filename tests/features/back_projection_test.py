"""Back-projected channels against finite differences, in batches and in graphs."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.features.back_projection import back_project, back_projected_network

_RNG = np.random.default_rng(0)
_FIRST = tf.constant(_RNG.normal(0, 0.4, (3, 3, 3, 4)), tf.float64)
_SECOND = tf.constant(_RNG.normal(0, 0.4, (3, 3, 4, 5)), tf.float64)
IMAGES = _RNG.normal(size=(3, 6, 7, 3))


def network(images):
    """Two taps of a smooth network, the second at half the resolution."""
    first = tf.nn.softplus(tf.nn.conv2d(images, tf.cast(_FIRST, images.dtype), 1, "SAME"))
    second = tf.nn.tanh(tf.nn.conv2d(first, tf.cast(_SECOND, images.dtype), 2, "SAME"))
    return first, second


@pytest.mark.parametrize("tap, channel", [(0, 2), (1, 4)])
def test_maps_are_sums_of_absolute_finite_differences(tap, channel):
    image, step = IMAGES[0], 1e-4

    def total(values):
        return float(tf.reduce_sum(network(tf.constant(values[np.newaxis]))[tap][..., channel]))

    expected = np.zeros((6, 7))
    for place in np.ndindex(*image.shape):
        ahead, behind = image.copy(), image.copy()
        ahead[place] += step
        behind[place] -= step
        expected[place[:2]] += abs(total(ahead) - total(behind)) / (2 * step)
    [maps] = back_project(network, image[np.newaxis], [(tap, channel)])
    np.testing.assert_allclose(maps[0], expected, rtol=1e-6, atol=1e-8)


def test_a_batch_equals_one_image_at_a_time_and_one_channel_at_a_time():
    channels = [(1, 3), (0, 0), (1, 0), (0, 3)]
    together = back_project(network, IMAGES, channels).numpy()
    assert together.shape == (4, 3, 6, 7)
    for place, channel in enumerate(channels):
        for number, image in enumerate(IMAGES):
            alone = back_project(network, image[np.newaxis], [channel])
            np.testing.assert_allclose(together[place, number], alone[0, 0], rtol=1e-12)


def test_a_graph_of_unknown_sizes_gives_the_same():
    compiled = tf.function(
        back_projected_network(network, [(1, 2), (0, 1)]),
        input_signature=[tf.TensorSpec((None, None, None, 3), tf.float64)],
    )
    expected = back_project(network, IMAGES, [(1, 2), (0, 1)])
    np.testing.assert_allclose(compiled(IMAGES), np.moveaxis(expected, 0, -1), rtol=1e-12)
    assert compiled(IMAGES[:1, :4, :5]).shape == (1, 4, 5, 2)


def test_maps_need_not_be_kept():
    peaks = back_project(
        network, IMAGES, [(0, 1), (1, 1)], finish=lambda maps: tf.reduce_max(maps, axis=(1, 2))
    )
    expected = back_project(network, IMAGES, [(0, 1), (1, 1)]).numpy().max(axis=(2, 3))
    np.testing.assert_allclose(peaks, expected)


@pytest.mark.parametrize(
    "channels, message",
    [
        ([], "at least one channel. Received: none"),
        ([(0, 4)], r"taps of \[4, 5\] channels. Received: channel 4 of tap 0"),
        ([(2, 0)], "Received: channel 0 of tap 2"),
        ([(0, -1)], "Received: channel -1 of tap 0"),
    ],
)
def test_channels_that_are_not_there_are_refused(channels, message):
    with pytest.raises(ValueError, match=message):
        back_project(network, IMAGES, channels)
