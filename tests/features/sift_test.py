"""Tests of dense SIFT: VLFeat's output, a plain formula for one descriptor, and bad input."""

import numpy as np
import pytest

from anchornet_tf.features.feature_map import FeatureMap, cell_centers
from anchornet_tf.features.sift import SiftDescriptor, dense_sift, to_gray
from tests.shared_data import shared_path

_ATOL = 3  # Of 255: VLFeat approximates the arc tangent and the square root.


def _golden():
    return np.load(shared_path("golden/feat__tiny_dsift.npz"))


def _random_image(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)


def _one_descriptor(gray, row, column, bin_size, window):
    """The descriptor whose first bin is centred on (row, column), pixel by pixel."""
    gray = gray.astype(np.float64)
    down, across = np.gradient(gray)
    angle = np.arctan2(down, across) % (2 * np.pi) * 8 / (2 * np.pi)
    histogram = np.zeros((4, 4, 8))
    reach = range(1 - bin_size, bin_size)
    for bin_y in range(4):
        for bin_x in range(4):
            for v in reach:
                for u in reach:
                    y = min(max(row + bin_y * bin_size + v, 0), gray.shape[0] - 1)
                    x = min(max(column + bin_x * bin_size + u, 0), gray.shape[1] - 1)
                    weight = (1 - abs(v) / bin_size) * (1 - abs(u) / bin_size)
                    weight *= np.hypot(down[y, x], across[y, x])
                    if window == "gaussian":
                        dy, dx = v + bin_size * (bin_y - 1.5), u + bin_size * (bin_x - 1.5)
                        weight *= np.exp(-0.5 * (dy**2 + dx**2) / (2 * bin_size) ** 2)
                    lower = int(angle[y, x])
                    share = angle[y, x] - lower
                    histogram[bin_y, bin_x, lower % 8] += weight * (1 - share)
                    histogram[bin_y, bin_x, (lower + 1) % 8] += weight * share
            if window == "flat":
                for b in (bin_y, bin_x):
                    taps = [(u + bin_size * (b - 1.5)) / (2 * bin_size) for u in reach]
                    histogram[bin_y, bin_x] *= np.mean(np.exp(-0.5 * np.square(taps)))
    vector = histogram.ravel()
    vector = np.minimum(vector / np.linalg.norm(vector), 0.2)
    return np.minimum(512 * vector / np.linalg.norm(vector), 255)


@pytest.mark.parametrize(
    ("options", "key"),
    [({}, "extract"), ({"padded": True}, "extract_padded")],
)
def test_golden_maps(options, key):
    golden = _golden()
    np.testing.assert_allclose(dense_sift(golden["im"], **options), golden[key], atol=_ATOL)


@pytest.mark.parametrize(("window", "key"), [("flat", "fast_desc"), ("gaussian", "gauss_desc")])
def test_golden_windows(window, key):
    golden = _golden()
    descriptors = dense_sift(golden["gray"], window=window)
    columns_first = descriptors.transpose(1, 0, 2).reshape(-1, 128)
    np.testing.assert_allclose(columns_first.T, golden[key], atol=_ATOL)


def test_golden_gray():
    golden = _golden()
    np.testing.assert_array_equal(to_gray(golden["im"]), golden["gray"])


@pytest.mark.parametrize("window", ["flat", "gaussian"])
@pytest.mark.parametrize("bin_size", [2, 3, 4])
def test_against_one_descriptor(window, bin_size):
    gray = to_gray(_random_image(20, 24))
    descriptors = dense_sift(gray, bin_size=bin_size, window=window)
    assert descriptors.shape == (20 - 3 * bin_size, 24 - 3 * bin_size, 128)
    for row, column in [(0, 0), (3, 5), (descriptors.shape[0] - 1, 2)]:
        expected = _one_descriptor(gray, row, column, bin_size, window)
        np.testing.assert_allclose(descriptors[row, column], expected, atol=0.01)


