"""A principal component projection held as a 1x1 convolution."""

import keras
import numpy as np
import tensorflow as tf


@keras.saving.register_keras_serializable(package="anchornet_tf")
class PCAProjection(keras.layers.Layer):
    """Projects every cell of a map on its first principal components: `V^T (x - mu)`.

    Held as a 1x1 convolution with kernel `V` and bias `-V^T mu`, so that it can be trained on or
    fused.

    Args:
        dimensions: int. Number of components kept.

    Input shape: `(batch, height, width, channels)`.
    Output shape: `(batch, height, width, dimensions)`.

    Example:

    ```python
    import numpy as np
    import tensorflow as tf
    from anchornet_tf import PCAProjection

    projection = PCAProjection(256)
    projection.set_components(np.eye(1024)[:, :256], mean=np.zeros(1024))
    small = projection(tf.ones((1, 14, 14, 1024)))  # (1, 14, 14, 256)
    ```
    """

    def __init__(self, dimensions: int = 256, **kwargs):
        super().__init__(**kwargs)
        if dimensions < 1:
            raise ValueError(f"`dimensions` must be a positive integer. Received: {dimensions}")
        self.dimensions = dimensions

    def build(self, input_shape):
        channels = input_shape[-1]
        if channels is None or channels < self.dimensions:
            raise ValueError(
                f"Expected an input of at least {self.dimensions} channels. "
                f"Received: {tuple(input_shape)}"
            )
        # An orthogonal start keeps distances roughly, so an unfitted projection is still usable.
        self.kernel = self.add_weight(
            name="kernel", shape=(1, 1, channels, self.dimensions), initializer="orthogonal"
        )
        self.bias = self.add_weight(name="bias", shape=(self.dimensions,), initializer="zeros")

    def call(self, inputs):
        projected = tf.nn.conv2d(inputs, tf.cast(self.kernel, inputs.dtype), 1, "SAME")
        return tf.nn.bias_add(projected, tf.cast(self.bias, inputs.dtype))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.dimensions)

    def set_components(self, components: np.ndarray, mean: np.ndarray) -> None:
        """Takes over a fitted basis.

        Args:
            components: `(channels, dimensions)`, one orthonormal component per column.
            mean: `(channels,)`.

        Raises:
            ValueError: If the shapes disagree with each other or with this layer.
        """
        components, mean = np.asarray(components), np.asarray(mean)
        if components.ndim != 2 or mean.shape != components.shape[:1]:
            raise ValueError(
                "Expected components (channels, dimensions) and a mean (channels,). "
                f"Received: {components.shape} and {mean.shape}"
            )
        if components.shape[1] != self.dimensions:
            raise ValueError(
                f"Expected {self.dimensions} components. Received: {components.shape[1]}"
            )
        if not self.built:
            self.build((None, None, None, components.shape[0]))
        if components.shape[0] != self.kernel.shape[2]:
            raise ValueError(
                f"Expected {self.kernel.shape[2]} channels. Received: {components.shape[0]}"
            )
        self.kernel.assign(components[None, None].astype(np.float32))
        # In float64, because the mean is large against what is left of it.
        bias = -np.asarray(components, np.float64).T @ np.asarray(mean, np.float64)
        self.bias.assign(bias.astype(np.float32))

    def get_config(self):
        return {**super().get_config(), "dimensions": self.dimensions}
