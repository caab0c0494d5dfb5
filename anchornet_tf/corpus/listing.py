"""Which images a corpus has: one key per line, in a fixed order, cut into shards."""

import csv
import dataclasses
import glob
import hashlib
import io
import os
import pathlib
from collections.abc import Iterator

from anchornet_tf.corpus import storage
from anchornet_tf.utils.image_formats import SUFFIXES

LISTING = "images.txt"
_WILDCARDS = "*?["
_MANIFESTS = (".csv", ".txt")
_COLUMN = "path"


@dataclasses.dataclass(frozen=True)
class Shard:
    """A run of neighbouring images that one file holds.

    Attributes:
        number: int, from 0.
        offset: int. Where its keys begin in the listing, in bytes.
        length: int. How many bytes of the listing it has.
    """

    number: int
    offset: int
    length: int


@dataclasses.dataclass(frozen=True)
class Listing:
    """The keys of all images.

    Attributes:
        root: The folder that keys are relative to.
        contents: The keys, one per line.
        shards: Where the shards begin.
        count: int. How many images there are.
    """

    root: str
    contents: bytes
    shards: tuple[Shard, ...]
    count: int

    def digest(self) -> str:
        """Returns what tells whether these are the same images in the same order."""
        return hashlib.sha256(self.contents).hexdigest()[:16]


def list_images(images: str | os.PathLike, shard_size: int, limit: int | None = None) -> Listing:
    """Lists the images of a folder, a pattern or a manifest.

    Args:
        images: A folder, whose images and those of its sub-folders are taken; a pattern such as
            `photos/**/*.jpg`; a `.csv` file with a column `path`; or a `.txt` file with one path
            per line. Paths in a file are relative to it.
        shard_size: int. Images per shard.
        limit: int. Only the first so many; None for all.

    Raises:
        FileNotFoundError: If a file or folder does not exist.
        ValueError: If there is no image, a key occurs twice, or a manifest has no such column.
    """
    images = os.fspath(images)
    if images.endswith(_MANIFESTS) and not any(mark in images for mark in _WILDCARDS):
        root, keys = _parent(images), _manifest_keys(images)
    else:
        root, keys = _pattern_keys(images)
    seen: set[str] = set()
    lines = io.BytesIO()
    shards: list[Shard] = []
    start = 0
    for number, key in enumerate(keys):
        if limit is not None and number == limit:
            break
        if key in seen or "\n" in key:
            raise ValueError(
                f"Expected every image once, on one line of the listing. Received: {key!r}"
            )
        if number and number % shard_size == 0:
            shards.append(Shard(len(shards), start, lines.tell() - start))
            start = lines.tell()
        seen.add(key)
        lines.write(f"{key}\n".encode())
    if not seen:
        raise ValueError(f"Expected at least one image. Received: none in {images!r}")
    shards.append(Shard(len(shards), start, lines.tell() - start))
    return Listing(root, lines.getvalue(), tuple(shards), len(seen))


def shard_keys(listing: str | os.PathLike, shard: Shard) -> list[str]:
    """Reads the keys of one shard out of the listing's file."""
    if storage.is_remote(listing):
        part = storage.read_bytes(listing)[shard.offset : shard.offset + shard.length]
    else:
        with open(listing, "rb") as handle:
            handle.seek(shard.offset)
            part = handle.read(shard.length)
    return part.decode().splitlines()


def _manifest_keys(path: str) -> Iterator[str]:
    if not storage.exists(path):
        raise FileNotFoundError(f"Expected a manifest of images. Received: {path}")
    text = storage.read_bytes(path).decode("utf-8-sig")
    if path.endswith(".txt"):
        yield from (line.strip() for line in text.splitlines() if line.strip())
        return
    rows = csv.DictReader(io.StringIO(text))
    if _COLUMN not in (rows.fieldnames or ()):
        raise ValueError(
            f"Expected a manifest with a column {_COLUMN!r}. "
            f"Received: {path} with {', '.join(rows.fieldnames or ()) or 'no header'}"
        )
    yield from (row[_COLUMN] for row in rows if row[_COLUMN])


def _pattern_keys(images: str) -> tuple[str, list[str]]:
    if storage.is_remote(images):
        root = _parent(images.split("*")[0] + "_")
        return root, [path.removeprefix(f"{root}/") for path in storage.matching(images)]
    if os.path.isdir(images):
        images = os.path.join(images, "**", "*")
    fixed = pathlib.Path(images)
    while any(mark in str(fixed) for mark in _WILDCARDS):
        fixed = fixed.parent
    root = fixed if fixed.is_dir() else fixed.parent
    if not root.is_dir():
        raise FileNotFoundError(f"Expected a folder, a pattern or a manifest. Received: {images}")
    found = glob.glob(images, recursive=True)
    kept = [path for path in found if path.lower().endswith(SUFFIXES) and os.path.isfile(path)]
    return str(root), sorted(os.path.relpath(path, root) for path in kept)


def _parent(path: str) -> str:
    return path.rpartition("/")[0] if storage.is_remote(path) else os.path.dirname(path) or "."
