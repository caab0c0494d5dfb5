"""Blur, warp and point sampling under the names and argument orders of tensorflow-addons.

tensorflow-addons no longer imports beside current TensorFlow, so its three image functions that
matter here are rebuilt on plain TensorFlow operations, with the same values and gradients. The
rest of the package stands on them: the smoothing of response maps, warped images, pictures.

Keras has close relatives that do not do the same: `keras.ops.image.gaussian_blur` pads with zeros
and centres a kernel of even size between two pixels, and `keras.ops.image.map_coordinates` refuses
images whose size is unknown when the graph is built.
"""

import math
import numbers
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

_PADDINGS = ("REFLECT", "CONSTANT", "SYMMETRIC", "NONE")
# What a Gaussian weighs beyond is lost in the rounding of float32.
_SIGMAS_IN_FLOAT32 = 6


def gaussian_filter2d(
    image: tf.types.experimental.TensorLike,
    filter_shape: int | Sequence[int] = (3, 3),
    sigma: float | Sequence[float] = 1.0,
    padding: str = "REFLECT",
    constant_values: float = 0,
    name: str | None = None,
) -> tf.Tensor:
    """Blurs images with a Gaussian that is cut to `filter_shape` and sums to one.

    Args:
        image: Tensor of shape `(height, width)`, `(height, width, channels)` or
            `(batch, height, width, channels)`. In a graph all sizes may be unknown, but not the
            rank. Integer images are blurred in float32 and truncated.
        filter_shape: int or pair of ints, the height and width of the filter. An even size reaches
            one pixel further down, or to the right.
        sigma: float or pair of floats, the standard deviation down and across, in pixels. Zero
            leaves that direction as it is.
        padding: `"REFLECT"`, `"CONSTANT"` or `"SYMMETRIC"`, what `tf.pad` puts around the image. Or
            `"NONE"`, which tensorflow-addons does not have: nothing is put around it, and at the
            border the weights inside the image are scaled to sum to one. That is done by two matrix
            products, which are fast for maps of tens of cells, not for photographs.
        constant_values: scalar, the value around the image for `"CONSTANT"`.
        name: Optional name of the operation.

    Returns:
        Tensor of the shape and type of `image`.

    Raises:
        ValueError: If `filter_shape`, `sigma`, `padding` or the rank of `image` is not as above, or
            if the image is too small to be reflected as far as the filter reaches. Sizes known
            only when the graph runs raise `tf.errors.InvalidArgumentError` instead.
        TypeError: If `image` holds no real numbers.

    Example:

    ```python
    import numpy as np
    from anchornet_tf.image import gaussian_filter2d

    image = np.zeros((5, 5), "float32")
    image[2, 2] = 1.0
    assert round(float(gaussian_filter2d(image)[2, 2]), 4) == 0.2042
    ```
    """
    filter_shape, sigma = _filter_shape_pair(filter_shape), _sigma_pair(sigma)
    mode = padding.upper() if isinstance(padding, str) else padding
    if mode not in _PADDINGS:
        raise ValueError(f"`padding` must be one of {_PADDINGS}. Received: padding={padding!r}")

    with tf.name_scope(name or "gaussian_filter2d"):
        image = tf.convert_to_tensor(image)
        rank = image.shape.rank
        if rank not in (2, 3, 4):
            raise ValueError(
                f"`image` must have 2, 3 or 4 dimensions. Received: shape={image.shape}"
            )
        if not (image.dtype.is_floating or image.dtype.is_integer or image.dtype.is_bool):
            raise TypeError(f"`image` must hold real numbers. Received: dtype={image.dtype.name}")
        working = image if image.dtype.is_floating else tf.cast(image, tf.float32)
        if rank == 2:
            working = working[..., tf.newaxis]
        if rank < 4:
            working = working[tf.newaxis]  # (batch, height, width, channels)

        if mode == "NONE":
            blurred = _filter_inside(working, filter_shape, sigma)
        else:
            blurred = _filter_padded(working, filter_shape, sigma, mode, constant_values)

        if rank < 4:
            blurred = blurred[0]
        if rank == 2:
            blurred = blurred[..., 0]
        # The shape that inference loses when some sizes are unknown is that of the input.
        return tf.ensure_shape(tf.cast(blurred, image.dtype), image.shape)


