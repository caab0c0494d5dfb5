"""The images of planned batches, read and augmented, as `tf.data`."""

import functools

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.training import augmentation
from anchornet_tf.training.batch_plan import BatchPlan, all_views
from anchornet_tf.training.joint_plan import JointPlan


def planned_images(
    source: ImageSource,
    plan: BatchPlan | JointPlan,
    image_size: int,
    augment: bool = True,
    fixed_views: bool = False,
) -> tf.data.Dataset:
    """Makes the images of a plan, one batch per step.

    Args:
        source: the images.
        plan: which of them make up which batch.
        image_size: int, side of the square images.
        augment: bool; without it, images are only squashed to size.
        fixed_views: bool, whether the plan draws from fixed views, of which the first is the image
            itself.

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
    rows: np.ndarray | None = None,
) -> tf.data.Dataset:
    """Makes all fixed views of all images, in order: what plans with `views` draw from.

    Args:
        source: the images.
        image_size: int, side of the square images.
        views: int, number of views per image.
        seed: int, the seed of the training.
        rows: int `(n,)`, make only these elements, in this order; None for all.

    Returns:
        A dataset of dicts, not batched: `image` float32 `(image_size, image_size, 3)`,
        `image_index` and `view`. Element `image_index * views + view` is that view of that image.
    """
    image_index, view, seeds = all_views(len(source), views, seed)
    if rows is not None:
        image_index, view, seeds = image_index[rows], view[rows], seeds[rows]
    images = _images(source, image_index, view, seeds, image_size, augment=True, fixed_views=True)
    return _with_options(images.prefetch(tf.data.AUTOTUNE))


def _images(
    source: ImageSource,
    image_index: np.ndarray,
    view: np.ndarray,
    seeds: np.ndarray,
    image_size: int,
    augment: bool,
    fixed_views: bool,
) -> tf.data.Dataset:
    if image_size < 1:
        raise ValueError(f"`image_size` must be positive. Received: image_size={image_size}")

    def prepare(element: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        image = source.image_tensor(element["image_index"])
        plain = functools.partial(augmentation.evaluation_resize, image, image_size)
        if augment:
            changed = functools.partial(augmentation.augment, image, image_size, element["seed"])
            image = tf.cond(element["plain"], plain, changed)
        else:
            image = plain()
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
