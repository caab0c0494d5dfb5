"""What the class-agnostic layer does on held-out images: measures, and a picture."""

import os
import pathlib

import keras
import numpy as np
import tensorflow as tf

from anchornet_tf.layers.tied_autoencoder import TiedAutoencoder
from anchornet_tf.losses.diversity import filter_diversity_loss
from anchornet_tf.losses.reconstruction import reconstruction_loss
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.training import filter_picture
from anchornet_tf.training.stage1.report import HeldOut
from anchornet_tf.trunks.pca import StreamingMoments

_BATCH = 8
# Neighbouring cells say the same: every other one in each direction is enough for sums.
_STRIDE = 2


def summarise(model: AnchorNet, held_out: HeldOut, seed: int = 0) -> dict:
    """Measures the class-agnostic layer on held-out images of objects, without noise.

    Returns:
        L_R of the trained encoder (`reconstruction`), of a random orthogonal encoder
        (`reconstruction_random`) and of the principal directions of these very maps, the best that
        any linear encoder of this size can do in squared error (`reconstruction_best`); L_DivA of
        the encoder (`encoder_cosine`), and the number of images.
    """
    chosen = np.flatnonzero(held_out.labels.any(axis=1))
    maps = [stacked_maps(model, [tap[[index]] for tap in held_out.taps]) for index in chosen]
    channels, latent = model.autoencoder.kernel.shape[2:]
    moments = StreamingMoments(channels)
    for gamma in maps:
        moments.update(gamma.reshape(-1, channels))
    best, chance = (TiedAutoencoder(latent, kernel_initializer=_orthogonal(seed)) for _ in range(2))
    fitted = moments.fit(latent)
    best.set_components(fitted.components, fitted.mean)
    chance.build((None, None, None, channels))
    chance.built = True
    chance.running_mean.assign(fitted.mean.astype(np.float32))
    encoders = {"": model.autoencoder, "_random": chance, "_best": best}
    losses = {
        name: np.mean([_loss(layer, gamma) for gamma in maps]) for name, layer in encoders.items()
    }
    return {
        **{f"reconstruction{name}": float(value) for name, value in losses.items()},
        "encoder_cosine": float(filter_diversity_loss(model.autoencoder.kernel)),
        "images": len(chosen),
    }


def stacked_maps(model: AnchorNet, taps, stride: int = _STRIDE) -> np.ndarray:
    """Returns Gamma of taps at every `stride`-th cell, `(batch, height, width, channels)`."""
    taps = [tf.cast(tap, tf.float32) for tap in taps]
    return model.gamma_maps(model.linear_responses(taps))[:, ::stride, ::stride].numpy()


def _orthogonal(seed: int) -> keras.initializers.Initializer:
    return keras.initializers.Orthogonal(seed=seed)


def _loss(layer: TiedAutoencoder, gamma: np.ndarray) -> float:
    centred = layer.centre(gamma)
    return float(reconstruction_loss(centred, layer.reconstruct(centred), [True] * len(gamma)))


def descriptors(model: AnchorNet, taps) -> np.ndarray:
    """Returns the class-agnostic descriptors of many images, `(n, height, width, filters)`."""
    pieces = []
    for start in range(0, len(taps[0]), _BATCH):
        part = [tf.cast(tap[start : start + _BATCH], tf.float32) for tap in taps]
        pieces.append(model.describe(model.gamma_maps(model.linear_responses(part))).numpy())
    return np.concatenate(pieces)


def draw_filters(
    model: AnchorNet,
    held_out: HeldOut,
    columns: list[int],
    path: str | os.PathLike,
    filters: int = 8,
    classes: int = 8,
) -> pathlib.Path:
    """Draws class-agnostic filters across classes (the paper's figure 2c).

    One row per filter and one column per class: the class's image on which the filter is strongest.
    The filters shown are those that stand out in most classes.
    """
    members = {}
    for name, column in zip(model.classes, columns, strict=True):
        images = np.flatnonzero(held_out.labels[:, column])
        if len(images) and len(members) < classes:
            members[name] = images
    if not members:
        raise ValueError("Expected held-out images of the classes. Received: none")
    responses = {
        name: descriptors(model, [tap[images] for tap in held_out.taps])
        for name, images in members.items()
    }
    stack = np.concatenate(list(responses.values()))
    deviation = stack.std(axis=(0, 1, 2)) + 1e-9
    # (classes, filters): how far the best image of a class reaches above the filter's usual values.
    peaks = np.stack([values.max(axis=(0, 1, 2)) / deviation for values in responses.values()])
    best = np.argsort(-np.median(peaks, axis=0))[:filters]
    lines = []
    for index in best:
        cells = []
        for name, images in members.items():
            maps = responses[name][..., index]
            strongest = maps.max(axis=(1, 2)).argmax()
            cells.append((held_out.images[images[strongest]], maps[strongest]))
        lines.append((f"filter {index}", cells))
    title = "Class-agnostic filters: the same filter on held-out images of different classes"
    return filter_picture.draw(lines, title, path, list(members))