def gaussian_smoothing(maps: tf.types.experimental.TensorLike, sigma: float) -> tf.Tensor:
    """Smooths maps with a whole Gaussian, whose weights inside the map sum to one everywhere.

    Args:
        maps: Tensor of shape `(batch, height, width, channels)`.
        sigma: float. Standard deviation in cells; 0 leaves the maps as they are.

    Returns:
        Tensor of the shape and type of `maps`.

    Raises:
        ValueError: If `sigma` is negative or not finite.
    """
    sigmas = _sigma_pair(sigma)
    if not any(sigmas):
        return tf.convert_to_tensor(maps)
    filter_shape = [2 * math.ceil(_SIGMAS_IN_FLOAT32 * each) + 1 for each in sigmas]
    return gaussian_filter2d(maps, filter_shape, sigma, padding="NONE")


def interpolate_bilinear(
    grid: tf.types.experimental.TensorLike,
    query_points: tf.types.experimental.TensorLike,
    indexing: str = "ij",
    name: str | None = None,
) -> tf.Tensor:
    """Reads values between the pixels of a grid by bilinear interpolation.

    Points outside the grid take the value of the nearest point on its border; a NaN coordinate
    gives NaN. The gradient with respect to a coordinate is zero outside the grid, and also where
    the coordinate falls on a pixel other than the last, as in tensorflow-addons.

    Args:
        grid: Floating tensor of shape `(batch, height, width, channels)`, at least 2 x 2 pixels.
        query_points: Floating tensor of shape `(batch, points, 2)`, 0-based pixels.
        indexing: `"ij"` when the points are (y, x) pairs, `"xy"` when they are (x, y) pairs.
        name: Optional name of the operation.

    Returns:
        Tensor of shape `(batch, points, channels)`, of the type of `grid`.

    Raises:
        ValueError: If `indexing` is neither, or a shape is not as above. Sizes known only when the
            graph runs raise `tf.errors.InvalidArgumentError` instead.
        TypeError: If `grid` or `query_points` is not floating.
    """
    if indexing not in ("ij", "xy"):
        raise ValueError(f"`indexing` must be 'ij' or 'xy'. Received: indexing={indexing!r}")

    with tf.name_scope(name or "interpolate_bilinear"):
        grid = _floating_tensor(grid, "grid", rank=4)
        query_points = _floating_tensor(query_points, "query_points", rank=3)
        for axis, direction in ((1, "height"), (2, "width")):
            message = f"`grid` must have a {direction} of at least 2."
            grid = _with_checked_size(grid, axis, 2, message)
        query_points = _pairs(query_points, "query_points", "(batch, points, 2)")
        query_points = _with_checked_sizes(
            query_points, grid, 1, "`grid` and `query_points` must have one batch size."
        )

        query_points = _at_least_float32(query_points)
        rows, columns = tf.unstack(query_points, axis=2)  # (batch, points) each
        if indexing == "xy":
            rows, columns = columns, rows
        batch, height, width, channels = _sizes(grid)
        row, row_weight = _cell_and_weight(rows, height, grid.dtype)
        column, column_weight = _cell_and_weight(columns, width, grid.dtype)

        pixels = tf.reshape(grid, [batch, height * width, channels])
        corner = row * width + column  # (batch, points)
        top_left = tf.gather(pixels, corner, batch_dims=1)  # (batch, points, channels)
        top_right = tf.gather(pixels, corner + 1, batch_dims=1)
        bottom_left = tf.gather(pixels, corner + width, batch_dims=1)
        bottom_right = tf.gather(pixels, corner + width + 1, batch_dims=1)

        top = top_left + column_weight * (top_right - top_left)
        bottom = bottom_left + column_weight * (bottom_right - bottom_left)
        return top + row_weight * (bottom - top)


def dense_image_warp(
    image: tf.types.experimental.TensorLike,
    flow: tf.types.experimental.TensorLike,
    name: str | None = None,
) -> tf.Tensor:
    """Moves the pixels of images along a flow: `output[y, x] = image[y - flow_y, x - flow_x]`.

    Values between pixels are bilinear, values outside the image are those of its border (see
    `interpolate_bilinear`). Mind the sign: a flow that tells where each pixel of the output is
    found in `image`, as optical flow does, goes in negated.

    Args:
        image: Floating tensor of shape `(batch, height, width, channels)`, at least 2 x 2 pixels.
        flow: Floating tensor of shape `(batch, height, width, 2)`, (dy, dx) in pixels. Its type may
            differ from that of `image`.
        name: Optional name of the operation.

    Returns:
        Tensor of the shape and type of `image`.

    Raises:
        ValueError: If a shape is not as above. Sizes known only when the graph runs raise
            `tf.errors.InvalidArgumentError` instead.
        TypeError: If `image` or `flow` is not floating.
    """
    with tf.name_scope(name or "dense_image_warp"):
        image = _floating_tensor(image, "image", rank=4)
        flow = _floating_tensor(flow, "flow", rank=4)
        flow = _pairs(flow, "flow", "(batch, height, width, 2)")
        flow = _with_checked_sizes(
            flow, image, 3, "`image` and `flow` must have one batch size, height and width."
        )

        # Half precision cannot tell neighbouring pixels apart in the far corner of a large image.
        flow = _at_least_float32(flow)
        batch, height, width, channels = _sizes(image)
        pixels = tf.stack(tf.meshgrid(tf.range(height), tf.range(width), indexing="ij"), axis=-1)
        query_points = tf.cast(pixels, flow.dtype) - flow  # (batch, height, width, 2)
        warped = interpolate_bilinear(image, tf.reshape(query_points, [batch, height * width, 2]))
        return tf.reshape(warped, [batch, height, width, channels])


