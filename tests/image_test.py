"""Tests of blur, warp and point sampling against plain NumPy formulas."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf import image as image_ops

_NUMPY_MODES = {"REFLECT": "reflect", "SYMMETRIC": "symmetric", "CONSTANT": "constant"}


def _random(*shape, seed=0):
    return np.random.default_rng(seed).uniform(size=shape).astype(np.float32)


def _kernel(size, sigma):
    offsets = np.arange(size) - (size - 1) // 2
    weights = np.exp(-(offsets**2) / (2.0 * sigma**2))
    return weights / weights.sum()


def _blur(image, filter_shape, sigma, padding, constant=0.0):
    """Sums shifted copies of a padded `(height, width)` image, in float64."""
    (rows, columns), (sigma_y, sigma_x) = filter_shape, sigma
    top, left = (rows - 1) // 2, (columns - 1) // 2
    pads = [(top, rows - 1 - top), (left, columns - 1 - left)]
    extra = {"constant_values": constant} if padding == "CONSTANT" else {}
    padded = np.pad(image.astype(np.float64), pads, mode=_NUMPY_MODES[padding], **extra)
    height, width = image.shape
    blurred = np.zeros((height, width))
    for i, weight_y in enumerate(_kernel(rows, sigma_y)):
        for j, weight_x in enumerate(_kernel(columns, sigma_x)):
            blurred += weight_y * weight_x * padded[i : i + height, j : j + width]
    return blurred


def _sample(grid, y, x):
    """Bilinear value of a `(height, width, channels)` grid at one point, in float64."""
    height, width = grid.shape[:2]
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    i, j = min(int(y), height - 2), min(int(x), width - 2)
    weights_y, weights_x = [1 - (y - i), y - i], [1 - (x - j), x - j]
    return np.einsum(
        "i,j,ijc->c", weights_y, weights_x, grid[i : i + 2, j : j + 2].astype(np.float64)
    )


def _warp(images, flows):
    warped = np.zeros(images.shape)
    for b, y, x in np.ndindex(images.shape[:3]):
        dy, dx = flows[b, y, x]
        warped[b, y, x] = _sample(images[b], y - float(dy), x - float(dx))
    return warped


def _assert_gradients(function, *inputs, directions=8, step=1e-6):
    """Compares the gradient with respect to each input with differences along random directions."""
    random = np.random.default_rng(7)
    inputs = [tf.constant(x, tf.float64) for x in inputs]
    weights = random.normal(size=function(*inputs).shape)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = tf.reduce_sum(weights * function(*inputs))
    for i, gradient in enumerate(tape.gradient(loss, inputs)):
        assert np.count_nonzero(gradient) > gradient.shape.num_elements() / 4
        for _ in range(directions):
            direction = random.normal(size=gradient.shape)
            ahead, behind = (
                np.sum(weights * function(*inputs[:i], inputs[i] + s * direction, *inputs[i + 1 :]))
                for s in (step, -step)
            )
            expected = (ahead - behind) / (2 * step)
            np.testing.assert_allclose(np.sum(gradient * direction), expected, atol=1e-7)


def _with_unknown_sizes(function, *inputs):
    """Runs `function` in a graph that knows nothing but the ranks of its inputs."""
    signature = [tf.TensorSpec([None] * np.ndim(x), np.asarray(x).dtype) for x in inputs]
    return tf.function(function, input_signature=signature)(*inputs)


# gaussian_filter2d


@pytest.mark.parametrize("padding", ["REFLECT", "CONSTANT", "SYMMETRIC"])
@pytest.mark.parametrize("filter_shape", [(3, 3), (5, 3), (4, 2), (1, 7), (1, 1)])
def test_blur_is_the_formula(padding, filter_shape):
    images = _random(2, 9, 7, 3)
    blurred = image_ops.gaussian_filter2d(images, filter_shape, (1.3, 0.7), padding, 0.5)
    assert blurred.dtype == tf.float32
    for b in range(2):
        for c in range(3):
            expected = _blur(images[b, :, :, c], filter_shape, (1.3, 0.7), padding, 0.5)
            np.testing.assert_allclose(blurred[b, :, :, c], expected, atol=1e-6)


def test_blur_defaults_to_three_by_three_reflected_sigma_one():
    image = _random(6, 5)
    expected = _blur(image, (3, 3), (1.0, 1.0), "REFLECT")
    np.testing.assert_allclose(image_ops.gaussian_filter2d(image), expected, atol=1e-6)
    np.testing.assert_allclose(image_ops.gaussian_filter2d(image, 3, 1), expected, atol=1e-6)


@pytest.mark.parametrize("unknown", [False, True])
def test_blur_takes_ranks_two_to_four(unknown):
    images = _random(1, 8, 6, 1)
    expected = _blur(images[0, :, :, 0], (3, 3), (1.0, 1.0), "REFLECT")
    for image in (images, images[0], images[0, :, :, 0]):
        if unknown:
            blurred = _with_unknown_sizes(image_ops.gaussian_filter2d, image)
        else:
            blurred = image_ops.gaussian_filter2d(image)
        assert blurred.shape == image.shape
        np.testing.assert_allclose(np.reshape(blurred, (8, 6)), expected, atol=1e-6)


@pytest.mark.parametrize("padding", ["REFLECT", "CONSTANT", "SYMMETRIC"])
def test_blur_in_a_graph_of_unknown_sizes(padding):
    images = _random(2, 9, 7, 3)
    arguments = ((5, 4), (1.3, 0.7), padding, 0.5)
    blurred = _with_unknown_sizes(lambda x: image_ops.gaussian_filter2d(x, *arguments), images)
    expected = image_ops.gaussian_filter2d(images, *arguments)
    np.testing.assert_allclose(blurred, expected, atol=1e-7)


def test_blur_keeps_the_sizes_that_are_known():
    @tf.function(input_signature=[tf.TensorSpec([None, None, 8, 3])])
    def blur(images):
        blurred = image_ops.gaussian_filter2d(images)
        assert blurred.shape.as_list() == [None, None, 8, 3]
        return blurred

    assert blur(_random(1, 5, 8, 3)).shape == (1, 5, 8, 3)


def test_blur_by_hand():
    image = np.zeros((5, 5), np.float32)
    image[2, 2] = 1.0
    side = np.exp(-0.5)
    kernel = np.array([side, 1.0, side]) / (1.0 + 2.0 * side)
    expected = np.zeros((5, 5))
    expected[1:4, 1:4] = np.outer(kernel, kernel)
    np.testing.assert_allclose(image_ops.gaussian_filter2d(image), expected, atol=1e-7)


def test_sigma_is_down_then_across_and_zero_does_nothing():
    image = _random(7, 8)
    np.testing.assert_array_equal(image_ops.gaussian_filter2d(image, 5, 0.0), image)
    np.testing.assert_array_equal(image_ops.gaussian_filter2d(image, 5, 1e-200), image)
    down = image_ops.gaussian_filter2d(image, (3, 5), (1.0, 0.0))
    expected = _blur(image, (3, 1), (1.0, 1.0), "REFLECT")
    np.testing.assert_allclose(down, expected, atol=1e-6)


@pytest.mark.parametrize(
    "dtype,tolerance", [("float64", 1e-12), ("float16", 2e-3), ("bfloat16", 2e-2)]
)
def test_blur_keeps_floating_types(dtype, tolerance):
    image = tf.cast(_random(7, 8).astype(np.float64), dtype)
    blurred = image_ops.gaussian_filter2d(image, 5, 1.5)
    assert blurred.dtype == dtype
    expected = _blur(np.asarray(tf.cast(image, tf.float64)), (5, 5), (1.5, 1.5), "REFLECT")
    np.testing.assert_allclose(tf.cast(blurred, tf.float64), expected, atol=tolerance)


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_blur_truncates_integers(dtype):
    image = (255 * _random(9, 8)).astype(dtype)
    blurred = image_ops.gaussian_filter2d(image, 5, 1.5)
    assert blurred.dtype == dtype
    # No value of this seed falls within rounding of a whole number.
    expected = np.floor(_blur(image, (5, 5), (1.5, 1.5), "REFLECT"))
    np.testing.assert_array_equal(blurred, expected)


def test_blur_accepts_padding_in_small_letters():
    image = _random(5, 5)
    np.testing.assert_array_equal(
        image_ops.gaussian_filter2d(image, padding="symmetric"),
        image_ops.gaussian_filter2d(image, padding="SYMMETRIC"),
    )


@pytest.mark.parametrize("padding", ["REFLECT", "CONSTANT", "SYMMETRIC"])
def test_blur_gradients(padding):
    _assert_gradients(
        lambda x: image_ops.gaussian_filter2d(x, (3, 4), (1.3, 0.7), padding, 0.5),
        _random(2, 5, 4, 2),
    )


@pytest.mark.parametrize(
    "arguments,match",
    [
        ({"filter_shape": 0}, "`filter_shape` must be .* Received: filter_shape=0"),
        ({"filter_shape": 3.0}, "`filter_shape`"),
        ({"filter_shape": (3, 3, 3)}, "`filter_shape`"),
        ({"filter_shape": "33"}, "`filter_shape`"),
        ({"sigma": -1.0}, "`sigma` must be .* Received: sigma=-1.0"),
        ({"sigma": float("nan")}, "`sigma`"),
        ({"sigma": float("inf")}, "`sigma`"),
        ({"sigma": (1.0,)}, "`sigma`"),
        ({"sigma": None}, "`sigma`"),
        ({"padding": "SAME"}, "`padding` must be one of .* Received: padding='SAME'"),
        ({"padding": None}, "`padding`"),
        ({"filter_shape": (13, 3)}, "height of at least 7 .* Received: shape"),
        ({"filter_shape": (3, 14)}, "width of at least 8 .* Received: shape"),
        ({"filter_shape": 15, "padding": "SYMMETRIC"}, "height of at least 7"),
    ],
)
def test_blur_refuses_bad_arguments(arguments, match):
    with pytest.raises(ValueError, match=match):
        image_ops.gaussian_filter2d(_random(6, 6), **arguments)


def test_blur_reflects_as_far_as_the_image_goes():
    image = _random(6, 6)
    for padding, size in (("REFLECT", 11), ("SYMMETRIC", 13), ("CONSTANT", 15)):
        blurred = image_ops.gaussian_filter2d(image, size, 2.0, padding)
        expected = _blur(image, (size, size), (2.0, 2.0), padding)
        np.testing.assert_allclose(blurred, expected, atol=1e-6)


def test_blur_refuses_bad_images():
    for shape in ((6,), (1, 1, 6, 6, 1)):
        with pytest.raises(ValueError, match="2, 3 or 4 dimensions. Received: shape="):
            image_ops.gaussian_filter2d(_random(*shape))
    with pytest.raises(TypeError, match="real numbers. Received: dtype=string"):
        image_ops.gaussian_filter2d([["a"]])
    with pytest.raises(TypeError, match="real numbers. Received: dtype=complex64"):
        image_ops.gaussian_filter2d(np.ones((3, 3), np.complex64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="height of at least 2"):
        _with_unknown_sizes(image_ops.gaussian_filter2d, _random(1, 6))


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("filter_shape", [(3, 3), (4, 2), (1, 7), (25, 31)])
def test_without_padding_the_weights_inside_sum_to_one(filter_shape, unknown):
    images = _random(2, 9, 7, 3)

    def blur(x, padding="NONE"):
        return image_ops.gaussian_filter2d(x, filter_shape, (1.3, 0.7), padding)

    blurred = _with_unknown_sizes(blur, images) if unknown else blur(images)
    # What the image and a mask of ones become with zeros around them, which the parity with
    # tensorflow-addons covers.
    expected = blur(images, "CONSTANT") / blur(np.ones_like(images), "CONSTANT")
    np.testing.assert_allclose(blurred, expected, atol=1e-6)
    for image in (images[0], images[0, :, :, 0]):
        assert blur(image).shape == image.shape
    np.testing.assert_allclose(blur(np.ones((4, 5), np.float64)), 1, rtol=1e-12)


def test_without_padding_sigma_may_be_zero():
    image = _random(7, 8)
    for sigma in (0.0, 1e-200):
        blurred = image_ops.gaussian_filter2d(image, 5, sigma, "NONE")
        np.testing.assert_array_equal(blurred, image)


def test_blur_without_padding_has_gradients():
    _assert_gradients(
        lambda x: image_ops.gaussian_filter2d(x, (3, 4), (1.3, 0.7), "NONE"), _random(2, 5, 4, 2)
    )


# gaussian_smoothing


@pytest.mark.parametrize("sigma", [0.6, 2.0, 9.0])
def test_smoothing_weighs_the_whole_map(sigma):
    maps = _random(2, 8, 6, 3)
    matrices = []
    for size in (8, 6):
        weights = np.exp(-(np.subtract.outer(np.arange(size), np.arange(size)) ** 2) / 2 / sigma**2)
        matrices.append(weights / weights.sum(axis=1, keepdims=True))
    expected = np.einsum("yi,xj,bijc->byxc", *matrices, maps)
    np.testing.assert_allclose(image_ops.gaussian_smoothing(maps, sigma), expected, atol=1e-6)


def test_smoothing_by_nothing():
    maps = _random(1, 4, 4, 2)
    np.testing.assert_array_equal(image_ops.gaussian_smoothing(maps, 0), maps)
    with pytest.raises(ValueError, match="`sigma` must be .*Received: sigma=-1"):
        image_ops.gaussian_smoothing(maps, -1)


# interpolate_bilinear


def _points(batch, points, height, width, seed=1):
    """Points inside and up to two pixels outside the grid, as (y, x)."""
    uniform = np.random.default_rng(seed).uniform(size=(batch, points, 2))
    return (uniform * [height + 3, width + 3] - 2).astype(np.float32)


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_interpolation_is_the_formula(unknown, indexing):
    grid, points = _random(2, 5, 8, 3), _points(2, 40, 5, 8)
    given = points if indexing == "ij" else points[..., ::-1].copy()

    def function(grid, points):
        return image_ops.interpolate_bilinear(grid, points, indexing)

    values = _with_unknown_sizes(function, grid, given) if unknown else function(grid, given)
    expected = [[_sample(g, y, x) for y, x in p] for g, p in zip(grid, points, strict=True)]
    np.testing.assert_allclose(values, expected, atol=1e-6)


def test_interpolation_by_hand():
    grid = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    # On a pixel, between two, between four, the last pixel, beyond two corners, infinitely far.
    points = [[1, 2], [1, 2.5], [0.5, 0.5], [2, 3], [-4, -1], [7, 9], [np.inf, -np.inf]]
    values = image_ops.interpolate_bilinear(grid, np.array([points], np.float32))
    np.testing.assert_allclose(values[0, :, 0], [6, 6.5, 2.5, 11, 0, 11, 8])


def test_interpolation_of_nan_is_nan():
    grid = _random(1, 3, 4, 2)
    points = np.array([[[np.nan, 1.0], [1.0, np.nan], [1.0, 1.0]]], np.float32)
    for values in (
        image_ops.interpolate_bilinear(grid, points),
        _with_unknown_sizes(image_ops.interpolate_bilinear, grid, points),
    ):
        assert np.isnan(values[0, :2]).all()
        np.testing.assert_allclose(values[0, 2], grid[0, 1, 1])


def test_interpolation_at_no_points():
    values = image_ops.interpolate_bilinear(_random(2, 3, 4, 5), np.zeros((2, 0, 2), np.float32))
    assert values.shape == (2, 0, 5)


def test_interpolation_gradients():
    _assert_gradients(
        image_ops.interpolate_bilinear, _random(2, 4, 3, 2), _points(2, 6, 4, 3, seed=3)
    )


def test_gradient_at_a_pixel_is_that_of_tensorflow_addons():
    grid = tf.constant(np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1))
    points = tf.constant([[[1.0, 1.0], [1.5, 2.0], [0.0, 0.0], [3.0, 3.0], [-1.0, 2.5]]])
    with tf.GradientTape() as tape:
        tape.watch(points)
        values = image_ops.interpolate_bilinear(grid, points)
    expected = [[0, 0], [4, 0], [0, 0], [4, 1], [0, 1]]
    np.testing.assert_allclose(tape.gradient(values, points)[0], expected)


@pytest.mark.parametrize(
    "grid,points,error,match",
    [
        (np.ones((1, 1, 4, 1)), np.ones((1, 1, 2)), ValueError, "height of at least 2"),
        (np.ones((1, 4, 1, 1)), np.ones((1, 1, 2)), ValueError, "width of at least 2"),
        (np.ones((4, 4, 1)), np.ones((1, 1, 2)), ValueError, "`grid` must have 4 dimensions"),
        (np.ones((1, 4, 4, 1)), np.ones((1, 2)), ValueError, "`query_points` must have 3 dim"),
        (np.ones((1, 4, 4, 1)), np.ones((1, 1, 3)), ValueError, r"must have shape \(batch, p"),
        (np.ones((2, 4, 4, 1)), np.ones((1, 1, 2)), ValueError, "one batch size. Received"),
        (np.ones((1, 4, 4, 1), int), np.ones((1, 1, 2)), TypeError, "`grid` must be floating"),
        (np.ones((1, 4, 4, 1)), np.ones((1, 1, 2), int), TypeError, "Received: dtype=int64"),
    ],
)
def test_interpolation_refuses_bad_input(grid, points, error, match):
    with pytest.raises(error, match=match):
        image_ops.interpolate_bilinear(grid, points)
    # A type and a rank are known to every graph: only what depends on sizes is found when it runs.
    sizes_only = (ValueError, tf.errors.InvalidArgumentError) if error is ValueError else error
    with pytest.raises(sizes_only):
        _with_unknown_sizes(image_ops.interpolate_bilinear, grid, points)


def test_interpolation_refuses_unknown_indexing():
    with pytest.raises(ValueError, match="'ij' or 'xy'. Received: indexing='yx'"):
        image_ops.interpolate_bilinear(np.ones((1, 4, 4, 1)), np.ones((1, 1, 2)), "yx")


# dense_image_warp


@pytest.mark.parametrize("unknown", [False, True])
def test_warp_is_the_formula(unknown):
    images = _random(2, 5, 6, 3)
    flows = np.random.default_rng(2).uniform(-3, 3, (2, 5, 6, 2)).astype(np.float32)
    if unknown:
        warped = _with_unknown_sizes(image_ops.dense_image_warp, images, flows)
    else:
        warped = image_ops.dense_image_warp(images, flows)
    np.testing.assert_allclose(warped, _warp(images, flows), atol=2e-6)


def test_warp_by_hand():
    image = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    np.testing.assert_array_equal(image_ops.dense_image_warp(image, np.zeros((1, 3, 4, 2))), image)
    flow = np.zeros((1, 3, 4, 2), np.float32)
    flow[..., 0], flow[..., 1] = 1, -1  # down by one, left by one
    expected = [[1, 2, 3, 3], [1, 2, 3, 3], [5, 6, 7, 7]]
    np.testing.assert_array_equal(image_ops.dense_image_warp(image, flow)[0, :, :, 0], expected)


@pytest.mark.parametrize("image_dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("flow_dtype", ["float16", "bfloat16", "float64"])
def test_warp_takes_types_that_differ(image_dtype, flow_dtype):
    # bfloat16 cannot hold the numbers of the last columns: positions need float32.
    image = tf.cast(tf.range(600)[tf.newaxis, tf.newaxis, :, tf.newaxis], image_dtype)
    image = tf.tile(image, [1, 2, 1, 1])
    flow = tf.ones((1, 2, 600, 2), flow_dtype)
    warped = image_ops.dense_image_warp(image, flow)
    assert warped.dtype == image_dtype
    np.testing.assert_array_equal(warped[0, 1, 1:, 0], np.arange(599))


def test_warp_keeps_the_sizes_that_are_known():
    signature = [tf.TensorSpec([None, None, 6, 3]), tf.TensorSpec([2, None, None, None])]

    @tf.function(input_signature=signature)
    def warp(images, flows):
        warped = image_ops.dense_image_warp(images, flows)
        assert warped.shape.as_list() == [None, None, 6, 3]
        return warped

    assert warp(_random(2, 5, 6, 3), np.zeros((2, 5, 6, 2), np.float32)).shape == (2, 5, 6, 3)


def test_warp_gradients():
    flows = np.random.default_rng(4).uniform(-1.5, 1.5, (2, 4, 3, 2))
    _assert_gradients(image_ops.dense_image_warp, _random(2, 4, 3, 2), flows)


def test_gradients_in_a_graph_of_unknown_sizes_are_those_of_eager_mode():
    images, flows = _random(2, 5, 6, 3), _random(2, 5, 6, 2, seed=5) * 3 - 1.5

    def gradients(images, flows):
        with tf.GradientTape() as tape:
            tape.watch([images, flows])
            warped = image_ops.dense_image_warp(images, flows)
            loss = tf.reduce_sum(image_ops.gaussian_filter2d(warped, 5) ** 2)
        return tape.gradient(loss, [images, flows])

    eager = gradients(tf.constant(images), tf.constant(flows))
    graph = _with_unknown_sizes(gradients, images, flows)
    for ours, expected in zip(graph, eager, strict=True):
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(ours, expected, atol=1e-5)


@pytest.mark.parametrize(
    "image,flow,error,match",
    [
        (np.ones((4, 4, 1)), np.ones((1, 4, 4, 2)), ValueError, "`image` must have 4 dim"),
        (np.ones((1, 4, 4, 1)), np.ones((4, 4, 2)), ValueError, "`flow` must have 4 dim"),
        (np.ones((1, 4, 4, 1)), np.ones((1, 4, 4, 3)), ValueError, r"`flow` must have shape \("),
        (np.ones((1, 4, 4, 1)), np.ones((1, 4, 5, 2)), ValueError, "one batch size, height and"),
        (np.ones((2, 4, 4, 1)), np.ones((1, 4, 4, 2)), ValueError, "Received: shapes"),
        (np.ones((1, 1, 4, 1)), np.ones((1, 1, 4, 2)), ValueError, "height of at least 2"),
        (np.ones((1, 4, 4, 1), np.uint8), np.ones((1, 4, 4, 2)), TypeError, "dtype=uint8"),
        (np.ones((1, 4, 4, 1)), np.ones((1, 4, 4, 2), int), TypeError, "`flow` must be float"),
    ],
)
def test_warp_refuses_bad_input(image, flow, error, match):
    with pytest.raises(error, match=match):
        image_ops.dense_image_warp(image, flow)
    sizes_only = (ValueError, tf.errors.InvalidArgumentError) if error is ValueError else error
    with pytest.raises(sizes_only):
        _with_unknown_sizes(image_ops.dense_image_warp, image, flow)
