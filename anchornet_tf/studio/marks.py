"""What the page says is marked, and the same as annotations."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from anchornet_tf.annotations.checks import LARGEST_COORDINATE, is_number
from anchornet_tf.annotations.items import (
    HIDDEN,
    NOT_LABELLED,
    VISIBLE,
    AnnotatedObject,
    ImageAnnotations,
    Point,
    Region,
)
from anchornet_tf.annotations.regions import region_from_mask
from anchornet_tf.studio.library import Library
from anchornet_tf.studio.refusals import expected

MOST_POINTS = 2000
_MOST_MARKED = 2000
_MOST_REGIONS = 500
_MOST_CORNERS = 100_000
_LONGEST_NAME = 200
# What an object is called where a format wants a name and the user gave none.
_NAMELESS = "object"


def parse_marks(value, library: Library) -> list[ImageAnnotations]:
    """Returns what is marked, image by image in the order of their first appearance.

    Args:
        value: A list of `{"image", "points", "regions"}`, as the page sends it. Each is an object;
            several may be in the same image. `category` may name what it is.
        library: The images.

    Raises:
        Refusal: If something in it is not as it must be.
    """
    marked = _list(value, "the marked images", _MOST_MARKED)
    left = {"points": MOST_POINTS, "regions": _MOST_REGIONS, "corners": _MOST_CORNERS}
    objects: dict[str, list[AnnotatedObject]] = {}
    for item in marked:
        if not isinstance(item, dict):
            raise expected('a marked image {"image", "points", "regions"}', item)
        entry = library.entry(item.get("image"))
        points = _points(item.get("points") or [], left)
        regions = [
            _region(region, left)
            for region in _list(item.get("regions") or [], "the regions", left["regions"])
        ]
        left["regions"] -= len(regions)
        category = _name(item.get("category", ""), "category")
        found = AnnotatedObject(category, points, tuple(regions))
        objects.setdefault(entry.id, []).append(found)
    annotations = []
    for identifier, found in objects.items():
        entry = library.entry(identifier)
        size = entry.height, entry.width
        annotations.append(ImageAnnotations(entry.name, size, tuple(found)))
    return annotations


def _list(value, what: str, most: int) -> list:
    if not isinstance(value, list):
        raise expected(f"a list of {what}", value)
    if len(value) > most:
        raise expected(f"at most {most} of {what}", f"{len(value)}")
    return value


def _name(value, what: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_NAME:
        raise expected(f"a {what} of at most {_LONGEST_NAME} characters", value)
    # JSON can hold half a character, a file cannot; names take one line.
    return " ".join(value.encode("utf-8", "replace").decode().split())


def _coordinate(value, what: str) -> float:
    if not is_number(value) or not abs(value) <= LARGEST_COORDINATE:
        raise expected(f"a finite number as `{what}`", value)
    return float(value)


def _points(value, left: dict) -> dict[str, Point]:
    points = {}
    for item in _list(value, "the points", left["points"]):
        if not isinstance(item, dict):
            raise expected('a point {"name", "x", "y"}', item)
        name = _name(item.get("name"), "name of a point")
        if not name or name in points:
            raise expected("points with names of their own", item.get("name"))
        x, y = (_coordinate(item.get(axis), axis) for axis in ("x", "y"))
        points[name] = Point(x, y, HIDDEN if item.get("visible", True) is False else VISIBLE)
    left["points"] -= len(points)
    return points


def _region(value, left: dict) -> Region:
    if not isinstance(value, dict):
        raise expected('a region {"name", "polygons"}', value)
    polygons = []
    for polygon in _list(value.get("polygons"), "the polygons", left["corners"]):
        corners = _list(polygon, "the corners of a polygon", left["corners"])
        if len(corners) < 3 or not all(isinstance(c, list) and len(c) == 2 for c in corners):
            raise expected("polygons of three or more corners [x, y]", polygon)
        polygons.append(np.array([[_coordinate(v, "x or y") for v in c] for c in corners]))
        left["corners"] -= len(corners)
    if not polygons:
        raise expected("a region with a polygon", value)
    return Region(_name(value.get("name", ""), "name of a region"), "polygons", tuple(polygons))


def fitted_to_format(images: Sequence[ImageAnnotations], format: str) -> list[ImageAnnotations]:
    """Returns annotations such that a format has room for them.

    COCO has one outline in an object, without a name: a named region becomes an object whose
    category is its name. Where a format wants a name and there is none, it is "object".

    Args:
        images: As `parse_marks` returns them.
        format: "coco", "labelme" or "csv".
    """
    if format == "csv":
        return list(images)
    fit = _fit_coco if format == "coco" else _fit_labelme
    return [
        dataclasses.replace(
            image, objects=tuple(part for item in image.objects for part in fit(item))
        )
        for image in images
    ]


def _fit_labelme(item: AnnotatedObject) -> list[AnnotatedObject]:
    name = item.category or _NAMELESS
    regions = [dataclasses.replace(region, name=region.name or name) for region in item.regions]
    return [dataclasses.replace(item, regions=tuple(regions))]


def _fit_coco(item: AnnotatedObject) -> list[AnnotatedObject]:
    category = item.category or _NAMELESS
    nameless = [region for region in item.regions if not region.name]
    others = nameless[1:] + [region for region in item.regions if region.name]
    objects = [AnnotatedObject(category, item.points, tuple(nameless[:1]))]
    if not item.points and not nameless and others:
        objects = []
    for region in others:
        bare = dataclasses.replace(region, name="")
        objects.append(AnnotatedObject(region.name or category, {}, (bare,)))
    return objects


def to_marks(images: Sequence[tuple[str, ImageAnnotations]], format: str) -> list[dict]:
    """Returns what people marked, as the page takes it; what was carried has a score and is left.

    Args:
        images: Ids of images, and what is marked in them.
        format: What they were read from. COCO has a box around everything, which nobody drew.
    """
    marks = []
    for identifier, image in images:
        for item in image.objects:
            points = [
                {"name": name, "x": point.x, "y": point.y}
                | ({"visible": False} if point.visibility == HIDDEN else {})
                for name, point in item.points.items()
                if point.visibility != NOT_LABELLED and point.score is None
            ]
            regions = [
                marked_region(region.name, region)
                for region in item.regions
                if region.score is None and not (format == "coco" and _is_around(region, item))
            ]
            regions = [region for region in regions if region["polygons"]]
            if points or regions:
                mark = {"image": identifier, "points": points, "regions": regions}
                category = "" if item.category == _NAMELESS else item.category
                marks.append(mark | ({"category": category} if category else {}))
    return marks


def _is_around(region: Region, item: AnnotatedObject) -> bool:
    others = [other for other in item.regions if other.kind != "box"]
    return region.kind == "box" and bool(others or item.points)


def marked_region(name: str, region: Region) -> dict:
    """Returns a region of any kind as polygons."""
    if region.kind == "box":
        left, top, right, bottom = region.box
        polygons = [[[left, top], [right, top], [right, bottom], [left, bottom]]]
    elif region.kind == "mask":
        traced = region_from_mask(region.mask, Region(region.name, "polygons"))
        polygons = [] if traced is None else [p.tolist() for p in traced.polygons]
    else:
        polygons = [np.asarray(polygon).tolist() for polygon in region.polygons]
    return {"name": name, "polygons": polygons}


def check_names(marks: Sequence[Mapping]) -> None:
    """Raises a `Refusal` for marks without anything marked."""
    if not any(item.points or item.regions for image in marks for item in image.objects):
        raise expected("at least one marked point or region", "none")
