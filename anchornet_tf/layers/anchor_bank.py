"""A bank of anchor filters, applied without ever making the hypercolumn it works on."""

import keras
import tensorflow as tf

RESPONSES = ("linear", "softplus", "whitened")

_KERNEL_SIZE = 3  # Paper section 3.1.
VARIANCE_FLOOR = 1e-6  # Of responses: a filter that never varies stays finite when whitened.


@keras.saving.register_keras_serializable(package="anchornet_tf")
class AnchorBank(keras.layers.Layer):
    """3x3 filters that each learn to fire on one place of one object class.

    The filters work on the hypercolumn, the stack of the taps of the trunk. Projection,
    upsampling and convolution are all linear, so the layer takes the taps at their own sizes,
    filters the coarse ones where they are small and upsamples the responses: the same numbers with
    a third of the work.

    Args:
        num_filters: int. K, the size of the bank.
        response: what calling the layer gives: `"linear"`, `"softplus"` (the paper's response maps
            psi), or `"whitened"` (linear, minus each filter's running mean, over its running
            deviation: the form that matches best).
        momentum: float. Of the running mean and deviation.
        kernel_initializer: of the filters.

    Input shape: the taps `(batch, h, w, dimensions)`, projected and normalised, finest first.
    Output shape: `(batch, height, width, num_filters)` on the grid of the finest tap.

    Example:

    ```python
    import tensorflow as tf
    from anchornet_tf import AnchorBank

    taps = [tf.ones((1, size, size, 256)) for size in (56, 14, 7)]
    response_maps = AnchorBank(64, response="softplus")(taps)  # (1, 56, 56, 64)
    ```

    Reference: Novotny et al., AnchorNet, CVPR 2017, section 3.1.
    """

    def __init__(
        self,
        num_filters: int = 64,
        response: str = "linear",
        momentum: float = 0.98,
        kernel_initializer="he_normal",
        **kwargs,
    ):
        super().__init__(**kwargs)
        if num_filters < 1:
            raise ValueError(f"`num_filters` must be a positive integer. Received: {num_filters}")
        if response not in RESPONSES:
            raise ValueError(
                f"Expected a response of {', '.join(RESPONSES)}. Received: {response!r}"
            )
        self.num_filters = num_filters
        self.response = response
        self.momentum = momentum
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, input_shape):
        depth = sum(shape[-1] for shape in input_shape)
        size = (_KERNEL_SIZE, _KERNEL_SIZE, depth, self.num_filters)
        self.kernel = self.add_weight(
            name="kernel", shape=size, initializer=self.kernel_initializer
        )
        self.bias = self.add_weight(name="bias", shape=(self.num_filters,), initializer="zeros")
        # The mean over replicas of a moving average is the moving average of the whole batch.
        statistic = {"shape": (self.num_filters,), "trainable": False, "aggregation": "mean"}
        # In mixed precision too, a variance is the difference of two numbers of 32 bits.
        statistic["autocast"] = False
        self.running_mean = self.add_weight(name="running_mean", initializer="zeros", **statistic)
        self.running_square = self.add_weight(
            name="running_square", initializer="ones", **statistic
        )

    def linear(self, taps, fast_gradient: bool = False) -> tf.Tensor:
        """Returns the linear responses F_k * Phi(I); see `factored_convolution`."""
        if not self.built:
            self.build([tap.shape for tap in taps])
            self.built = True
        return factored_convolution(taps, self.kernel, self.bias, fast_gradient)

    def whiten(self, linear_responses) -> tf.Tensor:
        """Removes the running mean of linear responses and divides by the running deviation."""
        dtype = linear_responses.dtype
        mean, deviation = (tf.cast(part, dtype) for part in self.statistics())
        return (linear_responses - mean) / deviation

    def statistics(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the running mean and deviation of each filter, `(num_filters,)` both."""
        mean = tf.convert_to_tensor(self.running_mean)
        variance = tf.convert_to_tensor(self.running_square) - tf.square(mean)
        return mean, tf.sqrt(tf.maximum(variance, VARIANCE_FLOOR))

    def update_statistics(self, linear_responses) -> None:
        """Moves the running statistics towards those of a batch; replicas of a strategy agree."""
        mean = tf.reduce_mean(linear_responses, axis=(0, 1, 2))
        square = tf.reduce_mean(tf.square(linear_responses), axis=(0, 1, 2))
        for variable, value in ((self.running_mean, mean), (self.running_square, square)):
            old = tf.convert_to_tensor(variable)
            variable.assign(old + (1 - self.momentum) * (value - old))

    def call(self, taps):
        responses = self.linear(taps)
        if self.response == "softplus":
            return tf.nn.softplus(responses)
        return self.whiten(responses) if self.response == "whitened" else responses

    def compute_output_shape(self, input_shape):
        return (*input_shape[0][:-1], self.num_filters)

    def compute_output_spec(self, taps):
        shape = self.compute_output_shape([tap.shape for tap in taps])
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "num_filters": self.num_filters,
            "response": self.response,
            "momentum": self.momentum,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }


def factored_convolution(taps, kernel, bias, fast_gradient: bool = False) -> tf.Tensor:
    """Convolves a hypercolumn with 3x3 filters and SAME padding, without making the hypercolumn.

    Equal to `conv2d(hypercolumn.stack(taps), kernel) + bias`. A coarse tap P is upsampled as
    U_y P U_x^T. One of the filter's nine taps p = (dy, dx) reads it shifted, S_dy U_y P U_x^T
    S_dx^T, and multiplies channels by F^p. Channels and positions commute: P F^p is computed at the
    coarse size and S U, a small matrix, does the rest.

    Args:
        taps: tensors `(batch, h, w, dimensions)`, finest first.
        kernel: `(3, 3, sum of dimensions, filters)`.
        bias: `(filters,)`.
        fast_gradient: bool. Whether the gradient of the filters is computed by matrix products,
            which takes half as long on processors. For training programs: a graph that is exported
            would lose it.

    Returns:
        `(batch, height, width, filters)` linear responses on the grid of the first tap.

    Raises:
        ValueError: If the filters have another depth than the taps together.
    """
    kernel = tf.convert_to_tensor(kernel)
    depth = sum(tap.shape[-1] for tap in taps)
    if kernel.shape[2] != depth:
        raise ValueError(f"Expected taps of {kernel.shape[2]} channels together. Received: {depth}")
    pieces = tf.split(kernel, [tap.shape[-1] for tap in taps], axis=2)
    convolve = _convolution_of_fast_gradient if fast_gradient else _convolution
    responses = tf.nn.bias_add(convolve(taps[0], pieces[0]), tf.convert_to_tensor(bias))
    size = tf.shape(taps[0])[1:3]
    for tap, piece in zip(taps[1:], pieces[1:], strict=True):
        responses += _coarse_responses(tap, piece, size)
    return responses


def _convolution(tap, kernel) -> tf.Tensor:
    return tf.nn.conv2d(tap, kernel, 1, "SAME")


@tf.custom_gradient
def _convolution_of_fast_gradient(tap, kernel):
    def gradient(upstream):
        of_tap = tf.nn.conv2d_transpose(upstream, kernel, tf.shape(tap), 1, "SAME")
        return of_tap, kernel_gradient(tap, upstream)

    return _convolution(tap, kernel), gradient


def kernel_gradient(tap, upstream) -> tf.Tensor:
    """Returns the gradient of the filters of a 3x3 SAME convolution.

    That of filter tap (i, j) is the product of the input, cells by channels, with the upstream
    gradient shifted against it. Three products, one per row of the filter, keep the shifted copies
    small.

    Args:
        tap: `(batch, height, width, channels)`, the input.
        upstream: `(batch, height, width, filters)`, the gradient of the output.

    Returns:
        `(3, 3, channels, filters)`.
    """
    height, width = tf.unstack(tf.shape(tap)[1:3])
    channels, filters = tap.shape[-1], upstream.shape[-1]
    padded = tf.pad(upstream, [[0, 0], [1, 1], [1, 1], [0, 0]])
    # (batch, height + 2, width, 3 filters)
    columns = tf.concat([padded[:, :, 2 - j : 2 - j + width] for j in range(_KERNEL_SIZE)], -1)
    cells = tf.reshape(tap, (-1, channels))
    rows = [
        tf.matmul(
            cells,
            tf.reshape(columns[:, 2 - i : 2 - i + height], (-1, _KERNEL_SIZE * filters)),
            transpose_a=True,
        )
        for i in range(_KERNEL_SIZE)
    ]
    products = tf.reshape(tf.stack(rows), (_KERNEL_SIZE, channels, _KERNEL_SIZE, filters))
    return tf.transpose(products, (0, 2, 1, 3))


def _coarse_responses(tap, kernel, size) -> tf.Tensor:
    shape, filters = tf.shape(tap), kernel.shape[-1]
    # (dy, dx, channels, filters) -> (channels, dx, dy, filters): nine taps as one 1x1 convolution.
    pointwise = tf.reshape(tf.transpose(kernel, (2, 1, 0, 3)), (1, 1, kernel.shape[2], 9 * filters))
    products = tf.nn.conv2d(tap, pointwise, 1, "SAME")
    # (batch, y, x dx, dy filters): the columns first, by one matrix for all rows.
    products = tf.reshape(products, (shape[0], shape[1], shape[2] * 3, 3 * filters))
    columns = tf.reshape(shifted_interpolation(shape[2], size[1]), (size[1], shape[2] * 3))
    products = tf.matmul(tf.cast(columns, products.dtype), products)
    # (batch, y, X, dy, filters) -> (batch, y dy, X filters): then the rows.
    products = tf.reshape(products, (shape[0], shape[1], size[1], 3, filters))
    products = tf.reshape(
        tf.transpose(products, (0, 1, 3, 2, 4)), (shape[0], shape[1] * 3, size[1] * filters)
    )
    rows = tf.reshape(shifted_interpolation(shape[1], size[0]), (size[0], shape[1] * 3))
    products = tf.matmul(tf.cast(rows, products.dtype), products)
    return tf.reshape(products, (shape[0], size[0], size[1], filters))


def shifted_interpolation(small, large) -> tf.Tensor:
    """Returns bilinear upsampling of a line as seen by the three taps of a filter.

    Args:
        small: int or scalar tensor, the length of the line.
        large: int or scalar tensor, the length after upsampling.

    Returns:
        `(large, small, 3)` weights: `[i, j, t]` is what output cell `i + t - 1` takes of input cell
        `j`, zero where that cell lies outside (SAME padding).
    """
    # Resizing the identity gives exactly the weights that `tf.image.resize` uses for the
    # hypercolumn. (`tf.eye` would do, but OpenVINO does not know the operation that it makes.)
    identity = tf.one_hot(tf.range(small), small)
    matrix = tf.image.resize(identity[..., None], (large, small))[..., 0]
    padded = tf.pad(matrix, [[1, 1], [0, 0]])
    return tf.stack([padded[:-2], padded[1:-1], padded[2:]], axis=-1)
