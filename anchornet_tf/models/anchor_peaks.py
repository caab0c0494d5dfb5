"""Where every anchor of a model fires strongest in an image."""

import tensorflow as tf

from anchornet_tf.models.anchornet import AnchorNet


def anchor_peaks(model: AnchorNet, linear_responses: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the peak of each filter of all banks.

    Args:
        model: The model.
        linear_responses: `(batch, height, width, classes * num_filters)`, as
            `AnchorNet.linear_responses` returns them.

    Returns:
        How strong each peak is, in deviations from the filter's mean, and its cell, rows first:
        both `(batch, classes * num_filters)`.
    """
    shape = tf.shape(linear_responses)
    flat = tf.reshape(linear_responses, (shape[0], shape[1] * shape[2], linear_responses.shape[-1]))
    statistics = [bank.statistics() for bank in model.banks]
    mean, deviation = (tf.concat(parts, axis=0) for parts in zip(*statistics, strict=True))
    # Whitening moves and stretches a map, and leaves its peak where it is.
    strengths = (tf.reduce_max(flat, axis=1) - mean) / deviation
    return strengths, tf.math.argmax(flat, axis=1, output_type=tf.int32)
