"""Writes the annotations of an image as LabelMe's JSON, such that a file is written as it was read.

Shapes that did not change are written as they were. Beside LabelMe's own keys a shape has `score`
and `object_score` where these are known; LabelMe keeps keys that it does not know.
"""

import re

from anchornet_tf.annotations.checks import Checker, plain_number
from anchornet_tf.annotations.items import (
    HIDDEN,
    NOT_LABELLED,
    AnnotatedObject,
    ImageAnnotations,
    Point,
    Region,
)
from anchornet_tf.annotations.labelme import HIDDEN_FLAGS, OBJECT_SCORE
from anchornet_tf.annotations.labelme_shapes import HALF, read_region, same_region, write_region

# LabelMe warns of files of another major version.
VERSION = "5.5.0"
_DEFAULTS = {"description": "", "shape_type": "polygon", "flags": {}}
_SCORE_TEXT = re.compile(r"score=[0-9.]+")


def document(image: ImageAnnotations) -> dict:
    """Returns what a LabelMe file of an image holds.

    Points that are not labelled are left out: LabelMe has no such shapes. Hidden ones have the flag
    `hidden`. A category has no place in LabelMe and is left out too.
    """
    placed = [(other["order"], other["shape"]) for other in image.fields.get("shapes", [])]
    for found, group in zip(image.objects, _groups(image.objects), strict=True):
        common = {"group_id": group}
        if found.score is not None:
            common[OBJECT_SCORE] = plain_number(found.score)
        for name, point in found.points.items():
            if point.visibility != NOT_LABELLED:
                shape = _point_shape(name, point)
                placed.append((point.fields.get("order"), shape | common))
        for region in found.regions:
            for shape in _region_shapes(region, image):
                placed.append((region.fields.get("order"), shape | common))
    # Shapes without a place of their own follow, in the order of the objects.
    placed.sort(key=lambda pair: (pair[0] is None, pair[0] or 0))
    height, width = image.size or (None, None)
    own = {
        "version": VERSION,
        "flags": {},
        "shapes": [shape for _, shape in placed],
        "imagePath": image.name,
        "imageData": None,
        "imageHeight": None if height is None else int(height),
        "imageWidth": None if width is None else int(width),
    }
    fields = {key: value for key, value in image.fields.items() if key not in ("file", "shapes")}
    if image.size is not None:
        fields = {k: v for k, v in fields.items() if k not in ("imageHeight", "imageWidth")}
    return own | fields


def _groups(objects: tuple[AnnotatedObject, ...]) -> list[int | None]:
    """Returns a group for each object. New objects get groups of their own, unless alone."""
    known = [found.fields["group_id"] for found in objects if "group_id" in found.fields]
    if len(objects) == 1 and not known:
        return [None]
    following = max([0, *(group for group in known if group is not None)]) + 1
    groups = []
    for found in objects:
        if "group_id" in found.fields:
            groups.append(found.fields["group_id"])
        else:
            groups.append(following)
            following += 1
    return groups


def _point_shape(name: str, point: Point) -> dict:
    shape = _base(point)
    original = shape.get("points")
    if not original or (original[0][0] - HALF, original[0][1] - HALF) != (point.x, point.y):
        shape["points"] = [[plain_number(point.x + HALF), plain_number(point.y + HALF)]]
    flags = dict(shape.get("flags") or {})
    was_hidden = any(flags.get(flag) is True for flag in HIDDEN_FLAGS)
    if was_hidden and point.visibility != HIDDEN:
        shape["flags"] = {k: k not in HIDDEN_FLAGS and v for k, v in flags.items()}
    elif point.visibility == HIDDEN and not was_hidden:
        shape["flags"] = flags | {"hidden": True}
    return _complete(shape | {"label": name, "shape_type": "point"})


def _region_shapes(region: Region, image: ImageAnnotations) -> list[dict]:
    base = _base(region)
    if "points" in base:
        # Only a mask needs a size, which is its image's.
        size = (image.size or (1, 1)) if region.mask is None else region.mask.shape
        original = read_region(base | {"label": ""}, size, Checker(image.name), "A shape")
        if original is not None and same_region(original, region):
            return [_complete(base | {"label": region.name})]
    return [_complete(base | {"label": region.name} | shape) for shape in write_region(region)]


def _base(item: Point | Region) -> dict:
    """Returns the shape that an item was read from, with the item's score."""
    shape = dict(item.fields.get("shape", {}))
    shape.pop(OBJECT_SCORE, None)
    score = None if item.score is None else plain_number(item.score)
    if score == shape.get("score"):
        return shape
    description = shape.get("description") or ""
    # LabelMe shows the description, but nobody's own text is replaced.
    described = bool(_SCORE_TEXT.fullmatch(description))
    if score is None:
        del shape["score"]
        return shape | {"description": ""} if described else shape
    if described or not description:
        shape["description"] = f"score={score:.3f}"
    return shape | {"score": score}


def _complete(shape: dict) -> dict:
    """Returns a shape with all keys that LabelMe expects, these first."""
    keys = ("label", "points", "group_id", "description", "shape_type", "flags", "mask")
    return {key: shape.get(key, _DEFAULTS.get(key)) for key in keys} | shape
