"""Which images to annotate next, so that the rest gets surer."""

import base64
import functools
from collections.abc import Sequence

import numpy as np

# A layout is kept in this many numbers: a random projection, which keeps angles.
_LENGTH = 512
# The images that stand for all, where there are more: likeness is compared between all of them.
_MOST_COMPARED = 2000


def packed(layout: np.ndarray) -> str:
    """Returns a layout (see `anchornet_tf.tasks.layout`) as a short text."""
    vector = layout.ravel() @ _projection(layout.size)
    vector = vector / max(float(np.linalg.norm(vector)), 1e-6)
    return base64.b64encode(vector.astype("<f2").tobytes()).decode()


def unpacked(texts: Sequence[str]) -> np.ndarray:
    """Returns `(n, length)` unit vectors of texts that `packed` returned."""
    vectors = [np.frombuffer(base64.b64decode(text), "<f2").astype(np.float32) for text in texts]
    return np.stack(vectors) if vectors else np.zeros((0, _LENGTH), np.float32)


def suggest(layouts: np.ndarray, count: int, sure: Sequence[float] | None = None) -> list[int]:
    """Chooses images that many unsure ones look like.

    An annotated image helps the images that look like it. One after the other, the image is chosen
    that adds most to how much each image looks like the nearest of those chosen, where images
    that are unsure count more (greedy facility location).

    Args:
        layouts: `(n, length)` unit vectors.
        count: int. How many to choose; fewer where there are not so many.
        sure: How sure each image is already, from 0 to 1; None for not at all.

    Returns:
        Numbers of the chosen images, the most useful first.
    """
    weights = np.ones(len(layouts)) if sure is None else 1 - np.asarray(sure, np.float64)
    order = np.argsort(-weights, kind="stable")[:_MOST_COMPARED]
    likeness = np.maximum(layouts[order] @ layouts[order].T, 0).astype(np.float64)
    weights = np.maximum(weights[order], 1e-6)
    nearest = np.zeros(len(order))
    chosen: list[int] = []
    for _ in range(min(count, len(order))):
        gains = weights @ np.maximum(likeness - nearest[:, np.newaxis], 0)
        gains[chosen] = -1
        best = int(gains.argmax())
        chosen.append(best)
        nearest = np.maximum(nearest, likeness[:, best])
    return [int(order[number]) for number in chosen]


@functools.cache
def _projection(size: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((size, _LENGTH)).astype(np.float32)
