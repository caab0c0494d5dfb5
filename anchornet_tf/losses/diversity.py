"""Losses that make filters differ, paper section 3.1.

L_DivA makes their weights differ, L_DivB the places where they fire.
"""

import keras
import tensorflow as tf

from anchornet_tf.image import gaussian_smoothing

_EPSILON = 1e-12


def filter_diversity_loss(kernel) -> tf.Tensor:
    """L_DivA = | sum_p <F_i^p, F_j^p> / (|F_i^p| |F_j^p|) |, the mean over pairs i != j and taps p.

    p runs over the spatial taps of the filter (nine for 3x3) and F_i^p is the vector of channels
    there. The absolute value is taken after the sum over p.

    Args:
        kernel: `(rows, columns, channels, filters)`.

    Returns:
        scalar between 0 (orthogonal filters) and 1 (equal ones); zero for a single filter.
    """
    kernel = tf.convert_to_tensor(kernel)
    rows, columns, _, filters = kernel.shape
    directions = tf.math.l2_normalize(kernel, axis=2, epsilon=_EPSILON)
    # The sum over p of the inner products is one inner product of the stacked taps.
    stacked = tf.reshape(directions, (-1, filters))
    similarity = tf.abs(tf.matmul(stacked, stacked, transpose_a=True)) / (rows * columns)
    return _mean_of_pairs(similarity)


def response_diversity_loss(response_maps, sigma: float = 3.0) -> tf.Tensor:
    """L_DivB = ( <psi_i, psi_j> / (|psi_i| |psi_j|) )^2, the mean over pairs i != j and images.

    The maps are smoothed with a Gaussian g_sigma first, so that filters that fire side by side
    count as overlapping too. At the border of a map, the weights of the Gaussian inside it are
    scaled to sum to one.

    Args:
        response_maps: `(batch, height, width, filters)`, psi = softplus(F * Phi(I)).
        sigma: float. Width of the Gaussian in cells; 0 for none.

    Returns:
        scalar between 0 and 1; zero for a single filter.
    """
    smooth = gaussian_smoothing(response_maps, sigma)
    shape = tf.shape(smooth)
    cells = tf.reshape(smooth, (shape[0], shape[1] * shape[2], smooth.shape[-1]))
    directions = tf.math.l2_normalize(cells, axis=1, epsilon=_EPSILON)
    cosines = tf.matmul(directions, directions, transpose_a=True)  # (batch, filters, filters)
    return tf.reduce_mean(_mean_of_pairs(tf.square(cosines)))


def _mean_of_pairs(similarity) -> tf.Tensor:
    """Averages `(..., filters, filters)` over the ordered pairs of different filters."""
    filters = similarity.shape[-1]
    others = tf.reduce_sum(similarity, axis=(-2, -1)) - tf.linalg.trace(similarity)
    return others / max(filters * (filters - 1), 1)


@keras.saving.register_keras_serializable(package="anchornet_tf")
class FilterDiversity(keras.regularizers.Regularizer):
    """L_DivA as a kernel regularizer for any convolution.

    Args:
        weight: float. Factor of the loss.

    Example:

    ```python
    layer = keras.layers.Conv2D(64, 3, kernel_regularizer=FilterDiversity(100.0))
    ```
    """

    def __init__(self, weight: float = 100.0):
        self.weight = float(weight)

    def __call__(self, kernel):
        return self.weight * filter_diversity_loss(kernel)

    def get_config(self):
        return {"weight": self.weight}


@keras.saving.register_keras_serializable(package="anchornet_tf")
class ResponseDiversity(keras.regularizers.Regularizer):
    """L_DivB as an activity regularizer for any layer whose outputs are non-negative maps.

    Args:
        weight: float. Factor of the loss.
        sigma: float. Width of the Gaussian in cells.

    Example:

    ```python
    layer = keras.layers.Conv2D(
        64, 3, activation="softplus", activity_regularizer=ResponseDiversity(100.0)
    )
    ```
    """

    def __init__(self, weight: float = 100.0, sigma: float = 3.0):
        self.weight = float(weight)
        self.sigma = float(sigma)

    def __call__(self, response_maps):
        # In mixed precision the maps have 16 bits, which are too few for sums of squares.
        response_maps = tf.cast(response_maps, tf.float32)
        # Keras divides activity losses by the batch size; L_DivB is a mean over images already.
        batch = tf.cast(tf.shape(response_maps)[0], tf.float32)
        return self.weight * batch * response_diversity_loss(response_maps, self.sigma)

    def get_config(self):
        return {"weight": self.weight, "sigma": self.sigma}
