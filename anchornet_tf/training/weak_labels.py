"""Training batches of images from image-level labels, as `tf.data`."""

import functools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.training import augmentation
from anchornet_tf.training.batch_plan import BatchPlan, all_views, plan_batches, sample_step
from anchornet_tf.training.joint_plan import JointPlan

__all__ = ["plan_batches", "planned_images", "sample_step", "training_batches", "view_images"]

_BATCHES_AHEAD = 2


def training_batches(
    source: ImageSource,
    class_indices: Sequence[int],
    *,
    batch_size: int,
    image_size: int,
    seed: int,
    start_step: int,
    num_steps: int,
    augment: bool | augmentation.Augmentation = True,
    views: int | None = None,
    num_shards: int = 1,
    shard_index: int = 0,
) -> tf.data.Dataset:
    """Makes the training batches of steps `start_step .. start_step + num_steps - 1`.

    Args:
        source, class_indices, batch_size, seed, start_step, num_steps, views, num_shards,
            shard_index: as in `plan_batches`.
        image_size: int, side of the square images.
        augment: True, False (images are only squashed to size), or how much.

    Returns:
        A dataset of dicts, with n = (classes + 1) * batch_size / 2 / num_shards:

        - `images`: float32 `(n, image_size, image_size, 3)`, RGB, 0..255
        - `image_index`: int64 `(n,)`, places in the source
        - `view`: int64 `(n,)`, zeros without `views`
        - `positives`, `negatives`: int32 `(classes, batch_size / 2 / num_shards)`, for each class
          the rows of `images` that are its positives and its negatives
        - `step`: int64 scalar

    Example:

    ```python
    source = open_source("parts_world")
    classes = source.require_classes(["bird", "cow"])
    for batch in training_batches(source, classes, batch_size=16, image_size=224, seed=0,
                                  start_step=0, num_steps=1000):
        birds = tf.gather(batch["images"], batch["positives"][0])  # (8, 224, 224, 3)
    ```
    """
    plan = plan_batches(
        source,
        class_indices,
        batch_size=batch_size,
        seed=seed,
        start_step=start_step,
        num_steps=num_steps,
        views=views,
        num_shards=num_shards,
        shard_index=shard_index,
    )
    batches = planned_images(source, plan, image_size, augment, fixed_views=views is not None)
    steps = tf.data.Dataset.range(start_step, start_step + num_steps)
    batches = tf.data.Dataset.zip(batches, steps).map(
        lambda batch, step: {
            "images": batch["image"],
            "image_index": batch["image_index"],
            "view": batch["view"],
            "positives": tf.constant(plan.positives),
            "negatives": tf.constant(plan.negatives),
            "step": step,
        },
        num_parallel_calls=1,
    )
    return _with_options(batches.prefetch(_BATCHES_AHEAD))


def planned_images(
    source: ImageSource,
    plan: BatchPlan | JointPlan,
    image_size: int,
    augment: bool | augmentation.Augmentation = True,
    fixed_views: bool = False,
) -> tf.data.Dataset:
    """Makes the images of a plan, a batch a step.

    Args:
        source: the images.
        plan: which of them make up which batch.
        image_size: int, side of the square images.
        augment: as in `training_batches`.
        fixed_views: bool, whether the plan draws from fixed views, of which the first is the image itself.

    Returns:
        A dataset of dicts: `image` float32 `(n, image_size, image_size, 3)`, `image_index`, `view`.
    """
    images = _images(
        source,
        plan.image_index.reshape(-1),
        plan.view.reshape(-1),
        plan.augmentation_seed.reshape(-1, 2),
        image_size,
        augment,
        fixed_views,
    )
    return _with_options(images.batch(plan.image_index.shape[1], drop_remainder=True))


def view_images(
    source: ImageSource,
    image_size: int,
    views: int,
    seed: int,
    augment: bool | augmentation.Augmentation = True,
    rows: np.ndarray | None = None,
) -> tf.data.Dataset:
    """Makes all fixed views of all images, in order: what `training_batches(views=...)` draws from.

    Args:
        source: the images.
        image_size: int, side of the square images.
        views: int, number of views of an image.
        seed: int, the seed of the training.
        augment: as in `training_batches`.
        rows: int `(n,)`, make only these elements, in this order; None for all.

    Returns:
        A dataset of dicts, not batched: `image` float32 `(image_size, image_size, 3)`,
        `image_index` and `view`. Element `image_index * views + view` is that view of that image.
    """
    image_index, view, seeds = all_views(len(source), views, seed)
    if rows is not None:
        image_index, view, seeds = image_index[rows], view[rows], seeds[rows]
    images = _images(source, image_index, view, seeds, image_size, augment, fixed_views=True)
    return _with_options(images.prefetch(tf.data.AUTOTUNE))


def _images(
    source: ImageSource,
    image_index: np.ndarray,
    view: np.ndarray,
    seeds: np.ndarray,
    image_size: int,
    augment: bool | augmentation.Augmentation,
    fixed_views: bool,
) -> tf.data.Dataset:
    if image_size < 1:
        raise ValueError(f"`image_size` must be positive. Received: image_size={image_size}")
    settings = augmentation.Augmentation() if augment is True else augment

    def prepare(element: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        image = source.image_tensor(element["image_index"])
        plain = functools.partial(augmentation.evaluation_resize, image, image_size)
        if not settings:
            image = plain()
        else:
            changed = functools.partial(
                augmentation.augment, image, image_size, element["seed"], settings
            )
            image = tf.cond(element["plain"], plain, changed)
        return {"image": image, "image_index": element["image_index"], "view": element["view"]}

    # Of an image's fixed views the first is the image itself.
    plain = (view == 0) & fixed_views
    elements = {"image_index": image_index, "view": view, "seed": seeds, "plain": plain}
    return tf.data.Dataset.from_tensor_slices(elements).map(
        prepare, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True
    )


def _with_options(dataset: tf.data.Dataset) -> tf.data.Dataset:
    options = tf.data.Options()
    options.deterministic = True
    # Shares of a batch are drawn by `num_shards`; TensorFlow must not divide them again.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return dataset.with_options(options)
