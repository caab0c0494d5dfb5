"""Taps of a few fixed views of each training image, computed by the frozen trunk once."""

import os
import pathlib

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training import image_batches, tap_cache
from anchornet_tf.training.batch_plan import BatchPlan
from anchornet_tf.training.joint_plan import JointPlan
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage2.config import Stage2Config
from anchornet_tf.trunks import registry
from anchornet_tf.trunks.pca import DIMENSIONS, HypercolumnPCA

_BATCHES_AHEAD = 2
_EXTRACTION_BATCH = 16


class CachedViews:
    """Reads batches of taps from the cache; `fill` makes what is missing.

    Args:
        source: the training images.
        folder: of all caches, or None for the one in the cache folder; each combination of images,
            PCA, weights, size, views and seed has a folder of its own there, which runs of both
            stages share.
        pca_digest: str that identifies the projections.
        weights: str, the trunk's, as in `Backbone`.
        image_size: int, side of the square images.
        views: int, views per image; the first is the image itself.
        seed: int, of the views.
        dimensions: int, channels of each tap after the PCA, at most.
        trunk: the trunk, as in `Backbone`.
    """

    def __init__(
        self,
        source: ImageSource,
        folder: str | os.PathLike | None,
        *,
        pca_digest: str,
        weights: str,
        image_size: int,
        views: int,
        seed: int,
        dimensions: int = DIMENSIONS,
        trunk: registry.Trunk = registry.DEFAULT,
    ):
        self.source = source
        self.image_size, self.views, self.seed = image_size, views, seed
        described = registry.find(trunk)
        # Caches of the paper's trunk are older than this entry.
        usual = described == registry.find(registry.DEFAULT)
        others = {} if usual else {"trunk": described.to_json()}
        key = tap_cache.cache_key(
            **others,
            source=source.fingerprint(),
            pca=pca_digest,
            weights=weights,
            image_size=image_size,
            views=views,
            seed=seed,
        )
        folder = pathlib.Path(folder or tap_cache.default_folder())
        self.cache = tap_cache.TapCache(
            folder / key, len(source) * views, image_size, dimensions, described
        )

    @classmethod
    def of_run(
        cls,
        config: Stage1Config | Stage2Config,
        source: ImageSource,
        folder: str | os.PathLike | None,
        projections: HypercolumnPCA,
        trunk: registry.Trunk,
    ) -> "CachedViews":
        """Returns the cache of a run's configuration."""
        return cls(
            source,
            folder,
            pca_digest=projections.digest(),
            weights=config.weights,
            image_size=config.image_size,
            views=config.views,
            seed=config.seed,
            dimensions=max(projections.depths),
            trunk=trunk,
        )

    def fill(self, extractor: TapExtractor, plan: BatchPlan | JointPlan) -> int:
        """Computes the taps that a plan needs and that no earlier run left; returns how many."""

        def compute(rows):
            images = image_batches.view_images(
                self.source, self.image_size, self.views, self.seed, rows=rows
            )
            batches = images.map(lambda element: element["image"]).batch(_EXTRACTION_BATCH)
            done = 0
            for batch in batches.prefetch(_BATCHES_AHEAD):
                yield rows[done : done + len(batch)], extractor(batch)
                done += len(batch)

        return self.cache.fill(self._rows(plan).ravel(), compute)

    def missing(self, plan: BatchPlan | JointPlan) -> np.ndarray:
        """Returns the rows that a plan needs and that no earlier run left."""
        return self.cache.missing(self._rows(plan).ravel())

    def batches(self, plan: BatchPlan | JointPlan) -> tf.data.Dataset:
        """Returns the taps of a plan, one batch per step."""
        rows_of_steps = self._rows(plan)
        signature = tuple(
            tf.TensorSpec((rows_of_steps.shape[1], *shape), tf.float16)
            for shape in self.cache.shapes
        )
        steps = tf.data.Dataset.from_generator(
            lambda: (self.cache.read(rows) for rows in rows_of_steps), output_signature=signature
        )
        return steps.prefetch(_BATCHES_AHEAD)

    def _rows(self, plan: BatchPlan | JointPlan) -> np.ndarray:
        """Returns the cache's rows of each step: `(steps, images)`."""
        return plan.image_index * self.views + plan.view
