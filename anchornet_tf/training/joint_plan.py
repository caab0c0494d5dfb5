"""Which images make up stage 2's batches: positives uniform over the classes, and negatives.

As in `batch_plan`, everything is a pure function of the seed, the step and the place in the batch.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.training import seeded_draws
from anchornet_tf.training.batch_plan import check_class_indices, check_numbers, slot_draws


@dataclasses.dataclass(frozen=True)
class JointPlan:
    """Which images make up the batches of consecutive steps: the positives, then the negatives.

    Args:
        image_index: int64 `(steps, 2 * slots)`, places in the source.
        view: int64 `(steps, 2 * slots)`, the view of each image; zeros without fixed views.
        augmentation_seed: int64 `(steps, 2 * slots, 2)`.
        class_index: int64 `(steps, slots)`, for which of the classes each positive was drawn.
        noise_seed: int64 `(steps, 2 * slots, 2)`, of the autoencoder's noise; new at every draw.
        is_negative: bool `(steps, slots, classes)`, for which classes each negative is one; None
            for all of them, as for images of background.
    """

    image_index: np.ndarray
    view: np.ndarray
    augmentation_seed: np.ndarray
    class_index: np.ndarray
    noise_seed: np.ndarray
    is_negative: np.ndarray | None = None


def plan_joint_batches(
    source: ImageSource,
    class_indices: Sequence[int],
    *,
    batch_size: int,
    seed: int,
    start_step: int = 0,
    num_steps: int = 1,
    views: int | None = None,
    num_shards: int = 1,
    shard_index: int = 0,
) -> JointPlan:
    """Draws the batches of `num_steps` steps from `start_step` on.

    Half of a batch are images of objects, half are background. The classes take turns: each comes
    once, in random order, before any comes again. So do the images of a class and the background
    images. Where there is no background, images of all classes take its place, and each is a
    negative of the classes that it does not show.

    Args:
        source, class_indices, seed, start_step, num_steps, views, num_shards, shard_index: as in
            `batch_plan.plan_batches`.
        batch_size: even int, images per step.

    Returns:
        The plan of this share of the batches.

    Raises:
        ValueError: a number is out of range, or a class has no images or no negatives.
    """
    check_numbers(batch_size, seed, start_step, num_steps, views)
    class_indices = check_class_indices(source, class_indices)
    draws = slot_draws(batch_size, start_step, num_steps, num_shards, shard_index)
    slots = draws.shape[1]

    class_count = len(class_indices)
    class_index = seeded_draws.draw_in_epochs(
        np.arange(class_count), draws, seed, seeded_draws.CLASS_STREAM
    )
    positives = np.empty_like(draws)
    for place, column in enumerate(class_indices):
        here = class_index == place
        pool = np.flatnonzero(source.labels[:, column])
        # One draw of each class per round.
        rounds = draws[here] // class_count
        positives[here] = seeded_draws.draw_in_epochs(pool, rounds, seed, column)
    # (images, classes); all classes alike where there is background.
    is_negative = np.stack([source.is_negative(column) for column in class_indices], axis=1)
    negatives = seeded_draws.draw_in_epochs(
        np.flatnonzero(is_negative.any(axis=1)), draws, seed, seeded_draws.BACKGROUND_STREAM
    )
    image_index = np.concatenate([positives, negatives], axis=1)
    streams = np.repeat([seeded_draws.CLASS_STREAM, seeded_draws.BACKGROUND_STREAM], slots)
    draws = np.tile(draws, (1, 2))
    view, augmentation_seed = seeded_draws.choose_views(image_index, streams, draws, seed, views)
    return JointPlan(
        image_index=image_index,
        view=view,
        augmentation_seed=augmentation_seed,
        class_index=class_index,
        noise_seed=seeded_draws.seed_pairs(seeded_draws.NOISE_SEED, seed, streams, draws),
        is_negative=None if source.is_background.any() else is_negative[negatives],
    )
