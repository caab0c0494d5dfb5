"""PF-PASCAL as listed for NC-Net: a table of pairs with the keypoints of both images."""

import os
import pathlib

import numpy as np

from anchornet_tf.datasets.annotated import reading
from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Pair, Protocol
from anchornet_tf.datasets.voc_classes import VOC_CLASSES

NAME = "pf_pascal"
NUM_PAIRS = 299
COLUMNS = ("source_image", "target_image", "class", "XA", "YA", "XB", "YB")
CONTENTS = (
    f"test_pairs.csv ({NUM_PAIRS} pairs; columns {', '.join(COLUMNS)}) and the images that it "
    "names, PF-dataset-PASCAL/JPEGImages/*.jpg"
)
INSTRUCTIONS = (
    "Get PF-dataset-PASCAL.zip of Proposal Flow "
    "(https://www.di.ens.fr/willow/research/proposalflow) and the image_pairs folder of NC-Net, "
    "and name the folder that holds both."
)
PROTOCOL = Protocol(
    measures=("pck",),
    normalize_by=("image", "bbox_kp", "bbox_kp_padded"),
    thresholds=(0.05, 0.1, 0.15),
    average="pairs",
)
_LISTED_SIDE = 300  # long side of the images that the coordinates were measured on
_KNOWN_LEAK = "95 of the 299 test pairs of the common split are also training pairs"


def read(data_dir: str | os.PathLike | None, split: str = "test") -> Benchmark:
    """Reads PF-PASCAL.

    Args:
        data_dir: folder that holds `{split}_pairs.csv`, itself or in `image_pairs`, and the images.
        split: name of the table: `"test"`, `"val"` or `"train"`.

    Returns:
        Benchmark.

    Raises:
        DataMissing: If the table or an image is not there.
        ValueError: If the table is truncated or malformed.
    """
    folder = reading.data_folder(data_dir, CONTENTS, INSTRUCTIONS)
    table = _table(folder, split)
    if table is None:
        raise reading.missing(CONTENTS, INSTRUCTIONS, f"{folder} without {split}_pairs.csv")
    rows = reading.csv_rows(table, COLUMNS)
    listed = [_row_points(row, f"line {number} of {table}") for number, row in enumerate(rows, 2)]
    resized = max((points.max() for row in listed for points in row), default=0) <= _LISTED_SIDE + 1
    seen: dict[tuple, int] = {}
    pairs = []
    for row, points in zip(rows, listed, strict=True):
        sides = [
            _annotation(folder, row[column], row["class"], side, resized)
            for column, side in zip(COLUMNS[:2], points, strict=True)
        ]
        name = ">".join(side.name for side in sides)
        # A pair may be listed once for each of several objects.
        seen[name] = seen.get(name, 0) + 1
        name = name if seen[name] == 1 else f"{name}#{seen[name]}"
        pairs.append(Pair(name, *sides, sides[0].class_name))
    pairs.sort(key=lambda pair: pair.group)
    notes = [_leak(folder, rows)] if split == "test" else []
    if split == "test" and len(pairs) != NUM_PAIRS:
        notes.append(f"not the {NUM_PAIRS} test pairs of PF-PASCAL, but {len(pairs)}")
    return Benchmark(NAME, tuple(pairs), PROTOCOL, tuple(notes))


def _table(folder: pathlib.Path, split: str) -> pathlib.Path | None:
    names = [f"{split}_pairs.csv", f"{split}_pairs_pf_pascal.csv"]
    found = [folder / part / name for part in ("", "image_pairs") for name in names]
    return next((path for path in found if path.is_file()), None)


def _row_points(row: dict[str, str], where: str) -> list[np.ndarray]:
    """Returns the `(n, 2)` points of both images of a line, counted from one as they are listed."""
    try:
        x, y, target_x, target_y = (
            [float(number) for number in row[column].split(";") if number.strip()]
            for column in COLUMNS[3:]
        )
    except ValueError as error:
        raise ValueError(
            f"Expected numbers separated by ';'. Received: {where} ({error})"
        ) from error
    if not len(x) == len(y) == len(target_x) == len(target_y) or not x:
        counts = [len(values) for values in (x, y, target_x, target_y)]
        raise ValueError(f"Expected as many XA, YA, XB and YB. Received: {counts} in {where}")
    return [np.stack([x, y], axis=1), np.stack([target_x, target_y], axis=1)]


def _annotation(folder, image_name, class_number, points, resized) -> Annotation:
    path = folder / image_name
    if not path.is_file() and (folder / pathlib.Path(image_name).name).is_file():
        path = folder / pathlib.Path(image_name).name
    size = reading.size_of(reading.existing(path))
    # The table's coordinates belong to images of long side 300; those on disk may be larger.
    scale = max(size) / _LISTED_SIDE if resized else 1.0
    points = (points - 0.5) * scale - 0.5
    return Annotation(
        name=path.stem,
        image_key=image_name,
        class_name=_class_name(class_number),
        path=path,
        points=points,
        point_names=tuple(str(number) for number in range(len(points))),
        visible=np.ones(len(points), bool),
    )


def _class_name(value: str) -> str:
    if value in VOC_CLASSES:
        return value
    if value.isdigit() and 1 <= int(value) <= len(VOC_CLASSES):
        return VOC_CLASSES[int(value) - 1]
    raise ValueError(f"Expected a class from 1 to {len(VOC_CLASSES)}. Received: {value!r}")


def _leak(folder, rows) -> str:
    training = _table(folder, "train") or _table(folder, "trn")
    if training is None:
        return f"known leak: {_KNOWN_LEAK}"
    columns = COLUMNS[:2]
    trained = {
        frozenset(pathlib.Path(row[column]).name for column in columns)
        for row in reading.csv_rows(training, columns)
    }
    tested = [frozenset(pathlib.Path(row[column]).name for column in columns) for row in rows]
    shared = sum(pair in trained for pair in tested)
    return f"leak: {shared} of these {len(rows)} test pairs are also training pairs"
