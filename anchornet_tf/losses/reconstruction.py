"""The loss of the autoencoder: its filters keep what all banks say (paper section 3)."""

import tensorflow as tf

_EPSILON = 1e-12


def reconstruction_loss(centred, reconstructed, is_positive) -> tf.Tensor:
    """L_R = || a / |a| - b / |b| ||^2, the mean over images of objects.

    a is the centred stack of an image's maps and b its reconstruction; the norms run over the whole
    tensor of the image, so the loss is 2 - 2 cos(a, b) and does not see how strong either is.

    Args:
        centred: `(batch, height, width, channels)`, a = Gamma^.
        reconstructed: `(batch, height, width, channels)`, b = F^S^T F^S c(Gamma^).
        is_positive: `(batch,)` bool, true where the image has an object of any class; background
            does not count.

    Returns:
        scalar from 0 to 4, zero without positives.
    """
    # The difference, because 2 - 2 cos loses all digits where the reconstruction is good.
    difference = _direction(centred) - _direction(reconstructed)
    distances = tf.reduce_sum(tf.square(difference), axis=(1, 2, 3))  # (batch,)
    counted = tf.cast(is_positive, distances.dtype)
    return tf.math.divide_no_nan(tf.reduce_sum(counted * distances), tf.reduce_sum(counted))


def _direction(maps) -> tf.Tensor:
    return tf.math.l2_normalize(maps, axis=(1, 2, 3), epsilon=_EPSILON)
