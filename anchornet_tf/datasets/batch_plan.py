"""Which images make up which training batch: positives of each class, and background.

Which image stands where in which batch, and how it is augmented, is a pure function of the seed,
the class, the step and the place in the batch. So a run can continue at any step; several classes
in one pass see what each would see alone; and several workers draw their shares of one batch
without talking to each other.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from anchornet_tf.datasets.image_source import ImageSource

# What a random number is for. Numbers for one purpose do not depend on those for another.
_ORDER, _VIEW_CHOICE, _DRAW_SEED, _VIEW_SEED = range(4)
# Stands for the background where a class index is expected.
_BACKGROUND_STREAM = 2**32


@dataclasses.dataclass(frozen=True)
class BatchPlan:
    """Which images make up the batches of consecutive steps.

    The columns of a batch are the positives class by class, then the negatives that all classes
    share: `(classes + 1) * slots` images.

    Args:
        image_index: int64 `(steps, images)`, places in the source.
        view: int64 `(steps, images)`, the view of each image; zeros without fixed views.
        augmentation_seed: int64 `(steps, images, 2)`.
        positives: int32 `(classes, slots)`, the columns of each class's positives.
        negatives: int32 `(classes, slots)`, columns of each class's negatives, the same for all.
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
    num_shards: int = 1,
    shard_index: int = 0,
) -> BatchPlan:
    """Draws the batches of `num_steps` steps from `start_step` on.

    Half of the batch of a class are images that contain it, half are background; images that only
    contain other classes are left alone. Both kinds come in epochs: no image comes again before all
    of its kind have come, and each epoch has its own order.

    Args:
        source: the images.
        class_indices: columns of `source.labels`, from `source.require_classes`.
        batch_size: even int, images a step and class.
        seed: int, at least 0.
        start_step: int, the first step.
        num_steps: int, the number of steps.
        views: None to augment each draw anew; int to draw one of so many fixed views of the image.
        num_shards: int, number of workers that share each batch.
        shard_index: int, which of the shares to draw.

    Returns:
        The plan of this share of the batches.

    Raises:
        ValueError: a number is out of range, or a class or the background has no image.
    """
    _check_numbers(batch_size, seed, start_step, num_steps)
    if views is not None:
        _check_views(views)
    class_indices = _check_class_indices(source, class_indices)
    half = batch_size // 2
    if num_shards < 1 or half % num_shards or not 0 <= shard_index < num_shards:
        raise ValueError(
            "The shards must divide half a batch, and `shard_index` must be one of them. Received: "
            f"num_shards={num_shards}, shard_index={shard_index}, batch_size={batch_size}"
        )
    slots = half // num_shards
    # (steps, slots): how many images of the same kind were drawn before this one.
    draws = np.arange(start_step, start_step + num_steps)[:, np.newaxis] * half
    draws = draws + np.arange(shard_index * slots, (shard_index + 1) * slots)

    pools = [(index, np.flatnonzero(source.labels[:, index])) for index in class_indices]
    pools.append((_BACKGROUND_STREAM, np.flatnonzero(source.is_background)))
    image_index = np.concatenate(
        [_draw_in_epochs(pool, draws, seed, stream) for stream, pool in pools], axis=1
    )
    streams = np.repeat([stream for stream, _ in pools], slots)
    draws = np.tile(draws, (1, len(pools)))
    if views is None:
        view = np.zeros_like(image_index)
        seeds = _seed_pairs(_DRAW_SEED, seed, streams, draws)
    else:
        view = (_random_bits(_VIEW_CHOICE, seed, streams, draws) % np.uint64(views)).astype(
            np.int64
        )
        seeds = _view_seeds(image_index, view, seed)

    columns = np.arange(len(pools) * slots, dtype=np.int32).reshape(len(pools), slots)
    return BatchPlan(
        image_index=image_index,
        view=view,
        augmentation_seed=seeds,
        positives=columns[:-1],
        negatives=np.repeat(columns[-1:], len(class_indices), axis=0),
    )


def sample_step(
    source: ImageSource, class_indices: Sequence[int], step: int, batch_size: int, seed: int
) -> np.ndarray:
    """Returns the images of one step: int64 `(classes * batch_size / 2 + batch_size / 2,)`.

    First come the positives class by class, then the background images; see `plan_batches`.
    """
    plan = plan_batches(source, class_indices, batch_size=batch_size, seed=seed, start_step=step)
    return plan.image_index[0]


def all_views(num_images: int, views: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Enumerates the fixed views of all images.

    Args:
        num_images: int, images of the source.
        views: int, views of an image.
        seed: int, as in `plan_batches`.

    Returns:
        image_index, view: int64 `(num_images * views,)`, the views of the first image first.
        augmentation_seed: int64 `(num_images * views, 2)`.
    """
    _check_views(views)
    image_index = np.repeat(np.arange(num_images), views)
    view = np.tile(np.arange(views), num_images)
    return image_index, view, _view_seeds(image_index, view, seed)


def _draw_in_epochs(pool: np.ndarray, draws: np.ndarray, seed: int, stream: int) -> np.ndarray:
    epochs, places = np.divmod(draws, len(pool))
    drawn = np.empty_like(draws)
    for epoch in np.unique(epochs):
        here = epochs == epoch
        drawn[here] = pool[_epoch_order(len(pool), seed, stream, int(epoch))[places[here]]]
    return drawn


# Steps are planned one at a time too, and an epoch of a large background is long.
@functools.lru_cache(maxsize=64)
def _epoch_order(count: int, seed: int, stream: int, epoch: int) -> np.ndarray:
    keys = _random_bits(_ORDER, seed, stream, epoch, np.arange(count))
    return np.argsort(keys, kind="stable")


def _view_seeds(image_index: np.ndarray, view: np.ndarray, seed: int) -> np.ndarray:
    return _seed_pairs(_VIEW_SEED, seed, image_index, view)


def _seed_pairs(purpose: int, *words: int | np.ndarray) -> np.ndarray:
    first = _random_bits(purpose, *words, 0)
    second = _random_bits(purpose, *words, 1)
    return np.stack([first, second], axis=-1).view(np.int64)


def _random_bits(*words: int | np.ndarray) -> np.ndarray:
    """Returns 64 random bits for each tuple of words (SplitMix64 chained over the words).

    Arithmetic of our own, because streams of `numpy.random` may change between versions of NumPy,
    and a run must be able to continue.
    """
    state = np.zeros((1,), np.uint64)
    for word in words:
        # (state + word + golden ratio), mixed
        state = state + np.asarray(word).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state


def _check_class_indices(source: ImageSource, class_indices: Sequence[int]) -> list[int]:
    indices = [int(index) for index in class_indices]
    wrong = [index for index in indices if not 0 <= index < len(source.class_names)]
    if not indices or wrong or len(set(indices)) != len(indices):
        raise ValueError(
            "`class_indices` must be different columns of the labels, at least 0 and below "
            f"{len(source.class_names)}. Received: class_indices={indices}"
        )
    source.require_classes([source.class_names[index] for index in indices])
    return indices


def _check_numbers(batch_size: int, seed: int, start_step: int, num_steps: int) -> None:
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


def _check_views(views: int) -> None:
    if views < 1:
        raise ValueError(f"`views` must be at least 1. Received: views={views}")
