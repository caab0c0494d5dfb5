"""Every public layer, regularizer and optimizer is at home in Keras: saving, `fit`, strategies."""

import keras

import anchornet_tf
from anchornet_tf.optimizers import optimizer_by_path

TAPS = ((8, 8, 6), (4, 4, 6), (2, 2, 6))
MAPS = ((8, 8, 6),)


def _two_rates():
    return optimizer_by_path({"first": 0.1, "": 1.0}, keras.optimizers.SGD(1e-2))


# A layer for the middle of a small network, and the shapes of what it takes.
LAYERS = {
    "AnchorBank": (lambda: anchornet_tf.AnchorBank(4, response="softplus"), TAPS),
    "Equalizer": (lambda: anchornet_tf.Equalizer(0.5), MAPS),
    "Hypercolumn": (lambda: anchornet_tf.Hypercolumn(4), TAPS),
    "PCAProjection": (lambda: anchornet_tf.PCAProjection(4), MAPS),
    "TiedAutoencoder": (lambda: anchornet_tf.TiedAutoencoder(4), MAPS),
    "FilterDiversity": (
        lambda: keras.layers.Conv2D(
            4, 3, kernel_regularizer=anchornet_tf.FilterDiversity(3.0), padding="same"
        ),
        MAPS,
    ),
    "ResponseDiversity": (
        lambda: keras.layers.Conv2D(
            4,
            3,
            activation="softplus",
            activity_regularizer=anchornet_tf.ResponseDiversity(3.0, sigma=1.0),
            padding="same",
        ),
        MAPS,
    ),
}