@pytest.mark.parametrize("step", [2, 3, 5])
def test_step_takes_every_nth_descriptor(step):
    image = _random_image(30, 41)
    np.testing.assert_array_equal(dense_sift(image, step), dense_sift(image)[::step, ::step])


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_descriptor_covers_the_image(step):
    image = _random_image(31, 46)
    [feature_map] = SiftDescriptor(step=step)([image])
    assert isinstance(feature_map, FeatureMap)
    assert feature_map.image_size == (31, 46)
    assert feature_map.grid_size == (-(-31 // step), -(-46 // step))
    every_pixel = dense_sift(image, padded=True)
    rows, columns = (
        np.floor(cell_centers(cells, side) + 0.5).astype(int)
        for cells, side in zip(feature_map.grid_size, (31, 46), strict=True)
    )
    np.testing.assert_array_equal(feature_map.values, every_pixel[rows][:, columns])


def test_padded_and_unpadded_agree_inside():
    image = _random_image(40, 48)
    padded = dense_sift(image, padded=True)
    inside = dense_sift(image)
    # One row more than the gradients at the border, which see the padding.
    np.testing.assert_allclose(padded[10:-10, 10:-10], inside[4:-4, 4:-4], atol=1e-3)


def test_unpadded_descriptor_repeats_the_outermost():
    image = _random_image(40, 48)
    [feature_map] = SiftDescriptor(padded=False)([image])
    inside = dense_sift(image)
    assert feature_map.grid_size == (40, 48)
    np.testing.assert_array_equal(feature_map.values[6:-6, 6:-6], inside)
    np.testing.assert_array_equal(feature_map.values[:6, 6:-6], np.tile(inside[:1], (6, 1, 1)))
    np.testing.assert_array_equal(feature_map.values[-1, -1], inside[-1, -1])


def test_images_of_different_sizes_one_by_one():
    images = [_random_image(20, 30), _random_image(25, 16, seed=1)]
    extract = SiftDescriptor()
    together = extract(images)
    for image, feature_map in zip(images, together, strict=True):
        np.testing.assert_array_equal(feature_map.values, extract([image])[0].values)


def test_norm_and_constant_image():
    descriptors = dense_sift(_random_image(30, 30))
    norms = np.linalg.norm(descriptors, axis=-1)
    assert descriptors.max() <= 255
    np.testing.assert_allclose(norms, 512, rtol=0.02)
    assert not dense_sift(np.full((30, 30), 7, np.uint8)).any()


def test_flipped_image_flips_the_grid():
    image = _random_image(30, 36)
    flipped = dense_sift(image[:, ::-1]).reshape(18, 24, 4, 4, 8)
    # The mirror image of orientation t of 8 is 4 - t.
    mirrored = dense_sift(image)[:, ::-1].reshape(18, 24, 4, 4, 8)[:, :, :, ::-1]
    mirrored = mirrored[..., (4 - np.arange(8)) % 8]
    np.testing.assert_allclose(flipped, mirrored, atol=0.01)


@pytest.mark.parametrize("name", ["step", "bin_size"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "2"])
def test_bad_numbers(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be a positive integer. Received: {name}="):
        SiftDescriptor(**{name: value})


def test_bad_window():
    with pytest.raises(ValueError, match="'flat' or 'gaussian'. Received: window='hann'"):
        dense_sift(_random_image(20, 20), window="hann")


@pytest.mark.parametrize("shape", [(20,), (20, 20, 4), (2, 20, 20, 3)])
def test_bad_shape(shape):
    with pytest.raises(ValueError, match="`image` must have shape .* Received"):
        dense_sift(np.zeros(shape))


def test_too_small():
    assert dense_sift(np.ones((1, 20)), padded=True).shape == (1, 20, 128)
    with pytest.raises(ValueError, match="must not be empty"):
        dense_sift(np.zeros((0, 20)))
    with pytest.raises(ValueError, match="higher and wider than 12 pixels"):
        dense_sift(np.zeros((12, 20)))
    with pytest.raises(ValueError, match="higher and wider than 12 pixels"):
        SiftDescriptor(padded=False)([np.zeros((12, 20))])
    assert SiftDescriptor()([np.zeros((2, 3))])[0].grid_size == (2, 3)


def test_not_finite():
    with pytest.raises(ValueError, match="must be finite"):
        dense_sift(np.full((20, 20), np.nan))
