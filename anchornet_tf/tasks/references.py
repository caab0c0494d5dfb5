"""Annotated images to carry from: what is marked in them, seen as it is and mirrored."""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import PIL.Image

from anchornet_tf.annotations import items
from anchornet_tf.annotations.items import ImageAnnotations, Region
from anchornet_tf.annotations.regions import region_mask
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.utils.image_io import ScaledImage

# Masks are carried at this size, which is finer than the grid of any network here.
MASK_SIDE = 224
_SIDES = re.compile(r"left|right", re.IGNORECASE)


class Key(NamedTuple):
    """What is carried: a named point or region of an object.

    Attributes:
        category: str, the object's class.
        number: int. Which object of its category in the image, from 0.
        name: str, the point's or region's own name.
    """

    category: str
    number: int
    name: str


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """A reference as it is, or mirrored.

    Attributes:
        features: Its feature map, in pixels of the original image.
        image: The image itself, for matchers that look at it; None for the others.
        points: `(x, y)` of each point, by key.
        masks: float `(height, width)` from 0 to 1 of each region, by key; at most `MASK_SIDE` wide
            and high.
        mirrored: bool.
    """

    features: FeatureMap
    image: ScaledImage | None
    points: Mapping[Key, tuple[float, float]]
    masks: Mapping[Key, np.ndarray]
    mirrored: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Reference:
    """An annotated image.

    Attributes:
        annotations: What is marked in it.
        image: The image.
    """

    annotations: ImageAnnotations
    image: ScaledImage

    def __post_init__(self):
        size = self.annotations.size
        if size is not None and tuple(size) != self.image.original_size:
            raise ValueError(
                f"The image {self.annotations.name!r} must have the (height, width) that its "
                f"annotations say, {tuple(size)}. Received: {self.image.original_size}"
            )
        height, width = self.image.original_size
        for key, (x, y) in self.points.items():
            # The same pixel of leeway that files with sizes have.
            if not (-1.5 <= x <= width + 0.5 and -1.5 <= y <= height + 0.5):
                raise ValueError(
                    f"The point {key.name!r} must be inside its image {self.annotations.name!r} of "
                    f"{width} x {height} pixels. Received: ({x:g}, {y:g})"
                )

    @functools.cached_property
    def points(self) -> dict[Key, tuple[float, float]]:
        """The marked points that can be seen; hidden ones where an object has no others."""
        found = {}
        for key, item in _objects(self.annotations).items():
            marked = {name: p for name, p in item.points.items() if p.visibility}
            seen = {name: p for name, p in marked.items() if p.visibility == items.VISIBLE}
            for name, point in (seen or marked).items():
                found[key._replace(name=name)] = (point.x, point.y)
        return found

    @functools.cached_property
    def regions(self) -> dict[Key, Region]:
        """The marked regions.

        An outline is the same thing whether it is written as polygons or as a mask. Regions of one
        name in one object are numbered.
        """
        found = {}
        for key, item in _objects(self.annotations).items():
            counts: dict[str, int] = {}
            for region in filter(_has_area, item.regions):
                name = f"{region.name}\0{'box' if region.kind == 'box' else 'outline'}"
                counts[name] = counts.get(name, 0) + 1
                found[key._replace(name=f"{name}\0{counts[name]}")] = region
        return found

    @functools.cached_property
    def masks(self) -> dict[Key, np.ndarray]:
        """The marked regions as small masks, by key."""
        size = self.image.original_size
        small = mask_size(size)
        masks = {}
        for key, region in self.regions.items():
            mask = PIL.Image.fromarray(region_mask(region, size)).convert("L")
            mask = mask.resize(small[::-1], PIL.Image.Resampling.BOX)
            masks[key] = np.asarray(mask, np.float32) / 255
        return masks

    def views(
        self, features: FeatureMap, mirrored_features: FeatureMap | None, with_image: bool
    ) -> list[View]:
        """Returns the reference as it is and, where its mirrored features are given, mirrored.

        Args:
            features: The feature map of the image.
            mirrored_features: That of the mirrored image, or None.
            with_image: bool. Whether the matcher looks at images.
        """
        image = self.image if with_image else None
        views = [View(features, image, self.points, self.masks)]
        if mirrored_features is not None:
            last = self.image.original_size[1] - 1
            names = frozenset(self.points) | frozenset(self.masks)
            points = {
                mirrored_key(key, names): (last - x, y) for key, (x, y) in self.points.items()
            }
            masks = {mirrored_key(key, names): mask[:, ::-1] for key, mask in self.masks.items()}
            flipped = mirrored_image(self.image) if with_image else None
            views.append(View(mirrored_features, flipped, points, masks, mirrored=True))
        return views


def is_marked(annotations: ImageAnnotations) -> bool:
    """Returns whether there is a point or region in an image that can be carried."""
    return any(
        any(point.visibility for point in item.points.values()) or any(map(_has_area, item.regions))
        for item in annotations.objects
    )


def _has_area(region: Region) -> bool:
    """Returns whether a region is one; tools write empty boxes where there is none."""
    if region.kind == "box":
        left, top, right, bottom = region.box
        return right > left and bottom > top
    return bool(region.polygons) if region.kind == "polygons" else bool(region.mask.any())


def _objects(annotations: ImageAnnotations) -> dict[Key, items.AnnotatedObject]:
    """Numbers the objects of each category."""
    counts: dict[str, int] = {}
    found = {}
    for item in annotations.objects:
        number = counts.get(item.category, 0)
        counts[item.category] = number + 1
        found[Key(item.category, number, "")] = item
    return found


def mirrored_image(image: ScaledImage) -> ScaledImage:
    """Returns an image as a mirror shows it."""
    return ScaledImage(np.ascontiguousarray(image.pixels[:, ::-1]), image.original_size)


def mirrored_key(key: Key, known: frozenset[Key]) -> Key:
    """Returns what a part is called in the mirror: the left ear is a right ear there.

    Args:
        key: The part.
        known: All parts of the reference. A name without a counterpart among them stays.
    """

    def other(match):
        word = match.group()
        swapped = "right" if word.lower() == "left" else "left"
        return swapped.upper() if word.isupper() else swapped.title() if word.istitle() else swapped

    swapped = key._replace(name=_SIDES.sub(other, key.name))
    return swapped if swapped in known else key


def mask_size(size: tuple[int, int]) -> tuple[int, int]:
    """Returns the `(height, width)` at which masks of an image of `size` are carried."""
    scale = min(1, MASK_SIDE / max(size))
    return tuple(max(1, round(side * scale)) for side in size)


def check_references(references: Sequence[Reference]) -> None:
    """Raises ValueError where there is nothing to carry."""
    if not any(reference.points or reference.regions for reference in references):
        raise ValueError(
            "Expected at least one reference with a marked point or region. "
            f"Received: {len(references)} references without any"
        )
