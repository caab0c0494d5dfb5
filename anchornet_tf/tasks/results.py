"""From what was carried to annotations, and to lines of a journal and back."""

from collections.abc import Mapping, Sequence

import numpy as np

from anchornet_tf.annotations import items, rle
from anchornet_tf.annotations.items import AnnotatedObject, ImageAnnotations, Point, Region
from anchornet_tf.annotations.regions import region_from_mask
from anchornet_tf.tasks.carrier import Carried
from anchornet_tf.tasks.references import Key, Reference

# A hundredth of a pixel is far below what can be known, and makes files small.
_DIGITS, _SCORE_DIGITS = 2, 4


def to_notes(carried: Carried, size: tuple[int, int]) -> dict:
    """Returns what was found in an image of `(height, width)` as plain values for JSON."""
    return {
        "size": list(size),
        "points": [
            [*key, round(x, _DIGITS), round(y, _DIGITS), round(p, _SCORE_DIGITS)]
            for key, (x, y, p) in carried.points.items()
        ],
        "masks": [
            [*key, rle.compress(rle.encode(mask)), round(p, _SCORE_DIGITS)]
            for key, (mask, p) in carried.masks.items()
        ],
        "used": list(carried.used),
    }


def from_notes(notes: Mapping, with_masks: bool = True) -> Carried:
    """Returns what `to_notes` was given, up to rounding.

    Args:
        notes: What `to_notes` returned.
        with_masks: bool. Whether masks, which are large, are wanted too.
    """
    size = tuple(notes["size"])
    points = {Key(c, n, name): (x, y, p) for c, n, name, x, y, p in notes["points"]}
    masks = {
        Key(c, n, name): (rle.decode(rle.expand(text), size), p)
        for c, n, name, text, p in (notes["masks"] if with_masks else ())
    }
    return Carried(points, masks, tuple(notes["used"]))


class PackedRegion(Region):
    """A region whose mask takes little memory: it is unpacked whenever it is asked for."""

    @property
    def mask(self) -> np.ndarray | None:
        """As in `Region`."""
        packed = self.__dict__["packed_mask"]
        return None if packed is None else rle.decode(rle.expand(packed[1]), packed[0])

    @mask.setter
    def mask(self, value: np.ndarray | None) -> None:
        packed = None if value is None else (value.shape, rle.compress(rle.encode(value)))
        self.__dict__["packed_mask"] = packed


class Patterns:
    """The objects that references have: which categories, points and regions, in which order.

    Args:
        references: The references.
    """

    def __init__(self, references: Sequence[Reference]):
        self._points: dict[tuple[str, int], dict[str, None]] = {}
        self._regions: dict[tuple[str, int], dict[str, Region]] = {}
        for reference in references:
            for key in reference.points:
                self._points.setdefault(key[:2], {}).setdefault(key.name)
            for key, region in reference.regions.items():
                self._regions.setdefault(key[:2], {}).setdefault(key.name, region)
        self._objects = list(dict.fromkeys([*self._points, *self._regions]))

    def annotations(
        self, name: str, size: tuple[int, int], carried: Carried, threshold: float
    ) -> ImageAnnotations:
        """Returns the annotations of an image.

        Args:
            name: The image's name.
            size: `(height, width)` in pixels.
            carried: What was found in it.
            threshold: float. Points less probable than this are marked as not labelled.
        """
        objects = [self._object(item, carried, threshold) for item in self._objects]
        return ImageAnnotations(name, size, tuple(item for item in objects if item is not None))

    def _object(self, item, carried, threshold) -> AnnotatedObject | None:
        points = {}
        for name in self._points.get(item, ()):
            x, y, p = carried.points.get(Key(*item, name), (0.0, 0.0, 0.0))
            if p >= threshold:
                points[name] = Point(x, y, items.VISIBLE, p)
            else:
                points[name] = Point(0.0, 0.0, items.NOT_LABELLED, p)
        regions = []
        # Masks first: a box beside a mask goes around it.
        wanted = self._regions.get(item, {})
        masks: dict[tuple, np.ndarray] = {}
        for key in sorted(wanted, key=lambda key: wanted[key].kind == "box"):
            like = wanted[key]
            mask, p = carried.masks.get(Key(*item, key), (None, 0.0))
            # Of several regions of a name, the first box belongs to the first mask.
            place = like.name, key.rsplit("\0", 1)[-1]
            if like.kind == "box":
                mask = masks.get(place, mask)
            if mask is None or p < threshold / 2:
                continue
            masks.setdefault(place, mask)
            region = region_from_mask(mask, PackedRegion(like.name, like.kind), p)
            if region is not None:
                regions.append(region)
        scores = [point.score for point in points.values()] + [r.score for r in regions]
        if not scores:
            return None
        return AnnotatedObject(item[0], points, tuple(regions), round(float(np.mean(scores)), 4))
