"""What every annotation format is read into: images, the objects in them, points and regions.

Points are `(x, y)` with pixel centres at whole numbers, as everywhere in this package. Formats
whose origin is the corner of the first pixel are converted when they are read and written.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

# What COCO calls v.
NOT_LABELLED, HIDDEN, VISIBLE = 0, 1, 2


@dataclasses.dataclass(frozen=True)
class Point:
    """A named place of an object.

    Attributes:
        x: float, pixels from the centre of the leftmost pixel.
        y: float, pixels from the centre of the topmost pixel.
        visibility: `VISIBLE`, `HIDDEN` (marked, but something is before it) or `NOT_LABELLED`
            (its coordinates say nothing).
        score: float, the probability that the place is right; None where a person set it.
        fields: What else its format says about it, kept as it is.
    """

    x: float
    y: float
    visibility: int = VISIBLE
    score: float | None = None
    fields: Mapping = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Region:
    """A part of an image that belongs to an object, or to a part of it.

    Attributes:
        name: str. "" for the object itself, otherwise the part.
        kind: How it is written: "polygons", "mask" (run lengths or a picture) or "box".
        polygons: of kind "polygons": one `(n, 2)` array of `(x, y)` per outline.
        mask: of kind "mask": bool `(height, width)` of the image.
        box: of kind "box": (left, top, right, bottom), the outer edges of the region.
        score: float, the mean probability over the region; None where a person drew it.
        fields: What else its format says about it, kept as it is.
    """

    name: str
    kind: str
    polygons: tuple[np.ndarray, ...] = ()
    mask: np.ndarray | None = None
    box: tuple[float, float, float, float] | None = None
    score: float | None = None
    fields: Mapping = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class AnnotatedObject:
    """One object in one image.

    Attributes:
        category: str, the class of the object; "" where the format has none.
        points: name -> Point.
        regions: its masks and boxes.
        score: float, how sure all of it is; None where a person made it.
        fields: What else its format says about it, kept as it is.
    """

    category: str
    points: Mapping[str, Point] = dataclasses.field(default_factory=dict)
    regions: tuple[Region, ...] = ()
    score: float | None = None
    fields: Mapping = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class ImageAnnotations:
    """What is marked in one image.

    Attributes:
        name: str, the image's file as the annotation file names it.
        size: `(height, width)` in pixels, or None where the format does not say.
        objects: The objects.
        fields: What else its format says about the image, kept as it is.
    """

    name: str
    size: tuple[int, int] | None = None
    objects: tuple[AnnotatedObject, ...] = ()
    fields: Mapping = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class AnnotationSet:
    """All that an annotation file, or a folder of them, holds.

    Attributes:
        format: "coco", "labelme" or "csv".
        images: The annotated images, in the order of the file.
        fields: What else the file holds, kept as it is (COCO: info, licenses, categories).
    """

    format: str
    images: tuple[ImageAnnotations, ...]
    fields: Mapping = dataclasses.field(default_factory=dict)
