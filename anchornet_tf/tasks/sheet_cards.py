"""Which of many annotated images a report shows, chosen while they pass by.

Of each image that may be shown a thumbnail is kept, as a JPEG file in memory; of all others the
name and the score.
"""

import dataclasses
import heapq
import io
import math
from collections.abc import Iterable, Iterator

import numpy as np
import PIL.Image

from anchornet_tf.annotations.items import NOT_LABELLED, ImageAnnotations
from anchornet_tf.tasks.sheet_drawing import Names, draw_thumbnail

BINS = 20
SUREST = 6
_JPEG_QUALITY = 85


@dataclasses.dataclass(frozen=True, eq=False)
class SheetEntry:
    """An image of a report.

    Attributes:
        name: str, what it is called.
        image: uint8 array `(height, width, 3)`, a `ScaledImage`, or a path; a function that returns
            one of these, which is called only if the image is shown; None if there is none.
        annotations: What is marked in it, in pixels of `annotations.size`, or of the original
            image where that is None.
        score: float, how sure all of it is, 0..1; NaN if it could not be said, which counts as
            least sure; None for a reference, which a person made.
        note: str, what else to say about it.
    """

    name: str
    image: object
    annotations: ImageAnnotations
    score: float | None
    note: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Card:
    """What is kept of an image that is shown.

    Attributes:
        name: str.
        score: As in `SheetEntry`.
        note: str.
        jpeg: bytes of a file, the thumbnail.
        size: `(width, height)` of the thumbnail.
    """

    name: str
    score: float | None
    note: str
    jpeg: bytes
    size: tuple[int, int]

    def picture(self) -> PIL.Image.Image:
        """Returns the thumbnail."""
        return PIL.Image.open(io.BytesIO(self.jpeg)).convert("RGB")


@dataclasses.dataclass(eq=False)
class Sheet:
    """All that a report says.

    Attributes:
        least_sure: cards, the least sure first.
        surest: cards, the surest first; where images are few, they are among the least sure too.
        others: `(name, score)` of the images that have no card in `least_sure`, the least sure
            first.
        references: cards of the references, in the order they came.
        names: the numbers of points and colours of regions.
        images: int, how many images there are beside the references.
        images_above: int, how many of these have at least the threshold as score.
        points: int, how many points they have.
        points_above: int, how many of these have at least the threshold as score.
        counts: int array `(BINS,)`, a histogram of the scores of points, 0..1, or of images where
            there are no points.
        threshold: float.
    """

    threshold: float
    least_sure: list[Card] = dataclasses.field(default_factory=list)
    surest: list[Card] = dataclasses.field(default_factory=list)
    others: list[tuple[str, float]] = dataclasses.field(default_factory=list)
    references: list[Card] = dataclasses.field(default_factory=list)
    names: Names = dataclasses.field(default_factory=Names)
    images: int = 0
    images_above: int = 0
    points: int = 0
    points_above: int = 0
    counts: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(BINS, int))


def collect(
    entries: Iterable[SheetEntry],
    threshold: float,
    max_images: int,
    side: int,
    max_pixels: int | None = None,
) -> Sheet:
    """Goes over the images of a report once.

    Args:
        entries: The images, in any order; each may be forgotten when the next is asked for.
        threshold: float. Scores from which on a point or an image counts as sure.
        max_images: int. How many of the least sure get a card.
        side: int, the long side of thumbnails.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.
    """
    sheet = Sheet(threshold)
    least, most, every = _Best(max_images), _Best(SUREST), []
    of_images = np.zeros(BINS, int)

    for order, entry in enumerate(entries):
        sheet.names.note(entry.annotations)
        if entry.score is None:
            sheet.references.append(_card(entry, sheet.names, side, max_pixels))
            continue
        sheet.images += 1
        sheet.images_above += entry.score >= threshold
        _count(of_images, entry.score)
        for score in _scores_of_points(entry.annotations):
            sheet.points += 1
            sheet.points_above += score >= threshold
            _count(sheet.counts, score)
        score = -1.0 if math.isnan(entry.score) else entry.score
        every.append((score, order, entry.name))
        # Drawing is slow; most of many images are neither.
        if least.takes(score, order) or most.takes(-score, order):
            card = _card(entry, sheet.names, side, max_pixels)
            least.add(score, order, card)
            most.add(-score, order, card)
    sheet.least_sure = [card for _, card in least.sorted()]
    shown = {order for order, _ in least.sorted()}
    sheet.surest = [card for _, card in most.sorted()]
    sheet.others = [
        (name, math.nan if score < 0 else score)
        for score, order, name in sorted(every)
        if order not in shown
    ]
    if not sheet.points:
        sheet.counts = of_images
    return sheet


class _Best:
    """Keeps the few things with the lowest values."""

    def __init__(self, most: int):
        self._most = most
        # A heap gives its lowest element, which has to be the worst.
        self._heap: list[tuple[float, int, Card]] = []

    def takes(self, value: float, order: int) -> bool:
        if len(self._heap) < self._most:
            return True
        return bool(self._heap) and (-value, -order) > self._heap[0][:2]

    def add(self, value: float, order: int, card: Card) -> None:
        if self.takes(value, order):
            heapq.heappush(self._heap, (-value, -order, card))
            if len(self._heap) > self._most:
                heapq.heappop(self._heap)

    def sorted(self) -> list[tuple[int, Card]]:
        """Returns `(order, card)`, the lowest value first."""
        found = sorted(self._heap, key=lambda item: item[:2], reverse=True)
        return [(-order, card) for _, order, card in found]


def _card(entry: SheetEntry, names: Names, side: int, max_pixels: int | None) -> Card:
    thumbnail = draw_thumbnail(entry.image, entry.annotations, names, side, max_pixels)
    encoded = io.BytesIO()
    # Without subsampling: discs of a few pixels keep the colour that is their score.
    thumbnail.save(encoded, "JPEG", quality=_JPEG_QUALITY, subsampling=0)
    return Card(entry.name, entry.score, entry.note, encoded.getvalue(), thumbnail.size)


def _scores_of_points(annotations: ImageAnnotations) -> Iterator[float]:
    for thing in annotations.objects:
        for point in thing.points.values():
            # Points that were found and are too unsure to be marked count; those that no reference
            # shows have a probability of nothing.
            found = point.visibility != NOT_LABELLED or point.score
            if found and point.score is not None:
                yield point.score


def _count(counts: np.ndarray, score: float) -> None:
    if not math.isnan(score):
        counts[min(max(int(score * BINS), 0), BINS - 1)] += 1
