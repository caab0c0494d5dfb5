"""Losses that make filters fire on the class and stay silent on background (paper section 3.1)."""

import tensorflow as tf


def discriminability_loss(response_maps, is_positive) -> tf.Tensor:
    """L_Discr = -y_I gmax psi_k, the mean over filters k and images I.

    Every filter should reach a high maximum somewhere in an image of the class (y_I = +1) and
    nowhere in a background image (y_I = -1).

    Args:
        response_maps: `(batch, height, width, filters)`, psi = softplus(F * Phi(I)).
        is_positive: `(batch,)` bool, true where the image has the class.

    Returns:
        scalar.
    """
    signs = tf.where(is_positive, 1.0, -1.0)  # y_I
    highest = tf.reduce_max(response_maps, axis=(1, 2))  # (batch, filters)
    return -tf.reduce_mean(signs[:, None] * highest)


def auxiliary_loss(linear_responses, is_positive) -> tf.Tensor:
    """L_Aux = [y_I = -1] gavg max(0, F_k * Phi(I)), the mean over filters and background images.

    It keeps the whole map low on background, where L_Discr sees only its maximum.

    Args:
        linear_responses: `(batch, height, width, filters)`, F * Phi(I).
        is_positive: `(batch,)` bool, true where the image has the class.

    Returns:
        scalar; zero without background images.
    """
    average = tf.reduce_mean(tf.nn.relu(linear_responses), axis=(1, 2, 3))  # (batch,)
    background = tf.cast(tf.logical_not(is_positive), average.dtype)
    return tf.math.divide_no_nan(tf.reduce_sum(background * average), tf.reduce_sum(background))
