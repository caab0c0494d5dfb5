"""Annotation files of any known format, recognised by what they hold."""

import contextlib
import gc
import os
import pathlib
import re
from collections.abc import Iterator

from anchornet_tf.annotations import (
    coco,
    coco_writer,
    csv_points,
    csv_writer,
    labelme,
    labelme_writer,
)
from anchornet_tf.annotations.checks import Checker, shown
from anchornet_tf.annotations.documents import json_text, read_json, read_text, write_text
from anchornet_tf.annotations.items import AnnotationSet, ImageAnnotations
from anchornet_tf.utils.files import atomic_folder

FORMATS = ("coco", "labelme", "csv")
# Characters. File systems take 255 bytes, some of which a temporary name needs.
_LONGEST_NAME = 50


def read_annotations(path: str | os.PathLike) -> AnnotationSet:
    """Reads a COCO file, a LabelMe file, a folder of LabelMe files or a table of points (.csv).

    No image is opened: the names of images are text.

    Raises:
        FileNotFoundError: If there is no such file or folder.
        ValueError: If it is none of these, or something in it is not as it must be. The message is
            one line with the file and the place in it.
    """
    path = pathlib.Path(path)
    with _collection_paused():
        return _read(path)


def _read(path: pathlib.Path) -> AnnotationSet:
    if path.is_dir():
        return labelme.read_folder(path)
    if path.suffix.lower() == ".csv":
        return csv_points.parse(read_text(path), path)
    document = read_json(path)
    keys = document.keys() if isinstance(document, dict) else set()
    if "shapes" in keys:
        return AnnotationSet("labelme", (labelme.parse(document, path),))
    if {"images", "annotations"} <= keys:
        return coco.parse(document, path)
    raise ValueError(
        f"{Checker(path).file} must be a COCO file with `images` and `annotations`, a LabelMe file "
        f"with `shapes`, or a table whose name ends in .csv. Received: {shown(document)}"
    )


@contextlib.contextmanager
def _collection_paused() -> Iterator[None]:
    """Keeps Python from looking for garbage among millions of new objects again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def write_annotations(path: str | os.PathLike, annotations: AnnotationSet) -> None:
    """Writes annotations in their own format; the same annotations give the same bytes.

    COCO and CSV are one file. LabelMe is one file if the path ends in `.json`, otherwise a folder
    with a file for each image, beside what the folder already holds.

    Raises:
        ValueError: If the format has no room for something that the annotations hold.
    """
    path = pathlib.Path(path)
    if annotations.format == "coco":
        write_text(path, json_text(coco_writer.document(annotations)))
    elif annotations.format == "csv":
        write_text(path, csv_writer.table(annotations))
    elif annotations.format == "labelme":
        _write_labelme(path, annotations.images)
    else:
        raise ValueError(
            f"Annotations are written as one of {', '.join(FORMATS)}. "
            f"Received: format={annotations.format!r}"
        )


def _write_labelme(path: pathlib.Path, images: tuple[ImageAnnotations, ...]) -> None:
    texts = [json_text(labelme_writer.document(image), indent=2) for image in images]
    if path.suffix.lower() == ".json" and not path.is_dir():
        if len(texts) != 1:
            raise ValueError(
                "A LabelMe file holds one image; several go to a folder, whose name does not end "
                f"in .json. Received: {len(texts)} images for {path}"
            )
        write_text(path, texts[0])
        return
    names = _file_names(images)
    if path.exists():
        for name, text in zip(names, texts, strict=True):
            write_text(path / name, text)
        return
    with atomic_folder(path) as folder:
        for name, text in zip(names, texts, strict=True):
            write_text(folder / name, text)


def _file_names(images: tuple[ImageAnnotations, ...]) -> list[str]:
    """Returns a name for each image's file: the one it was read from, or its image's with .json."""
    names, taken = [], set()
    for image in images:
        # Only the last part, and nothing that a file system reads as something else.
        base = re.sub(r"[\x00-\x1f<>:\"|?*]", "_", re.split(r"[/\\]", image.name)[-1])
        base = base.strip(". ")[:_LONGEST_NAME] or "image"
        stem = pathlib.PurePosixPath(base).stem
        candidates = [image.fields.get("file"), f"{stem}.json", f"{base}.json"]
        number = 2
        # Some file systems take names for the same that differ in capitals only.
        while (name := candidates.pop(0)) is None or name.lower() in taken:
            candidates.append(f"{stem}-{number}.json")
            number += 1
        taken.add(name.lower())
        names.append(name)
    return names
