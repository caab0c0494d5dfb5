"""What the readers of the benchmarks have in common: finding files, and saying what is missing."""

import csv
import io
import os
import pathlib

import numpy as np
import PIL.Image


class DataMissing(FileNotFoundError):
    """The data of a benchmark, or a part of them, is not where it was looked for."""


def data_folder(data_dir: str | os.PathLike | None, contents: str, instructions: str):
    """Returns the folder.

    Args:
        data_dir: folder of the data as its makers publish it.
        contents: str. What it should hold, with counts.
        instructions: str. How to get it.

    Raises:
        DataMissing: If there is no such folder.
    """
    if not data_dir or not pathlib.Path(data_dir).is_dir():
        raise missing(contents, instructions, data_dir or "no data_dir")
    return pathlib.Path(data_dir)


def missing(contents: str, instructions: str, received) -> DataMissing:
    """Returns the error to raise."""
    return DataMissing(f"Expected {contents}. {instructions} Received: {received}")


def existing(path: pathlib.Path) -> pathlib.Path:
    """Returns the path of a file that the annotation names.

    Raises:
        DataMissing: If it is not there.
    """
    if not path.is_file():
        raise DataMissing(f"Expected a file that the annotations name. Received: {path}")
    return path


def size_of(path: pathlib.Path) -> tuple[int, int]:
    """Returns (height, width) of an image file without decoding it.

    Raises:
        ValueError: If it is no image.
    """
    try:
        with PIL.Image.open(path) as image:
            return image.height, image.width
    except OSError as error:
        raise ValueError(f"Expected a readable image. Received: {path} ({error})") from error


def text_of(path: pathlib.Path) -> str:
    """Returns the text of a file.

    Raises:
        DataMissing: If there is no such file.
        ValueError: If it is not in UTF-8.
    """
    try:
        return existing(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"Expected text in UTF-8 ({error}). Received: {path}") from error


def csv_rows(path: pathlib.Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Reads a table with a header.

    Raises:
        DataMissing: If there is no such file.
        ValueError: If a column is missing, or a line is cut short.
    """
    reader = csv.DictReader(io.StringIO(text_of(path), newline=""))
    try:
        header = reader.fieldnames
        if not set(columns) <= set(header or ()):
            raise ValueError(
                f"Expected a header with {', '.join(columns)}. Received: {header} in {path}"
            )
        rows = list(reader)
    except csv.Error as error:
        raise ValueError(f"Expected a table in CSV ({error}). Received: {path}") from error
    for number, row in enumerate(rows, start=2):
        if None in row or any(row[column] in (None, "") for column in columns):
            raise ValueError(
                f"Expected {len(columns)} values per line: {', '.join(columns)}. "
                f"Received: line {number} of {path}, cut short or too long"
            )
    return rows


def points_within(points: np.ndarray, size: tuple[int, int], where: str) -> np.ndarray:
    """Returns points that must lie on the image.

    Raises:
        ValueError: If one lies more than half a pixel outside.
    """
    height, width = size
    inside = ((points >= -0.5) & (points <= [width - 0.5, height - 0.5])).all(axis=1)
    if not inside.all():
        raise ValueError(
            f"Expected keypoints on the image of height {height} and width {width}. "
            f"Received: {points[~inside].tolist()} of {where}"
        )
    return points
