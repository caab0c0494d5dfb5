"""Which channels may be parts of a class, and where each of them is in each image."""

import json
import os
import pathlib
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.features.back_projection import (
    SMOOTHING,
    SMOOTHING_SIZE,
    Taps,
    back_project,
)
from anchornet_tf.image import gaussian_filter2d
from anchornet_tf.training.constellation.config import ConstellationConfig
from anchornet_tf.training.constellation.input import ClassImages, batches
from anchornet_tf.trunks.pca import TAP_NAMES
from anchornet_tf.utils import files
from anchornet_tf.utils.journal import Journal

# Two channels that never differ are told apart no further than this.
_LEAST_DEVIATION = 1e-6

_IMAGES = tf.TensorSpec((None, None, None, 3), tf.float32)


def peak_function(taps_of: Taps):
    """Returns a compiled function from images to the maximum of each channel of each tap.

    Args:
        taps_of: Function from images to taps `(batch, h, w, depth)`.
    """
    return tf.function(
        lambda images: [tf.reduce_max(tap, axis=(1, 2)) for tap in taps_of(images)],
        input_signature=[_IMAGES],
    )


def choose_candidates(
    positives: Sequence[np.ndarray], negatives: Sequence[np.ndarray], most: int
) -> list[list[int]]:
    """Chooses channels that respond to images of a class more than to others.

    A channel that is as strong elsewhere tells nothing about the class, and each channel that is
    located costs a pass through the trunk for every image.

    Args:
        positives: for each tap the maxima of its channels, `(images, channels)`.
        negatives: the same for images without the class.
        most: int. Channels of each tap.

    Returns:
        For each tap the numbers of its channels: largest difference of the means first, in units
        of the deviation.
    """
    chosen = []
    for inside, outside in zip(positives, negatives, strict=True):
        deviation = np.sqrt((inside.var(axis=0) + outside.var(axis=0)) / 2)
        difference = (inside.mean(axis=0) - outside.mean(axis=0)) / (deviation + _LEAST_DEVIATION)
        # A channel that never responds to the class is never a part of it.
        difference = np.where(inside.max(axis=0) > 0, difference, -np.inf)
        order = np.argsort(-difference, kind="stable")[:most]
        chosen.append([int(channel) for channel in order if np.isfinite(difference[channel])])
    return chosen


def candidates_of(
    config: ConstellationConfig,
    source: ImageSource,
    images: ClassImages,
    peaks,
    depths: Sequence[int],
    path: str | os.PathLike,
) -> list[tuple[int, int]]:
    """Returns the tap and channel of each candidate, from a file if there is one.

    Args:
        config: what to search.
        source: the images.
        images: of the class.
        peaks: what `peak_function` returned.
        depths: channels of each tap.
        path: of a JSON file that keeps them, so that a continued run has the same.
    """
    path = pathlib.Path(path)
    if path.is_file():
        return [(int(tap), int(channel)) for tap, channel in json.loads(path.read_text())]
    wanted = [TAP_NAMES.index(name) for name in config.taps]
    if config.candidates is None:
        chosen = [list(range(depth)) for depth in depths]
    else:
        sides = [
            _peaks(peaks, source, numbers, config)
            for numbers in (images.positives, images.negatives)
        ]
        chosen = choose_candidates(*sides, config.candidates)
    found = [(tap, channel) for tap in wanted for channel in chosen[tap]]
    with files.atomic_file(path) as temporary:
        temporary.write_text(json.dumps(found) + "\n")
    return found


def _peaks(peaks, source, numbers, config) -> list[np.ndarray]:
    pieces = [
        [tap.numpy() for tap in peaks(batch)]
        for _, batch in batches(source, numbers, config.image_size, config.batch_size)
    ]
    return [np.concatenate(tap) for tap in zip(*pieces, strict=True)]


def location_function(taps_of: Taps, channels: Sequence[Sequence[int]]):
    """Returns a compiled function from images to the location of each channel.

    The location is the maximum of the channel's back-projected map after a little smoothing.

    Args:
        taps_of: Function from images to taps.
        channels: The tap and the channel of each candidate.

    Returns:
        Function from `(batch, height, width, 3)` images to int32 `(batch, channels, 2)`: (row,
        column) in pixels, -1 where the channel does not respond.
    """

    def places(maps):
        # As the authors' program, which takes what is outside an image as zero.
        smooth = gaussian_filter2d(
            maps[..., tf.newaxis], SMOOTHING_SIZE, SMOOTHING, padding="CONSTANT"
        )[..., 0]
        width = tf.shape(smooth)[2]
        flat = tf.reshape(smooth, (tf.shape(smooth)[0], -1))
        best = tf.argmax(flat, axis=1, output_type=tf.int32)
        place = tf.stack([best // width, best % width], axis=-1)
        responds = tf.reduce_max(flat, axis=1, keepdims=True) > 0
        # `back_project` collects floats; whole numbers of this size are exact in them.
        return tf.cast(tf.where(responds, place, -1), tf.float32)

    def locations(images):
        found = back_project(taps_of, images, channels, finish=places)
        return tf.cast(tf.transpose(found, (1, 0, 2)), tf.int32)

    return tf.function(locations, input_signature=[_IMAGES])


def locate(
    config: ConstellationConfig,
    source: ImageSource,
    images: ClassImages,
    channels: Sequence[Sequence[int]],
    taps_of: Taps,
    journal: Journal,
) -> np.ndarray:
    """Locates the candidates in every image of a class; what the journal has is not done again.

    Returns:
        int `(images, channels, 2)`: (row, column) in pixels, -1 where a channel does not respond.
    """
    keys = {int(number): source.paths_or_keys[number] for number in images.positives}
    missing = [number for number, key in keys.items() if key not in journal.records]
    compute = location_function(taps_of, channels) if missing else None
    with tqdm(
        total=len(keys), initial=len(keys) - len(missing), desc=images.name, unit=" images"
    ) as bar:
        for numbers, batch in batches(source, missing, config.image_size, config.batch_size):
            for number, places in zip(numbers, compute(batch).numpy(), strict=True):
                journal.add(keys[int(number)], {"places": places.tolist()})
            bar.update(len(numbers))
    return np.array([journal.records[key]["places"] for key in keys.values()])


def as_shares(places: np.ndarray, image_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Turns pixels into shares of the image's sides.

    Args:
        places: int `(images, channels, 2)`, -1 where a channel does not respond.
        image_size: int.

    Returns:
        float `(images, channels, 2)` and bool `(images, channels)`: where channels respond.
    """
    return (places + 0.5) / image_size, (places >= 0).all(axis=-1)
