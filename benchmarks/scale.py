"""Many images and many pairs: memory stays flat, and no image is described twice."""

import itertools
import time

import numpy as np

from anchornet_tf.datasets import sources
from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.matchers.api import match_many
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training import image_batches
from benchmarks import memory, models
from benchmarks.growth import random_pictures
from benchmarks.results import Curve, Goal, Line, Results, Row, Spread
from benchmarks.settings import Settings

_BATCH_SIZE = 50
# Memory is flat when the last fifth of the images finds no more of it in use than the second, but
# for noise.
_FLAT = Goal(1.05)
_SEED = 0


def ten_thousand_images(settings: Settings) -> Results:
    """Images through the input pipeline and the trunk; a shorter listing is repeated."""
    count, every = settings.choose((10_000, 250), (200, 50))
    source = sources.open_source(settings.data)
    extractor = TapExtractor(models.backbone())
    rows = np.arange(count) % len(source)
    images = image_batches.view_images(source, settings.choose(64, 32), 1, _SEED, rows=rows)
    batches = images.map(lambda element: element["image"]).batch(_BATCH_SIZE).prefetch(2)
    places, resident, done = [], [], 0
    start = time.perf_counter()
    for batch in batches:
        extractor(batch)
        done += len(batch)
        if done % every == 0:
            places.append(done)
            resident.append(memory.resident_bytes() / memory.MEGABYTE)
    seconds = time.perf_counter() - start
    fifth = max(1, len(resident) // 5)
    growth = Spread.of(resident[-fifth:]).median / Spread.of(resident[fifth : 2 * fifth]).median
    line = Line("resident memory", tuple(places), tuple((value,) for value in resident))
    return Results(
        (
            Row(f"{count} images: memory of the last fifth", "x second fifth", (growth,), _FLAT),
            Row(f"{count} images: speed", "images/s", (count / seconds,)),
        ),
        (Curve(f"{count} images", "images", "MB", (line,), logarithmic=False),),
    )


class CountingDescriptor:
    """A descriptor that counts the images it is given."""

    def __init__(self, describe):
        self._describe = describe
        self.count = 0

    def __call__(self, images):
        self.count += len(images)
        return self._describe(images)


def described_once(settings: Settings) -> Results:
    """`match_many`: each image is described once, however many pairs it is in."""
    num_images, num_pairs, size = settings.choose((100, 1000, 112), (6, 20, 32))
    network = models.network(*settings.choose((20, 32), (2, 4)))
    describe = CountingDescriptor(DeepDescriptor(network.features, size))
    images = random_pictures(num_images, size)
    every = list(itertools.permutations(range(num_images), 2))
    chosen = np.random.default_rng(_SEED).choice(len(every), num_pairs, replace=False)
    pairs = [every[index] for index in chosen]
    used = len({index for pair in pairs for index in pair})
    start = time.perf_counter()
    matched = sum(1 for _ in match_many(pairs, images, describe, "nearest", progress=False))
    seconds = time.perf_counter() - start
    name = f"match_many, {matched} pairs of {used} images"
    return Results(
        (
            Row(f"{name}: images described", "images", (float(describe.count),), Goal(used)),
            Row(f"{name}: speed", "pairs/s", (matched / seconds,)),
        )
    )
