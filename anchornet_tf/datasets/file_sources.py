"""Image sets made of files: a folder with one sub-folder per class, or a manifest in CSV."""

import csv
import hashlib
import io
import os
import pathlib
from collections.abc import Sequence

import numpy as np
from absl import logging

from anchornet_tf.datasets.file_reader import UNREADABLE, FileReader, find_way
from anchornet_tf.datasets.image_scan import scan
from anchornet_tf.datasets.label_map import BACKGROUND, normal_form
from anchornet_tf.datasets.listing import Listing
from anchornet_tf.utils.image_formats import SUFFIXES, decoders

MANIFEST_HEADER = ["path", "labels"]
TRAIN_FOLDER = "train"
HELDOUT_FOLDERS = ("heldout", "test", "validation", "val")
_NAMES_SHOWN = 5


def list_folder(folder: str, split: str) -> Listing:
    """Lists a folder of images, laid out as `tfds.folder_dataset.ImageFolder` wants it.

    `folder/<split>/<class>/image.jpg`, or simply `folder/<class>/image.jpg`; `background` may be
    among the classes. With splits, `train` is for training, and the held-out images are in
    `heldout`, `test`, `validation` or `val`; where there is only `train`, it is divided. Where
    there is no sub-folder at all, the folder's own name is the class of its images.

    Args:
        folder: path.
        split: `train` or `heldout`.

    Raises:
        ValueError: the folder is missing or empty, or a sub-folder has no image.
    """
    root = pathlib.Path(folder).expanduser()
    if not root.is_dir():
        raise ValueError(
            "There must be a folder of images, with one sub-folder per class or without any. "
            f"Received: {root}"
        )
    # `folder:.` should have a name too.
    root = root.resolve()
    names = [part.name for part in _subfolders(root)]
    has_own_split = False
    if TRAIN_FOLDER in names:
        heldout = next((name for name in HELDOUT_FOLDERS if name in names), None)
        has_own_split = heldout is not None
        root /= heldout if split == "heldout" and has_own_split else TRAIN_FOLDER
    paths, labels = [], []
    classes = _subfolders(root)
    beside = len(_images(root)) if classes else 0
    if beside:
        logging.warning("%d images beside the sub-folders of %s are not used.", beside, root)
    for part in classes or [root]:
        found = _images(part)
        if not found:
            raise ValueError(
                f"The folder of a class must hold images ({', '.join(SUFFIXES)}), not in folders "
                f"of its own. Received: {part} without any"
            )
        paths += found
        labels += [(_label(part.name, str(part)),)] * len(found)
    # The split's folder is no part of the key: keys are what a division by hash is made from.
    keys = [path.relative_to(root).as_posix() for path in paths]
    return _listing(paths, keys, labels, has_own_split)


def list_manifest(manifest: str) -> Listing:
    """Lists the images of a CSV file with the header `path,labels`.

    Paths are relative to the manifest. Labels are separated by `;`; an image without any class has
    the label `background`.

    Args:
        manifest: path of the CSV file.

    Raises:
        ValueError: the manifest is missing, has another header or an incomplete line, repeats an
            image or calls it both background and something else, or names a file that is missing.
    """
    manifest = pathlib.Path(manifest).expanduser()
    if not manifest.is_file():
        raise ValueError(f"There must be a manifest, a CSV file. Received: {manifest}")
    rows = csv.reader(io.StringIO(_manifest_text(manifest), newline=""))
    header = [cell.strip() for cell in next(rows, [])]
    if header != MANIFEST_HEADER:
        raise ValueError(
            f"The first line of a manifest must be `{','.join(MANIFEST_HEADER)}`. "
            f"Received: `{_on_one_line(','.join(header))}` in {manifest}"
        )
    entries = {}
    for row in rows:
        if row:
            key, labels = _manifest_row(row, f"{manifest}, line {rows.line_num}")
            if key in entries:
                raise ValueError(
                    "A manifest must name each image once, with all its labels. "
                    f"Received: {_on_one_line(key)} again at {manifest}, line {rows.line_num}"
                )
            entries[key] = labels
    if not entries:
        raise ValueError(f"A manifest must name at least one image. Received: {manifest}")

    paths = [manifest.parent / key for key in entries]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise ValueError(
            f"Every file of a manifest must exist (paths are relative to {manifest.parent}). "
            f"Received: {len(missing)} of {len(paths)} missing, such as "
            f"{_on_one_line(', '.join(missing[:_NAMES_SHOWN]))}, in {manifest}"
        )
    return _listing(paths, list(entries), list(entries.values()), has_own_split=False)


def _on_one_line(text: str) -> str:
    """Returns what a line holds, to be shown: a quoted cell may go on over several lines."""
    return " ".join(text.split())


def _manifest_text(manifest: pathlib.Path) -> str:
    content = manifest.read_bytes()
    try:
        # A spreadsheet may put a byte order mark first, which is no part of the header.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            "A manifest must be text in UTF-8; save it so, or convert it, for example with "
            "`iconv -f latin1 -t utf8`. "
            f"Received: the byte 0x{content[error.start]:02x} at {manifest}, line {line}"
        ) from None


def _label(text: str, place: str) -> str:
    try:
        return normal_form(text)
    except ValueError as error:
        raise ValueError(f"{error} at {place}") from None


def _manifest_row(row: Sequence[str], place: str) -> tuple[str, tuple[str, ...]]:
    cells = [cell.strip() for cell in row]
    if len(cells) != 2 or not all(cells):
        raise ValueError(
            "A line of a manifest must hold a path and labels separated by `;`. "
            f"Received: `{_on_one_line(','.join(row))}` at {place}"
        )
    labels = tuple(dict.fromkeys(_label(label, place) for label in cells[1].split(";")))
    if BACKGROUND in labels and len(labels) > 1:
        raise ValueError(
            f"An image is either `{BACKGROUND}` or has classes. Received: `{cells[1]}` at {place}"
        )
    return cells[0], labels


def _listing(
    paths: list[pathlib.Path],
    keys: list[str],
    labels: list[tuple[str, ...]],
    has_own_split: bool,
) -> Listing:
    states = [path.stat() for path in paths]
    reader = FileReader([os.path.abspath(path) for path in paths])

    def find_readable() -> np.ndarray:
        # A file that cannot be read today may be readable once a decoder is installed.
        digest = hashlib.sha256(decoders().encode())
        for path, state in zip(reader.paths, states, strict=True):
            digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
        # The pass finds how each image is read, which need not be found again in every step.
        reader.ways = scan(
            lambda row: find_way(reader.paths[row]),
            len(reader),
            digest.hexdigest(),
            "checking images",
        )
        return reader.ways != UNREADABLE

    return Listing(
        keys=keys,
        label_names=labels,
        contents=[str(state.st_size) for state in states],
        reader=reader,
        has_own_split=has_own_split,
        find_readable=find_readable,
    )


def _images(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)


def _subfolders(folder: pathlib.Path) -> list[pathlib.Path]:
    # Such folders belong to tools (thumbnails, notebooks, archives), not to classes.
    return sorted(
        part for part in folder.iterdir() if part.is_dir() and not part.name.startswith((".", "__"))
    )
