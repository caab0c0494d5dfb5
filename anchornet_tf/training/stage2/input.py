"""Stage 2's input: images for the live trunk, or cached taps where the trunk is frozen."""

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.training import image_batches
from anchornet_tf.training.cached_views import CachedViews
from anchornet_tf.training.joint_plan import JointPlan, plan_joint_batches
from anchornet_tf.training.stage2.config import Stage2Config


def plan(
    config: Stage2Config,
    source: ImageSource,
    columns: list[int],
    start: int,
    shards: int = 1,
    index: int = 0,
) -> JointPlan:
    """Returns one replica's share of the batches after step `start`."""
    return plan_joint_batches(
        source,
        columns,
        batch_size=config.batch_size,
        seed=config.seed,
        start_step=start,
        num_steps=config.steps - start,
        views=config.views if config.freeze_trunk else None,
        num_shards=shards,
        shard_index=index,
    )


def calibration_plan(
    config: Stage2Config, source: ImageSource, columns: list[int], images: int
) -> JointPlan:
    """Returns batches of at least `images` positives, uniform over the classes, as they are."""
    steps = -(-images // (config.batch_size // 2))
    whole = plan_joint_batches(
        source,
        columns,
        batch_size=config.batch_size,
        seed=config.seed,
        num_steps=steps,
        views=config.views,
    )
    half = config.batch_size // 2
    return JointPlan(
        image_index=whole.image_index[:, :half],
        # The first view is the image itself.
        view=np.zeros_like(whole.view[:, :half]),
        augmentation_seed=whole.augmentation_seed[:, :half],
        class_index=whole.class_index,
        noise_seed=whole.noise_seed[:, :half],
    )


def batches(
    config: Stage2Config, source: ImageSource, cached: CachedViews | None, share: JointPlan
) -> tf.data.Dataset:
    """Returns the batches of a plan as dicts.

    They hold `taps` or `images`, `class_index`, `noise_seed` and, where there is no background,
    `negative_of`.
    """
    if cached is not None:
        inputs = cached.batches(share).map(lambda *taps: {"taps": taps})
    else:
        images = image_batches.planned_images(source, share, config.image_size)
        inputs = images.map(lambda batch: {"images": batch["image"]})
    drawn = {"class_index": share.class_index, "noise_seed": share.noise_seed}
    if share.negative_of is not None:
        drawn["negative_of"] = share.negative_of
    drawn = tf.data.Dataset.from_tensor_slices(drawn)
    return tf.data.Dataset.zip(inputs, drawn).map(lambda batch, rest: batch | rest).prefetch(2)