def _filter_shape_pair(filter_shape: int | Sequence[int]) -> tuple[int, int]:
    pair = (filter_shape,) * 2 if isinstance(filter_shape, numbers.Integral) else filter_shape
    if (
        not isinstance(pair, Sequence)
        or len(pair) != 2
        or not all(isinstance(size, numbers.Integral) and size > 0 for size in pair)
    ):
        raise ValueError(
            "`filter_shape` must be a positive integer or a pair of them. "
            f"Received: filter_shape={filter_shape!r}"
        )
    return int(pair[0]), int(pair[1])


def _sigma_pair(sigma: float | Sequence[float]) -> tuple[float, float]:
    pair = (sigma,) * 2 if isinstance(sigma, numbers.Real) else sigma
    if (
        not isinstance(pair, Sequence)
        or len(pair) != 2
        or not all(isinstance(s, numbers.Real) and 0 <= s < math.inf for s in pair)
    ):
        raise ValueError(
            "`sigma` must be a non-negative finite number or a pair of them. "
            f"Received: sigma={sigma!r}"
        )
    return float(pair[0]), float(pair[1])


def _filter_padded(
    image: tf.Tensor,
    filter_shape: tuple[int, int],
    sigma: tuple[float, float],
    mode: str,
    constant_values: float,
) -> tf.Tensor:
    """Filters images `(batch, height, width, channels)` with what `tf.pad` puts around them."""
    reach = [[0, 0], _reach(filter_shape[0]), _reach(filter_shape[1]), [0, 0]]
    for axis, direction in ((1, "height"), (2, "width")):
        # REFLECT does not repeat the pixel on the edge, so it needs one more than SYMMETRIC.
        reflected = {"REFLECT": max(reach[axis]) + 1, "SYMMETRIC": max(reach[axis])}
        minimum = max(1, reflected.get(mode, 1))
        message = (
            f"`image` must have a {direction} of at least {minimum} for padding={mode!r} and "
            f"filter_shape={filter_shape}."
        )
        image = _with_checked_size(image, axis, minimum, message)
    padded = tf.pad(image, reach, mode=mode, constant_values=tf.cast(constant_values, image.dtype))

    # Rows, then columns: the same sum as one filter of two dimensions, for fewer products.
    down = _gaussian_kernel(filter_shape[0], sigma[0])[:, np.newaxis]
    across = _gaussian_kernel(filter_shape[1], sigma[1])[np.newaxis, :]
    return _filter_each_channel(_filter_each_channel(padded, down), across)


def _filter_inside(
    image: tf.Tensor, filter_shape: tuple[int, int], sigma: tuple[float, float]
) -> tf.Tensor:
    """Filters images `(batch, height, width, channels)` by what is inside them.

    For maps of tens of cells two matrix products are faster than a depthwise convolution, backward
    above all.
    """
    shape = tf.shape(image)
    down, across = (
        _gaussian_matrix(shape[1 + axis], filter_shape[axis], sigma[axis], image.dtype)
        for axis in (0, 1)
    )
    rows = tf.reshape(image, [shape[0], shape[1], shape[2] * shape[3]])
    return tf.matmul(across, tf.reshape(tf.matmul(down, rows), shape))


def _gaussian_matrix(
    size: int | tf.Tensor, filter_size: int, sigma: float, dtype: tf.DType
) -> tf.Tensor:
    """Returns `(size, size)` weights of a filter along an axis; each row sums to one."""
    before, after = _reach(filter_size)
    offset = tf.range(size)[tf.newaxis, :] - tf.range(size)[:, tf.newaxis]
    within = (offset >= -before) & (offset <= after)
    kernel = tf.cast(_gaussian_kernel(filter_size, sigma), dtype)
    weights = tf.gather(kernel, tf.clip_by_value(offset + before, 0, filter_size - 1))
    weights = tf.where(within, weights, tf.zeros((), dtype))
    return weights / tf.reduce_sum(weights, axis=1, keepdims=True)


