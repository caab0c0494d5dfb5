"""The models that a soak serves: the shipped one, or a small one, each in two versions."""

import pathlib
import statistics
import time

import numpy as np
import tensorflow as tf

from anchornet_tf.models.anchornet import AnchorNet
from export import archive
from tests.export import small_model

_TRUNK_PASSES = 15


def small() -> AnchorNet:
    """Returns a network that answers in milliseconds."""
    return small_model.make()


def shipped() -> AnchorNet:
    """Returns the preset."""
    return AnchorNet.from_preset("voc20")


def export_two(model: AnchorNet, root: pathlib.Path) -> list[pathlib.Path]:
    """Exports a model twice, with matchers whose answers differ."""
    return [archive.save(model, root / name, matcher=name) for name in ("nearest", "hough")]


def trunk_seconds(model: AnchorNet) -> float:
    """Returns the median time of the bare trunk for one image of the model's size."""
    size = (model.image_size,) * 2 if isinstance(model.image_size, int) else model.image_size
    image = tf.constant(np.random.default_rng(0).uniform(0, 255, (1, *size, 3)), tf.float32)
    taps = tf.function(model.taps)
    taps(image)
    seconds = []
    for _ in range(_TRUNK_PASSES):
        began = time.perf_counter()
        taps(image)[-1].numpy()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)
