"""How often a search finds the same part: precision at ten, on images with named keypoints."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from anchornet_tf.corpus.quantization import unit_vectors
from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, object_size
from anchornet_tf.features.feature_map import FeatureMap

TOP = 10
# A place shows the part if it is this near to the keypoint, as a share of the object's size.
RIGHT_WITHIN = 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class SearchedImage:
    """An image that is searched in and asked about.

    Attributes:
        key: str.
        truths: Its keypoints, by the group (a class or a set) in which their names mean the same.
    """

    key: str
    truths: dict[str, Annotation]

    @property
    def annotation(self) -> Annotation:
        """One of its annotations, to read the image by."""
        return next(iter(self.truths.values()))


@dataclasses.dataclass(frozen=True, eq=False)
class DescribedPlaces:
    """What a method knows of an image.

    Attributes:
        points: `(n, 2)` places (x, y) that can be found.
        vectors: `(n, depth)` what they look like.
        ask: From points `(m, 2)` to what they look like, `(m, depth)`.
    """

    points: np.ndarray
    vectors: np.ndarray
    ask: Callable[[np.ndarray], np.ndarray]


class Precision(NamedTuple):
    """How often the same part was found.

    Attributes:
        at_ten: float. Share of right answers among the ten best.
        at_best: float. The share that an all-knowing search would have among these places: fewer
            than ten images may show a keypoint, or have a place near it.
        asked: int. How many keypoints were asked about.
    """

    at_ten: float
    at_best: float
    asked: int


def searched_images(benchmark: Benchmark, most: int | None = None) -> list[SearchedImage]:
    """Returns the images of a benchmark, each once.

    Args:
        benchmark: Its groups are those in which names of keypoints mean the same.
        most: int. At most so many images of each group; None for all.
    """
    found: dict[str, SearchedImage] = {}
    counts: dict[str, int] = {}
    for pair in benchmark.pairs:
        for annotation in (pair.source, pair.target):
            image = found.get(annotation.image_key)
            if image is not None and pair.group in image.truths:
                continue
            if most is not None and counts.get(pair.group, 0) >= most:
                continue
            counts[pair.group] = counts.get(pair.group, 0) + 1
            image = image or SearchedImage(annotation.image_key, {})
            image.truths[pair.group] = annotation
            found[annotation.image_key] = image
    return list(found.values())


def places_of_map(features: FeatureMap, points: np.ndarray) -> DescribedPlaces:
    """Returns what a feature map says of places: the descriptor of the cell that each lies in."""

    def ask(there):
        (height, width), (rows, columns) = features.image_size, features.grid_size
        row = np.clip(((there[:, 1] + 0.5) * rows / height).astype(int), 0, rows - 1)
        column = np.clip(((there[:, 0] + 0.5) * columns / width).astype(int), 0, columns - 1)
        return features.values[row, column]

    return DescribedPlaces(points, ask(points), ask)


def regular_places(size: tuple[int, int], count: int) -> np.ndarray:
    """Returns about `count` places `(n, 2)` on a regular grid of an image."""
    side = max(round(np.sqrt(count)), 1)
    y, x = (((np.arange(side) + 0.5) / side) * length - 0.5 for length in size)
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def precision_at_ten(
    images: Sequence[SearchedImage], described: Sequence[DescribedPlaces]
) -> Precision:
    """Asks about every visible keypoint, and counts right answers among the ten best images.

    Each image answers with its best place. An answer is right if the image shows a visible keypoint
    of the same name and group within a tenth of the object's size. Keypoints that no other image
    shows are not asked about.

    Returns:
        What was counted.

    Raises:
        ValueError: If no keypoint is shown by two images.
    """
    vectors = np.concatenate([unit_vectors(each.vectors) for each in described])
    owner = np.repeat(np.arange(len(images)), [len(each.points) for each in described])
    points = np.concatenate([each.points for each in described])
    starts = np.searchsorted(owner, np.arange(len(images)))
    scores, possible_scores = [], []
    for number, (image, own) in enumerate(zip(images, described, strict=True)):
        for group, annotation in image.truths.items():
            names = np.array(annotation.point_names, object)[annotation.visible]
            if not len(names):
                continue
            similar = unit_vectors(own.ask(annotation.visible_points)) @ vectors.T
            for name, row in zip(names, similar, strict=True):
                shows = [_shows(other, group, name) for other in images]
                shows[number] = None
                if not any(each is not None for each in shows):
                    continue
                possible = sum(
                    each is not None and _is_near(other.points, each)
                    for other, each in zip(described, shows, strict=True)
                )
                best = np.maximum.reduceat(row, starts)
                best[number] = -np.inf
                right = 0
                for answer in np.argsort(-best, kind="stable")[:TOP]:
                    first = starts[answer]
                    place = points[
                        first + row[first : first + len(described[answer].points)].argmax()
                    ]
                    right += _is_near(place[np.newaxis], shows[answer])
                scores.append(right / TOP)
                possible_scores.append(min(possible, TOP) / TOP)
    if not scores:
        raise ValueError("Expected keypoints that several images show. Received: none")
    return Precision(*(float(np.mean(each)) for each in (scores, possible_scores)), len(scores))


def _shows(image: SearchedImage, group: str, name: str) -> tuple[np.ndarray, float] | None:
    """Returns where an image shows a keypoint, and how far off is right; None if it does not."""
    annotation = image.truths.get(group)
    if annotation is None:
        return None
    named = np.array([each == name for each in annotation.point_names], bool) & annotation.visible
    if not named.any():
        return None
    return annotation.points[named], RIGHT_WITHIN * object_size(annotation)


def _is_near(places: np.ndarray, shows) -> bool:
    """Tells whether one of some places `(n, 2)` shows the keypoint."""
    if shows is None:
        return False
    there, within = shows
    distances = np.linalg.norm(places[:, np.newaxis] - there, axis=-1)
    return bool((distances <= within).any())