def _reach(size: int) -> list[int]:
    """Returns how many pixels before and after its own a filter of `size` pixels sees."""
    before = (size - 1) // 2
    return [before, size - 1 - before]


def _gaussian_kernel(size: int, sigma: float) -> np.ndarray:
    offsets = np.arange(size) - (size - 1) // 2
    if sigma == 0:
        return (offsets == 0).astype(np.float64)
    with np.errstate(over="ignore"):  # A tiny sigma rightly sends the neighbours' weight to zero.
        weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    return weights / weights.sum()


def _filter_each_channel(image: tf.Tensor, kernel: np.ndarray) -> tf.Tensor:
    channels = _sizes(image)[3]
    kernel = tf.cast(kernel[:, :, np.newaxis, np.newaxis], image.dtype)
    kernel = tf.tile(kernel, [1, 1, channels, 1])  # (height, width, channels, 1)
    return tf.nn.depthwise_conv2d(image, kernel, strides=[1, 1, 1, 1], padding="VALID")


def _cell_and_weight(
    positions: tf.Tensor, size: int | tf.Tensor, dtype: tf.DType
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the pixel before each position, and the weight of the pixel after it."""
    last = tf.cast(size - 2, positions.dtype)
    before = tf.minimum(tf.maximum(tf.floor(positions), 0), last)  # (batch, points)
    # `clip_by_value` would let the gradient through at a weight of 0; tensorflow-addons does not.
    zero, one = tf.constant(0, dtype), tf.constant(1, dtype)
    weight = tf.minimum(tf.maximum(zero, tf.cast(positions - before, dtype)), one)
    # NaN becomes an arbitrary integer: keep it inside the grid, the NaN lives on in the weight.
    cell = tf.clip_by_value(tf.cast(before, tf.int32), 0, size - 2)
    return cell, weight[..., tf.newaxis]


def _floating_tensor(
    value: tf.types.experimental.TensorLike, argument: str, rank: int
) -> tf.Tensor:
    tensor = tf.convert_to_tensor(value)
    if not tensor.dtype.is_floating:
        raise TypeError(f"`{argument}` must be floating. Received: dtype={tensor.dtype.name}")
    if tensor.shape.rank != rank:
        raise ValueError(
            f"`{argument}` must have {rank} dimensions. Received: shape={tensor.shape}"
        )
    return tensor


def _pairs(tensor: tf.Tensor, argument: str, expected: str) -> tf.Tensor:
    """Checks that the last size is 2, when the graph runs where it is not known before."""
    if tensor.shape[-1] not in (None, 2):
        raise ValueError(f"`{argument}` must have shape {expected}. Received: shape={tensor.shape}")
    return tf.ensure_shape(tensor, [*tensor.shape[:-1], 2])


def _at_least_float32(tensor: tf.Tensor) -> tf.Tensor:
    return tf.cast(tensor, tf.float32) if tensor.dtype.size < tf.float32.size else tensor


def _sizes(tensor: tf.Tensor) -> list[int | tf.Tensor]:
    """Returns each size as an int where it is known and as a scalar tensor where not."""
    dynamic = tf.shape(tensor)
    return [dynamic[i] if size is None else size for i, size in enumerate(tensor.shape)]


def _with_checked_size(tensor: tf.Tensor, axis: int, minimum: int, message: str) -> tf.Tensor:
    """Returns the tensor, checked before anything that takes it."""
    size = tensor.shape[axis]
    if size is None:
        check = tf.debugging.assert_greater_equal(tf.shape(tensor)[axis], minimum, message=message)
        return _after(check, tensor)
    if size < minimum:
        raise ValueError(f"{message} Received: shape={tensor.shape}")
    return tensor


def _with_checked_sizes(tensor: tf.Tensor, other: tf.Tensor, axes: int, message: str) -> tf.Tensor:
    """Returns the tensor, checked to agree with another in its leading `axes` sizes."""
    own, others = tensor.shape[:axes], other.shape[:axes]
    if not own.is_compatible_with(others):
        raise ValueError(f"{message} Received: shapes {other.shape} and {tensor.shape}")
    if own.is_fully_defined() and others.is_fully_defined():
        return tensor
    check = tf.debugging.assert_equal(
        tf.shape(other)[:axes], tf.shape(tensor)[:axes], message=message
    )
    return _after(check, tensor)


def _after(check, tensor: tf.Tensor) -> tf.Tensor:
    # Without it a graph may run the work first, and fail with that one's words.
    with tf.control_dependencies([check]):
        return tf.identity(tensor)
