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
        negative_of: int64 `(steps, slots)`, of which of the classes each negative is one; None
            where all are images of background, which are negatives of all classes.
    """

    image_index: np.ndarray
    view: np.ndarray
    augmentation_seed: np.ndarray
    class_index: np.ndarray
    noise_seed: np.ndarray
    negative_of: np.ndarray | None = None


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
    images. Where there is no background, images without a class take its place, a class at a time
    as for the positives.

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

    def drawn_for_classes(pools, class_stream, first_stream):
        """Returns images of the classes' pools, the classes in turns; and the class of each."""
        chosen = seeded_draws.draw_in_epochs(np.arange(len(pools)), draws, seed, class_stream)
        images = np.empty_like(draws)
        for place, (column, pool) in enumerate(zip(class_indices, pools, strict=True)):
            here = chosen == place
            # One draw of each class per round.
            rounds = draws[here] // len(pools)
            images[here] = seeded_draws.draw_in_epochs(pool, rounds, seed, first_stream + column)
        return images, chosen

    positives, class_index = drawn_for_classes(
        [np.flatnonzero(source.labels[:, column]) for column in class_indices],
        seeded_draws.CLASS_STREAM,
        0,
    )
    if source.is_background.any():
        background = np.flatnonzero(source.is_background)
        negatives = seeded_draws.draw_in_epochs(
            background, draws, seed, seeded_draws.BACKGROUND_STREAM
        )
        negative_of = None
    else:
        negatives, negative_of = drawn_for_classes(
            [np.flatnonzero(source.is_negative(column)) for column in class_indices],
            seeded_draws.OTHER_CLASS_STREAM,
            seeded_draws.OTHERS_STREAM,
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
        negative_of=negative_of,
    )
