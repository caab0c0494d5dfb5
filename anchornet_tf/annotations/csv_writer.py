"""Writes points as a table, with the columns, rows and cells of the table that they came from."""

import collections
import csv
import io

from anchornet_tf.annotations.checks import shown
from anchornet_tf.annotations.csv_points import (
    REQUIRED,
    VISIBILITY,
    cell_texts,
)
from anchornet_tf.annotations.items import HIDDEN, NOT_LABELLED, AnnotationSet

_NUMBERS = ("x", "y", "score", "object_score")


def table(annotations: AnnotationSet) -> str:
    """Returns the text of a table of points.

    The columns are those that the set was read with, and those that are missing for what it holds:
    `visible`, `score`, `category`, `object`, `object_score`. Images and objects without points
    have no rows.

    Raises:
        ValueError: If an object has a region, for which a table of points has no room.
    """
    entries = []
    for image in annotations.images:
        for found in image.objects:
            if found.regions:
                raise ValueError(
                    "A table of points has no masks or boxes; write COCO or LabelMe instead. "
                    f"Received: {len(found.regions)} in {shown(image.name)}"
                )
            if found.points:
                entries.append((image.name, found))
    columns = list(annotations.fields.get("columns", REQUIRED))
    columns += [column for column in _needed(entries) if column not in columns]
    identifiers = _identifiers(entries)
    rows = []
    for (image, found), identifier in zip(entries, identifiers, strict=True):
        for name, point in found.points.items():
            texts = cell_texts(image, found, name, point) | {"object": identifier}
            cells = point.fields.get("cells", {})
            row = [_cell(column, texts, cells, point.visibility) for column in columns]
            rows.append((point.fields.get("row"), row))
    # Rows without a place of their own follow, in the order of the objects.
    rows.sort(key=lambda pair: (pair[0] is None, pair[0] or 0))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(row for _, row in rows)
    return text.getvalue()


def _needed(entries: list) -> list[str]:
    points = [point for _, found in entries for point in found.points.values()]
    keys = [(image, found.category) for image, found in entries]
    needed = {
        "visible": any(point.visibility == HIDDEN for point in points),
        "score": any(point.score is not None for point in points),
        "category": any(found.category for _, found in entries),
        "object": len(set(keys)) < len(keys),
        "object_score": any(found.score is not None for _, found in entries),
    }
    return [column for column, is_needed in needed.items() if is_needed]


def _identifiers(entries: list) -> list[str]:
    """Returns the `object` of each entry, different within an image."""
    known = {(image, found.fields.get("object")) for image, found in entries}
    used, numbers, identifiers = set(), collections.Counter(), []
    for image, found in entries:
        identifier = found.fields.get("object")
        if identifier is None or (image, identifier) in used:
            numbers[image] += 1
            while (image, str(numbers[image])) in known:
                numbers[image] += 1
            identifier = str(numbers[image])
        used.add((image, identifier))
        identifiers.append(identifier)
    return identifiers


def _cell(column: str, texts: dict, cells: dict, visibility: int) -> str:
    """Returns a cell as it was read if it still says the same, otherwise as usual."""
    kept = cells.get(column)
    usual = texts.get(column)
    if usual is None or kept is None:
        return usual or kept or ""
    if column in _NUMBERS:
        same = _number(kept) == _number(usual)
    elif column == "visible":
        same = visibility in (NOT_LABELLED, VISIBILITY.get(kept.strip().lower()))
    else:
        same = kept.strip() == usual
    return kept if same else usual


def _number(text: str) -> float | None:
    return float(text) if text.strip() else None
