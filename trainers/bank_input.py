"""Stage 1's input: images for the live trunk, or taps that were computed once and cached."""

import tensorflow as tf

from anchornet_tf.datasets import weak_labels
from anchornet_tf.datasets.batch_plan import BatchPlan, plan_batches
from anchornet_tf.datasets.image_source import ImageSource
from trainers.cached_taps import CachedTaps
from trainers.config import Stage1Config


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
        num_shards=shards,
        shard_index=index,
    )


def shard(
    config: Stage1Config,
    source: ImageSource,
    cached: CachedTaps | None,
    start: int,
    shards: int,
    index: int,
) -> tf.data.Dataset:
    """Returns the taps of one replica's share of the batches, or its images where nothing is cached."""
    share = plan(config, source, start, shards, index)
    if cached is not None:
        return cached.batches(share)
    images = weak_labels.planned_images(source, share, config.image_size)
    return images.map(lambda batch: batch["image"]).prefetch(2)
