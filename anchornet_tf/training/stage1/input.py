"""Stage 1's input: images for the live trunk, or taps that were computed once and cached."""

import dataclasses

import tensorflow as tf

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.training import image_batches
from anchornet_tf.training.batch_plan import BatchPlan, plan_batches
from anchornet_tf.training.cached_views import CachedViews
from anchornet_tf.training.stage1.config import Stage1Config

# Of each class. With 48 the descriptors of 128 filters match a little worse.
_CALIBRATION_IMAGES = 240


def plan(
    config: Stage1Config, source: ImageSource, start: int, shards: int = 1, index: int = 0
) -> BatchPlan:
    """Returns one replica's share of the batches after step `start`."""
    return plan_batches(
        source,
        source.require_classes(config.classes),
        batch_size=config.batch_size,
        seed=config.seed,
        start_step=start,
        num_steps=config.steps - start,
        views=config.views if config.cache_features else None,
        images_per_class=config.images_per_class,
        num_shards=shards,
        shard_index=index,
    )


def calibration_plan(config: Stage1Config, source: ImageSource) -> BatchPlan:
    """Returns the positives of the last batches: where taps are cached, theirs are there."""
    steps = min(config.steps, -(-_CALIBRATION_IMAGES // (config.batch_size // 2)))
    whole = plan(config, source, config.steps - steps)
    count = whole.positives.size  # They come first, class by class.
    return dataclasses.replace(
        whole,
        image_index=whole.image_index[:, :count],
        view=whole.view[:, :count],
        augmentation_seed=whole.augmentation_seed[:, :count],
        negatives=whole.negatives[:, :0],
    )


def batches(
    config: Stage1Config, source: ImageSource, cached: CachedViews | None, share: BatchPlan
) -> tf.data.Dataset:
    """Returns the taps of a plan's batches, or their images where nothing is cached."""
    if cached is not None:
        return cached.batches(share)
    images = image_batches.planned_images(source, share, config.image_size)
    return images.map(lambda batch: batch["image"]).prefetch(2)
