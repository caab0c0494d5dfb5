"""A model on a trunk of three small convolutions, which every runtime converts in seconds."""

import keras
import numpy as np
import pytest

from anchornet_tf.matchers import evidence, hough
from anchornet_tf.matchers.confidence import Calibration, Confidence
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.trunks.backbone import TAP_CHANNELS, TAP_LAYERS, TAP_STRIDES

CLASSES = ("bird", "cow", "car")


def small_trunk(**_) -> keras.Model:
    """Returns what stands in for ResNet50: a convolution of single pixels per tap."""
    inputs = keras.Input((None, None, 3))
    outputs, stride_so_far, last = [], 1, inputs
    for name, channels, stride in zip(TAP_LAYERS, TAP_CHANNELS, TAP_STRIDES, strict=True):
        pooled = keras.layers.AveragePooling2D(stride // stride_so_far, padding="same")(last)
        last = keras.layers.Conv2D(channels, 1, activation="relu", name=name)(pooled)
        outputs.append(last)
        stride_so_far = stride
    return keras.Model(inputs, outputs)


def make(image_size=(64, 96), latent_filters: int = 8) -> AnchorNet:
    """Makes a model with seeded random weights, in which no statistic has its initial value."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keras.applications, "ResNet50", small_trunk)
        keras.utils.set_random_seed(1)
        model = AnchorNet(
            CLASSES,
            4,
            latent_filters=latent_filters,
            gamma="whitened",
            dimensions=8,
            image_size=image_size,
            weights=None,
        )
    model.confidence = _confidence(give_statistics(model), latent_filters)
    return model


def give_statistics(model: AnchorNet) -> np.random.Generator:
    """Gives a model of 4 filters statistics other than the initial ones; returns what drew them."""
    rng = np.random.default_rng(0)
    for bank in model.banks:
        mean = rng.normal(size=4)
        bank.running_mean.assign(mean)
        bank.running_square.assign(mean**2 + rng.uniform(0.5, 2, size=4))
        bank.bias.assign(rng.normal(size=4))
    model.autoencoder.running_mean.assign(rng.normal(size=12))
    for equalizer in (*model.bank_equalizers, model.code_equalizer):
        matrix = np.eye(equalizer.matrix.shape[0])
        equalizer.matrix.assign(matrix + rng.normal(0, 0.1, matrix.shape))
    return rng


def _confidence(rng, depth: int) -> dict:
    """Returns the contents of a `Confidence` with random numbers."""
    extras = {"nearest": 0, "hough": len(hough.EVIDENCE)}
    calibrations = {
        name: Calibration(
            rng.normal(size=len(evidence.NAMES) + extra),
            np.ones(len(evidence.NAMES) + extra),
            rng.normal(0, 0.2, size=len(evidence.NAMES) + extra),
            0.3,
            0.1,
        )
        for name, extra in extras.items()
    }
    probe = evidence.ObjectProbe(rng.normal(size=depth), 0.1, 0.2)
    return Confidence(calibrations, probe).contents()
