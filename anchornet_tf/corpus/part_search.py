"""Where else is this part: the places of an index that look like a point of an image."""

import dataclasses
import os

import numpy as np

from anchornet_tf.corpus import neighbors, storage
from anchornet_tf.corpus.part_index import PartIndex


@dataclasses.dataclass(frozen=True)
class Found:
    """A place that was found.

    Attributes:
        key: The image, relative to the root of the corpus.
        x: float, in its pixels.
        y: float.
        score: float. The cosine with what was asked for, or how strongly the filter fires.
    """

    key: str
    x: float
    y: float
    score: float


def search_vector(
    index: PartIndex, query: np.ndarray, top: int, without: str | os.PathLike | None = None
) -> list[Found]:
    """Returns the images that show what a descriptor describes, each once, at its best place.

    Args:
        index: Where to look.
        query: `(directions,)`.
        top: int. How many images.
        without: Path of an image that is left out: the one that the query comes from.
    """
    left_out = None if without is None else _number_of(index, without)
    count = 4 * top
    while True:
        rows, cosines = neighbors.nearest(index.faiss, index.vectors, query[np.newaxis], count)
        there = rows[0] >= 0
        rows, cosines = rows[0][there], cosines[0][there]
        images = index.places["image"][rows]
        # The first place of each image is its best one.
        _, first = np.unique(images, return_index=True)
        first = np.sort(first)
        first = first[images[first] != left_out][:top]
        if len(first) == top or count >= len(index.places) or not there.all():
            break
        count *= 4
    return [
        _found(index, index.places[row], cosine)
        for row, cosine in zip(rows[first], cosines[first], strict=True)
    ]


def search_filter(index: PartIndex, class_name: str, filter_number: int, top: int) -> list[Found]:
    """Returns the images in which a filter fires strongest.

    Raises:
        ValueError: If the model has no such filter.
    """
    best = index.firing_of(class_name, filter_number)[:top]
    return [_found(index, entry, entry["strength"]) for entry in best]


def path_of(index: PartIndex, key: str) -> str:
    """Returns the path of an image of the corpus."""
    return storage.join(index.record["root"], key)


def _found(index: PartIndex, place, score) -> Found:
    x, y = (round(float(place[name]), 2) for name in ("x", "y"))
    return Found(index.keys[int(place["image"])], x, y, round(float(score), 4))


def _number_of(index: PartIndex, path: str | os.PathLike) -> int | None:
    """Returns the number of the image at a path, or None if the index does not have it."""
    root = index.record["root"]
    if storage.is_remote(root):
        key = os.fspath(path).removeprefix(f"{root}/")
    else:
        key = os.path.relpath(os.path.abspath(path), root)
    return index.keys.index(key) if key in index.keys else None
