"""Random draws as pure functions of what they are for: the same on every machine and worker."""

import functools

import numpy as np

# What a random number is for. Numbers for one purpose do not depend on those for another.
ORDER, VIEW_CHOICE, DRAW_SEED, VIEW_SEED, NOISE_SEED, SUBSET = range(6)
# Stand for the background, and for the choice among classes, where a class index is expected.
BACKGROUND_STREAM = 2**32
CLASS_STREAM = 2**32 + 1
OTHER_CLASS_STREAM = 2**32 + 2
# Added to a class index: images of other classes, where there is no background.
OTHERS_STREAM = 2**33


def draw_in_epochs(pool: np.ndarray, draws: np.ndarray, seed: int, stream: int) -> np.ndarray:
    """Returns the members of `pool` at the given draws.

    No member comes again before all have come, and each epoch has its own order.

    Args:
        pool: `(n,)`.
        draws: int array of any shape; how many draws of this stream came before each.
        seed: int.
        stream: int, streams are independent of each other.
    """
    epochs, places = np.divmod(draws, len(pool))
    drawn = np.empty_like(draws)
    for epoch in np.unique(epochs):
        here = epochs == epoch
        drawn[here] = pool[_epoch_order(len(pool), seed, stream, int(epoch))[places[here]]]
    return drawn


def some_of(pool: np.ndarray, most: int | None, seed: int, stream: int) -> np.ndarray:
    """Returns at most `most` members of `pool`, drawn at random, in their old order.

    The members of a smaller number are among those of a larger one.

    Args:
        pool: `(n,)`.
        most: int; None for all members.
        seed: int.
        stream: int, streams are independent of each other.
    """
    if most is None or len(pool) <= most:
        return pool
    keys = random_bits(SUBSET, seed, stream, np.arange(len(pool)))
    return pool[np.sort(np.argsort(keys, kind="stable")[:most])]


# Steps are planned one at a time too, and an epoch of a large background is long.
@functools.lru_cache(maxsize=64)
def _epoch_order(count: int, seed: int, stream: int, epoch: int) -> np.ndarray:
    keys = random_bits(ORDER, seed, stream, epoch, np.arange(count))
    return np.argsort(keys, kind="stable")


def choose_views(
    image_index: np.ndarray, streams: np.ndarray, draws: np.ndarray, seed: int, views: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the view `(...)` and the augmentation seed `(..., 2)` of each drawn image.

    Args:
        image_index: int array, the drawn images.
        streams, draws: what identifies each draw; broadcast against `image_index`.
        seed: int.
        views: None to augment each draw anew, or the number of fixed views per image.
    """
    if views is None:
        return np.zeros_like(image_index), seed_pairs(DRAW_SEED, seed, streams, draws)
    choice = random_bits(VIEW_CHOICE, seed, streams, draws) % np.uint64(views)
    view = choice.astype(np.int64)
    return view, view_seeds(image_index, view, seed)


def view_seeds(image_index: np.ndarray, view: np.ndarray, seed: int) -> np.ndarray:
    """Returns the augmentation seeds `(..., 2)` of fixed views of images."""
    return seed_pairs(VIEW_SEED, seed, image_index, view)


def seed_pairs(purpose: int, *words: int | np.ndarray) -> np.ndarray:
    """Returns int64 `(..., 2)`, a seed for TensorFlow's stateless draws for each tuple of words."""
    first = random_bits(purpose, *words, 0)
    second = random_bits(purpose, *words, 1)
    return np.stack([first, second], axis=-1).view(np.int64)


def random_bits(*words: int | np.ndarray) -> np.ndarray:
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
