"""Which images make up which training batch: positives and negatives of each class.

Which image stands where in which batch, and how it is augmented, is a pure function of the seed,
the class, the step and the place in the batch. So a run can continue at any step; several classes
in one pass see what each would see alone; and several workers draw their shares of one batch
without talking to each other.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.training import seeded_draws


@dataclasses.dataclass(frozen=True)
class BatchPlan:
    """Which images make up the batches of consecutive steps.

    The columns of a batch are the positives class by class, then the negatives: background images
    that all classes share, `(classes + 1) * slots` images in all; or, where there is no background,
    images of other classes, class by class, `2 * classes * slots` images in all.

    Args:
        image_index: int64 `(steps, images)`, places in the source.
        view: int64 `(steps, images)`, the view of each image; zeros without fixed views.
        augmentation_seed: int64 `(steps, images, 2)`.
        positives: int32 `(classes, slots)`, the columns of each class's positives.
        negatives: int32 `(classes, slots)`, the columns of each class's negatives.
    """

    image_index: np.ndarray
    view: np.ndarray
    augmentation_seed: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray


def plan_batches(
    source: ImageSource,
    class_indices: Sequence[int],
    *,
    batch_size: int,
    seed: int,
    start_step: int = 0,
    num_steps: int = 1,
    views: int | None = None,
    images_per_class: int | None = None,
    num_shards: int = 1,
    shard_index: int = 0,
) -> BatchPlan:
    """Draws the batches of `num_steps` steps from `start_step` on.

    Half of the batch of a class are images that contain it, half are background; images that only
    contain other classes are left alone, unless there is no background: then they take its place.
    Both kinds come in epochs: no image comes again before all of its kind have come, and each epoch
    has its own order.

    Args:
        source: the images.
        class_indices: columns of `source.labels`, from `source.require_classes`.
        batch_size: even int, images per step and class.
        seed: int, at least 0.
        start_step: int, the first step.
        num_steps: int, the number of steps.
        views: None to augment each draw anew, or the number of fixed views per image to draw from.
        images_per_class: int, the most images of each class to use; None for all.
        num_shards: int, number of workers that share each batch.
        shard_index: int, which of the shares to draw.

    Returns:
        The plan of this share of the batches.

    Raises:
        ValueError: a number is out of range, or a class has no images or no negatives.
    """
    check_numbers(batch_size, seed, start_step, num_steps, views)
    class_indices = check_class_indices(source, class_indices)
    draws = slot_draws(batch_size, start_step, num_steps, num_shards, shard_index)
    slots = draws.shape[1]

    pools = []
    for index in class_indices:
        pool = np.flatnonzero(source.labels[:, index])
        pools.append((index, seeded_draws.some_of(pool, images_per_class, seed, index)))
    if source.is_background.any():
        pools.append((seeded_draws.BACKGROUND_STREAM, np.flatnonzero(source.is_background)))
    else:
        for index in class_indices:
            pool = np.flatnonzero(source.is_negative(index))
            pools.append((seeded_draws.OTHERS_STREAM + index, pool))
    image_index = np.concatenate(
        [seeded_draws.draw_in_epochs(pool, draws, seed, stream) for stream, pool in pools], axis=1
    )
    streams = np.repeat([stream for stream, _ in pools], slots)
    draws = np.tile(draws, (1, len(pools)))
    view, seeds = seeded_draws.choose_views(image_index, streams, draws, seed, views)
    columns = np.arange(len(pools) * slots, dtype=np.int32).reshape(len(pools), slots)
    count = len(class_indices)
    return BatchPlan(
        image_index=image_index,
        view=view,
        augmentation_seed=seeds,
        positives=columns[:count],
        negatives=np.broadcast_to(columns[count:], (count, slots)),
    )


def all_views(num_images: int, views: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Enumerates the fixed views of all images.

    Args:
        num_images: int, images of the source.
        views: int, views per image.
        seed: int, as in `plan_batches`.

    Returns:
        image_index, view: int64 `(num_images * views,)`, the views of the first image first.
        augmentation_seed: int64 `(num_images * views, 2)`.
    """
    _check_views(views)
    image_index = np.repeat(np.arange(num_images), views)
    view = np.tile(np.arange(views), num_images)
    return image_index, view, seeded_draws.view_seeds(image_index, view, seed)


def slot_draws(
    batch_size: int, start_step: int, num_steps: int, num_shards: int, shard_index: int
) -> np.ndarray:
    """Counts, for each slot of a worker's half batches, the images of its kind drawn before.

    Returns:
        int64 `(steps, slots)`.

    Raises:
        ValueError: where half a batch cannot be shared equally, or there is no such share.
    """
    half = batch_size // 2
    if num_shards < 1 or half % num_shards or not 0 <= shard_index < num_shards:
        raise ValueError(
            "The shards must divide half a batch, and `shard_index` must be one of them. Received: "
            f"num_shards={num_shards}, shard_index={shard_index}, batch_size={batch_size}"
        )
    slots = half // num_shards
    before = np.arange(start_step, start_step + num_steps)[:, np.newaxis] * half
    return before + np.arange(shard_index * slots, (shard_index + 1) * slots)


def check_class_indices(source: ImageSource, class_indices: Sequence[int]) -> list[int]:
    """Returns columns of a source's labels; raises where they are unknown, repeated or empty."""
    indices = [int(index) for index in class_indices]
    wrong = [index for index in indices if not 0 <= index < len(source.class_names)]
    if not indices or wrong or len(set(indices)) != len(indices):
        raise ValueError(
            "`class_indices` must be different columns of the labels, at least 0 and below "
            f"{len(source.class_names)}. Received: class_indices={indices}"
        )
    source.require_classes([source.class_names[index] for index in indices])
    return indices


def check_numbers(
    batch_size: int, seed: int, start_step: int, num_steps: int, views: int | None
) -> None:
    """Raises where a number that a plan is made of is out of range."""
    if batch_size < 2 or batch_size % 2:
        raise ValueError(
            "`batch_size` must be even: half positives, half background. "
            f"Received: batch_size={batch_size}"
        )
    if seed < 0 or start_step < 0:
        raise ValueError(
            "`seed` and `start_step` must not be negative. "
            f"Received: seed={seed}, start_step={start_step}"
        )
    if num_steps < 1:
        raise ValueError(f"`num_steps` must be at least 1. Received: num_steps={num_steps}")
    if views is not None:
        _check_views(views)


def _check_views(views: int) -> None:
    if views < 1:
        raise ValueError(f"`views` must be at least 1. Received: views={views}")
