"""Points in a table, one in each row: `image,name,x,y` and further columns.

Of the further columns `visible` (1 or 0), `score`, `category`, `object` and `object_score` are
understood, and others are kept. A row without x and y is a point that is not labelled. On writing
see `csv_writer`.
"""

import csv
import io
import os

from anchornet_tf.annotations.checks import LARGEST_COORDINATE, Checker, plain_number
from anchornet_tf.annotations.items import (
    HIDDEN,
    NOT_LABELLED,
    VISIBLE,
    AnnotatedObject,
    AnnotationSet,
    ImageAnnotations,
    Point,
)

REQUIRED = ("image", "name", "x", "y")
OPTIONAL = ("visible", "score", "category", "object", "object_score")
VISIBILITY = {"": VISIBLE, "1": VISIBLE, "true": VISIBLE, "yes": VISIBLE}
VISIBILITY |= {"0": HIDDEN, "false": HIDDEN, "no": HIDDEN}


def parse(text: str, file: str | os.PathLike) -> AnnotationSet:
    """Returns the points of a table.

    Rows of the same image and `object` are one object; without that column, those of the same image
    and `category`. The set's `fields` are the `columns`, and those of an object its `object`. Those
    of a point are `cells`: the cells of other columns and those that would be written otherwise;
    and its `row`, where the rows are not in the order of images and objects.

    Args:
        text: what the file holds.
        file: path of the file, for messages.

    Raises:
        ValueError: If the text is not such a table, or has the same point twice.
    """
    check = Checker(file)
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    objects = {}  # (image, object or category) -> AnnotatedObject
    rows = {}  # The same -> numbers of the rows of its points.
    try:
        columns = [cell.strip() for cell in next(lines, [])]
        _check_header(columns, check)
        key_column = "object" if "object" in columns else "category"
        number = 0
        for cells in lines:
            if cells:
                row = _Row(columns, cells, check, lines.line_num)
                key = row.texts["image"], row.texts[key_column]
                if key not in objects:
                    objects[key] = row.new_object()
                    rows[key] = []
                row.add_to(objects[key])
                rows[key].append(number)
                number += 1
    except csv.Error as error:
        raise check.error(f"Line {lines.line_num}", f"part of a table ({error})", text) from None

    images = {}
    for key in objects:
        images.setdefault(key[0], []).append(key)
    written = [row for keys in images.values() for key in keys for row in rows[key]]
    if any(row != place for place, row in enumerate(written)):
        for key, found in objects.items():
            for point, row in zip(found.points.values(), rows[key], strict=True):
                point.fields["row"] = row
    return AnnotationSet(
        "csv",
        tuple(
            ImageAnnotations(name, None, tuple(objects[key] for key in keys))
            for name, keys in images.items()
        ),
        {"columns": columns},
    )


def _check_header(columns: list[str], check: Checker) -> None:
    if not set(REQUIRED) <= set(columns) or len(set(columns)) < len(columns):
        raise check.error(
            "Line 1", f"a header with {','.join(REQUIRED)} and no column twice", ",".join(columns)
        )


class _Row:
    """One row, checked. `texts` are its known cells without spaces around them."""

    def __init__(self, columns: list[str], cells: list[str], check: Checker, line: int):
        self._check, self._line = check, line
        if len(cells) != len(columns):
            raise self._error(f"a row of {len(columns)} cells", cells)
        self._cells = dict(zip(columns, cells, strict=True))
        self.texts = {key: self._cells.get(key, "").strip() for key in REQUIRED + OPTIONAL}
        if not self.texts["image"] or not self.texts["name"]:
            raise self._error("a row with an image and a name", cells)

    def _error(self, expected: str, received) -> ValueError:
        return self._check.error(f"Line {self._line}", expected, received)

    def _number(self, column: str) -> float:
        text = self.texts[column]
        try:
            number = float(text)
        except ValueError:
            number = float("nan")
        # Python would read 1_000 too.
        if not abs(number) <= LARGEST_COORDINATE or "_" in text:
            raise self._error(f"a row whose `{column}` is a finite number", text)
        return number

    def _object_score(self) -> float | None:
        return self._number("object_score") if self.texts["object_score"] else None

    def new_object(self) -> AnnotatedObject:
        fields = {"object": self.texts["object"]} if "object" in self._cells else {}
        return AnnotatedObject(self.texts["category"], {}, (), self._object_score(), fields)

    def add_to(self, found: AnnotatedObject) -> None:
        name, category, total = self.texts["name"], self.texts["category"], self._object_score()
        if (category, total) != (found.category, found.score):
            raise self._error(
                f"of the category and object_score of its object, {found.category!r} and "
                f"{found.score}",
                [category, total],
            )
        if name in found.points:
            raise self._error(
                "another point than those before: image, object and name repeat",
                [self.texts["image"], self.texts["object"], name],
            )
        found.points[name] = self._point(found)

    def _point(self, found: AnnotatedObject) -> Point:
        visibility = VISIBILITY.get(self.texts["visible"].lower())
        if visibility is None:
            raise self._error("a row whose `visible` is 1 or 0", self.texts["visible"])
        score = self._number("score") if self.texts["score"] else None
        if self.texts["x"] == self.texts["y"] == "":
            point = Point(0.0, 0.0, NOT_LABELLED, score)
        else:
            point = Point(self._number("x"), self._number("y"), visibility, score)
        usual = cell_texts(self.texts["image"], found, self.texts["name"], point)
        usual["object"] = self.texts["object"]
        kept = {key: cell for key, cell in self._cells.items() if usual.get(key) != cell}
        if kept:
            point.fields["cells"] = kept
        return point


def cell_texts(image: str, found: AnnotatedObject, name: str, point: Point) -> dict[str, str]:
    """Returns the known cells of a point's row, as they are usually written."""
    labelled = point.visibility != NOT_LABELLED
    return {
        "image": image,
        "name": name,
        "x": str(plain_number(point.x)) if labelled else "",
        "y": str(plain_number(point.y)) if labelled else "",
        "visible": str(int(point.visibility == VISIBLE)) if labelled else "",
        "score": "" if point.score is None else str(plain_number(point.score)),
        "category": found.category,
        "object_score": "" if found.score is None else str(plain_number(found.score)),
    }
