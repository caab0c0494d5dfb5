"""What a run of stage 1 found and will do, said before it begins."""

import time

import tensorflow as tf

from anchornet_tf.datasets.splits import Splits
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage1.report import MOST_BACKGROUND, MOST_POSITIVES

# One step of one class with 64 filters, over the trunk's pass over its batch (docs/performance.md).
_STEP_OVER_TRUNK = 0.31
_FILTERS = 64
_TIMED_IMAGES = 8
# Reading the data, statistics of the banks, the pictures.
_OTHER_SECONDS = 15
_CLASSES_SHOWN = 30
# Below this many images per class, a run says what that costs.
FEW_IMAGES = 30


def lines(
    config: Stage1Config, splits: Splits, views_to_compute: int, seconds_per_image: float, workdir
) -> list[str]:
    """Returns what is said: data, negatives, training, time, result.

    Args:
        config: what will be trained; its classes are those of the data.
        splits: the images.
        views_to_compute: int, how many views have to pass through the trunk first.
        seconds_per_image: float, of the trunk.
        workdir: folder of the run.
    """
    source = splits.train
    counts = source.images_per_class()
    held_out = splits.held_out.images_per_class()
    shown = [
        f"{name} {counts[name]:,} + {held_out.get(name, 0):,}"
        for name in config.classes[:_CLASSES_SHOWN]
    ]
    if len(config.classes) > _CLASSES_SHOWN:
        shown.append(f"and {len(config.classes) - _CLASSES_SHOWN:,} more")
    unreadable = len({*source.unreadable, *splits.held_out.unreadable})
    of_all = f" of {len(counts):,}" if len(counts) > len(config.classes) else ""
    measured = min(len(splits.held_out), MOST_POSITIVES * len(config.classes) + MOST_BACKGROUND)
    seconds = estimate(config, views_to_compute, seconds_per_image, measured)
    few = [name for name in config.classes if _used(config, counts[name]) < FEW_IMAGES]
    return [
        f"Data:      {source.spec}: {len(source):,} images to train on, {len(splits.held_out):,} "
        f"held out, {unreadable:,} unreadable",
        f"Classes:   {len(config.classes):,}{of_all} (training + held-out images): "
        f"{', '.join(shown)}",
        f"Negatives: {splits.negatives}",
        *_about_few(few),
        f"Training:  {config.steps:,} steps; {views_to_compute:,} views of images pass through the "
        "trunk first",
        f"Time:      about {_duration(seconds)} here",
        f"Result:    {workdir}",
    ]


def _used(config: Stage1Config, images: int) -> int:
    return images if config.images_per_class is None else min(images, config.images_per_class)


def _about_few(classes: list[str]) -> list[str]:
    if not classes:
        return []
    shown = ", ".join(classes[:_CLASSES_SHOWN])
    return [
        f"Few:       {shown} with fewer than {FEW_IMAGES} images. With 10 images, PCK at 0.1 was "
        "0.01 (Hough) to 0.02 (nearest) lower than with 300; --views=16 makes up for most of it"
    ]


def seconds_per_image(extractor: TapExtractor, image_size: int) -> float:
    """Measures the trunk on a few images, after a first pass that compiles it."""
    images = tf.zeros((_TIMED_IMAGES, image_size, image_size, 3))
    extractor(images)
    start = time.perf_counter()
    extractor(images)
    return (time.perf_counter() - start) / _TIMED_IMAGES


def estimate(
    config: Stage1Config, views_to_compute: int, trunk_seconds: float, held_out: int
) -> float:
    """Returns about how many seconds a run takes, from the trunk's time per image."""
    images = config.steps * config.batch_size * len(config.classes)
    steps = images * _STEP_OVER_TRUNK * config.num_filters / _FILTERS
    if not config.cache_features:
        steps += config.steps * config.batch_size * (len(config.classes) + 1) / 2
    return (views_to_compute + steps + held_out) * trunk_seconds + _OTHER_SECONDS


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
