"""LabelMe's JSON, one file per image: shapes with a label, in groups that are objects.

Points are shapes of the type `point`; polygons, rectangles, circles and masks are regions. Lines
and shapes of other types are kept in the image's `fields` as they are. On writing see
`labelme_writer`.
"""

import os
import pathlib

from anchornet_tf.annotations.checks import MISSING, Checker
from anchornet_tf.annotations.documents import read_json
from anchornet_tf.annotations.items import (
    HIDDEN,
    VISIBLE,
    AnnotatedObject,
    AnnotationSet,
    ImageAnnotations,
    Point,
    Region,
)
from anchornet_tf.annotations.labelme_shapes import HALF, read_region

# Flags, each of which says that something is before the point.
HIDDEN_FLAGS = ("hidden", "not_visible", "occluded")
OBJECT_SCORE = "object_score"


def read_folder(folder: str | os.PathLike) -> AnnotationSet:
    """Reads all LabelMe files of a folder, in the order of their names.

    Raises:
        FileNotFoundError: If there is no such folder.
        ValueError: If it has no JSON files, or one that is not LabelMe's.
    """
    folder = pathlib.Path(folder)
    name = Checker(folder).file
    if not folder.is_dir():
        raise FileNotFoundError(f"Expected a folder of LabelMe files. Received: {name}")
    paths = sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() == ".json" and not path.name.startswith(".") and path.is_file()
    )
    if not paths:
        raise ValueError(
            f"A folder of annotations must hold LabelMe files, one .json per image. "
            f"Received: {name} without any"
        )
    return AnnotationSet("labelme", tuple(parse(read_json(path), path) for path in paths))


def parse(document: dict, file: str | os.PathLike) -> ImageAnnotations:
    """Returns the annotations of a LabelMe file.

    The `fields` of the image are what else the file holds, with the name of the `file`, and the
    other `shapes`. Those of points and regions are their `shape` and its `order`, the place among
    the shapes; those of an object its `group_id`.

    Args:
        document: what the file's JSON holds.
        file: path of the file.

    Raises:
        ValueError: If something in the file is not as it must be.
    """
    check = Checker(file)
    document = check.mapping(document, "The content")
    name = check.text(document.get("imagePath", MISSING), "imagePath")
    size = check.size(document, ("imageHeight", "imageWidth"), "")
    if document.get("imageData") is not None:
        check.text(document["imageData"], "imageData")
    _flags(document, check, "")
    objects, others = _Objects(), []
    shapes = check.sequence(document.get("shapes", MISSING), "shapes")
    for order, shape in enumerate(shapes):
        place = f"shapes[{order}]"
        check.text(check.mapping(shape, place).get("label", MISSING), f"{place}.label")
        if shape.get("shape_type") is not None:
            check.text(shape["shape_type"], f"{place}.shape_type")
        group = shape.get("group_id")
        if group is not None and (isinstance(group, bool) or not isinstance(group, int)):
            raise check.error(f"{place}.group_id", "a whole number or null", group)
        flags = _flags(shape, check, f"{place}.")
        fields = {"shape": shape, "order": order}
        total = check.score(shape.get(OBJECT_SCORE), f"{place}.{OBJECT_SCORE}")
        if shape.get("shape_type") == "point":
            point = _point(shape, flags, name, size, fields, check, place)
            objects.add_point(group, shape["label"], point, total)
        elif (region := read_region(shape, size, check, place)) is not None:
            score = check.score(shape.get("score"), f"{place}.score")
            region = Region(
                region.name, region.kind, region.polygons, region.mask, region.box, score, fields
            )
            objects.add_region(group, region, total)
        else:
            others.append(fields)
    carried = ("imagePath", "shapes") + (("imageHeight", "imageWidth") if size else ())
    fields = {key: value for key, value in document.items() if key not in carried}
    fields |= {"file": pathlib.Path(file).name, "shapes": others}
    return ImageAnnotations(name, size, objects.finished(), fields)


def _flags(entry: dict, check: Checker, place: str) -> dict:
    flags = entry.get("flags")
    return {} if flags is None else check.mapping(flags, f"{place}flags")


def _point(shape, flags, image: str, size, fields, check: Checker, place: str) -> Point:
    points = shape.get("points")
    if not isinstance(points, list) or len(points) != 1:
        raise check.error(f"{place}.points", "[[x, y]], the place of a point", points)
    place_of_point = check.numbers(points[0], f"{place}.points[0]")
    if len(place_of_point) != 2:
        raise check.error(f"{place}.points[0]", "[x, y]", points[0])
    x, y = place_of_point[0] - HALF, place_of_point[1] - HALF
    check.inside(x, y, shape["label"], image, size, place)
    hidden = any(flags.get(flag) is True for flag in HIDDEN_FLAGS)
    score = check.score(shape.get("score"), f"{place}.score")
    return Point(x, y, HIDDEN if hidden else VISIBLE, score, fields)


class _Objects:
    """Puts shapes into objects: those of one group into one, unless a point's name repeats."""

    def __init__(self):
        self._objects = []  # Of [group, points, regions, score].
        self._current = {}

    def _object(self, group) -> list:
        if group not in self._current:
            self._current[group] = [group, {}, [], None]
            self._objects.append(self._current[group])
        return self._current[group]

    def add_point(self, group, name: str, point: Point, score: float | None) -> None:
        if name in self._object(group)[1]:
            del self._current[group]
        found = self._object(group)
        found[1][name] = point
        found[3] = score if found[3] is None else found[3]

    def add_region(self, group, region: Region, score: float | None) -> None:
        found = self._object(group)
        found[2].append(region)
        found[3] = score if found[3] is None else found[3]

    def finished(self) -> tuple[AnnotatedObject, ...]:
        return tuple(
            AnnotatedObject("", points, tuple(regions), score, {"group_id": group})
            for group, points, regions, score in self._objects
        )
