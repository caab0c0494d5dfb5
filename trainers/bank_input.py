"""Stage 1's input: images for the live trunk, or taps that were computed once and cached."""

import pathlib

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets import tap_cache, weak_labels
from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.models.tap_extractor import TapExtractor
from trainers.config import Stage1Config

_BATCHES_AHEAD = 2
_EXTRACTION_BATCH = 16


def image_shard(config: Stage1Config, source: ImageSource, start: int, shards: int, index: int):
    """Returns one replica's share of augmented images for the steps after `start`."""
    batches = weak_labels.training_batches(
        source,
        source.require_classes(config.classes),
        batch_size=config.batch_size,
        image_size=config.image_size,
        seed=config.seed,
        start_step=start,
        num_steps=config.steps - start,
        num_shards=shards,
        shard_index=index,
    )
    return batches.map(lambda batch: batch["images"])


class CachedTaps:
    """Taps of a few fixed views of each training image, computed by the trunk once.

    Args:
        config: of the run.
        source: its training images.
        folder: of all caches; each combination of images, PCA and views has a folder of its own there.
        pca_digest: str that identifies the projections.
    """

    def __init__(
        self, config: Stage1Config, source: ImageSource, folder: pathlib.Path, pca_digest: str
    ):
        self.config = config
        self.source = source
        self._columns = source.require_classes(config.classes)
        key = tap_cache.cache_key(
            source=source.fingerprint(),
            pca=pca_digest,
            weights=config.weights,
            image_size=config.image_size,
            views=config.views,
            seed=config.seed,
        )
        self.cache = tap_cache.TapCache(folder / key, len(source) * config.views, config.image_size)

    def _plan(self, start: int, shards: int = 1, index: int = 0) -> np.ndarray:
        """Returns the cache's rows for each step after `start`: `(steps, images)`."""
        config = self.config
        plan = weak_labels.plan_batches(
            self.source,
            self._columns,
            batch_size=config.batch_size,
            seed=config.seed,
            start_step=start,
            num_steps=config.steps - start,
            views=config.views,
            num_shards=shards,
            shard_index=index,
        )
        return plan.image_index * config.views + plan.view

    def fill(self, extractor: TapExtractor, start: int) -> int:
        """Computes the taps that the steps after `start` need and that no earlier run left."""

        def compute(rows):
            config = self.config
            images = weak_labels.view_images(
                self.source, config.image_size, config.views, config.seed, rows=rows
            )
            batches = images.map(lambda element: element["image"]).batch(_EXTRACTION_BATCH)
            done = 0
            for batch in batches.prefetch(_BATCHES_AHEAD):
                yield rows[done : done + len(batch)], extractor(batch)
                done += len(batch)

        return self.cache.fill(self._plan(start).ravel(), compute)

    def shard(self, start: int, shards: int, index: int) -> tf.data.Dataset:
        """Returns one replica's share of taps for the steps after `start`."""
        plan = self._plan(start, shards, index)
        signature = tuple(
            tf.TensorSpec((plan.shape[1], *shape), tf.float16) for shape in self.cache.shapes
        )
        steps = tf.data.Dataset.from_generator(
            lambda: (self.cache.read(rows) for rows in plan), output_signature=signature
        )
        return steps.prefetch(_BATCHES_AHEAD)
