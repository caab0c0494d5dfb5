"""The images of the studio: those of a folder, dropped ones, and drawn examples.

The page knows images by ids alone. Only files that were found when the studio started are read, and
only as long as their paths lead to the same place.
"""

import dataclasses
import hashlib
import os
import pathlib
import re
import threading
from collections.abc import Sequence

import PIL.Image

from anchornet_tf.studio.byte_cache import ByteCache
from anchornet_tf.studio.refusals import Refusal, expected
from anchornet_tf.tasks.frames import open_images
from anchornet_tf.utils.image_formats import read_header
from anchornet_tf.utils.image_io import ScaledImage, check_pixels, read_scaled
from anchornet_tf.utils.unfinished import ScratchFolder

FOLDER, UPLOAD, EXAMPLE = "folder", "upload", "example"
# Of all uploads together, in multiples of the largest one.
_UPLOADS_KEPT = 32
_LONGEST_NAME = 120
_TURNED = (5, 6, 7, 8)  # Orientations that exchange height and width.
_ODD = re.compile(r"[\x00-\x1f\x7f/\\<>:\"|?*]")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One image.

    Attributes:
        id: str, what the page calls it.
        name: str, its file, seen from the folder; different for all images.
        source: `FOLDER`, `UPLOAD` or `EXAMPLE`.
        path: Where its file is.
        real_path: Where that leads to.
        width: int, 0 if it cannot be read.
        height: int.
        key: str, by which it is known in another run of the studio.
        error: One line if it cannot be read, else None.
        num_bytes: int, of an upload.
    """

    id: str
    name: str
    source: str
    path: pathlib.Path
    real_path: str
    width: int = 0
    height: int = 0
    key: str = ""
    error: str | None = None
    num_bytes: int = 0

    def described(self) -> dict:
        """Returns what the page is told."""
        names = "id", "name", "width", "height", "source", "error"
        return {name: getattr(self, name) for name in names}


class Library:
    """All images by id.

    Args:
        paths: A folder, or images; none for the drawn examples.
        recursive: bool. Whether images in sub-folders of the folder count too.
        max_images: int. The most images.
        max_upload: int. The most bytes of one upload.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.
        memory: int. Bytes of decoded images to keep.

    Attributes:
        folder: pathlib.Path of the folder, or None.

    Raises:
        ValueError: If there are no images at the paths, or too many.
    """

    def __init__(
        self,
        paths: Sequence[str | os.PathLike] = (),
        *,
        recursive: bool = False,
        max_images: int = 500,
        max_upload: int = 32 * 2**20,
        max_pixels: int | None = None,
        memory: int = 128 * 2**20,
    ):
        self.max_images, self.max_upload, self.max_pixels = max_images, max_upload, max_pixels
        self._temporary = ScratchFolder("anchornet-studio")
        self._entries: dict[str, Entry] = {}
        self._decoded = ByteCache(memory)
        self._lock = threading.Lock()
        self._count = 0
        self.folder: pathlib.Path | None = None
        if paths:
            self._add_files(paths, recursive)
        else:
            self._add_examples()

    def close(self) -> None:
        """Removes dropped images from the disk."""
        self._temporary.cleanup()

    def all(self) -> list[Entry]:
        """Returns all images in the order of their ids."""
        with self._lock:
            return list(self._entries.values())

    def entry(self, identifier) -> Entry:
        """Returns an image.

        Raises:
            Refusal: If there is none with this id.
        """
        # Only text is looked up: a list has no hash, and 1 is no id.
        found = self._entries.get(identifier) if isinstance(identifier, str) else None
        if found is None:
            raise expected("the id of an image", identifier, 404)
        return found

    def read(self, identifier) -> ScaledImage:
        """Reads an image, or gives the one that was read before.

        Raises:
            Refusal: If it does not exist or cannot be read.
        """
        entry = self.entry(identifier)
        stamp = self._stamp(entry)
        found = self._decoded.get((entry.id, stamp))
        if found is None:
            found = self._decode(entry)
            self._decoded.put((entry.id, stamp), found, found.pixels.nbytes)
        return found

    def stamp(self, identifier) -> str:
        """Returns what changes when the file of an image does.

        Raises:
            Refusal: If it does not exist.
        """
        entry = self.entry(identifier)
        return f"{entry.key}-{self._stamp(entry)}"

    def add_upload(self, name: str, content: bytes) -> tuple[Entry, bool]:
        """Adds a dropped image, unless its very bytes are there.

        Args:
            name: What the user calls it.
            content: The bytes of its file.

        Returns:
            The image, and whether it is new.

        Raises:
            Refusal: If it is no image, or there is no room for it.
        """
        digest = hashlib.sha256(content).hexdigest()[:32]
        with self._lock:
            for entry in self._entries.values():
                if entry.key == f"upload:{digest}":
                    return entry, False
            self._check_room(len(content))
        path = self._temporary.path / digest
        path.write_bytes(content)
        entry = self._looked_at(
            Entry("", _clean(name), UPLOAD, path, os.path.realpath(path), key=f"upload:{digest}")
        )
        if entry.error is None:
            try:
                image = self._decode(entry)
            except Refusal as refusal:
                entry = dataclasses.replace(entry, error=str(refusal))
        if entry.error is not None:
            path.unlink(missing_ok=True)
            raise Refusal(400, entry.error)
        with self._lock:
            for other in self._entries.values():
                if other.key == entry.key:  # Came twice at once.
                    return other, False
            self._check_room(len(content))
            entry = self._added(dataclasses.replace(entry, num_bytes=len(content)))
        # Its features are asked for next.
        self._decoded.put((entry.id, self._stamp(entry)), image, image.pixels.nbytes)
        return entry, True

    def remove_upload(self, identifier) -> None:
        """Removes a dropped image.

        Raises:
            Refusal: If it does not exist, or is no upload.
        """
        with self._lock:
            entry = self.entry(identifier)
            if entry.source != UPLOAD:
                raise expected("the id of a dropped image; others stay", entry.id, 403)
            del self._entries[entry.id]
        entry.path.unlink(missing_ok=True)

    def _check_room(self, num_bytes: int) -> None:
        if len(self._entries) >= self.max_images:
            raise expected(f"at most {self.max_images} images", "one more", 429)
        used = sum(entry.num_bytes for entry in self._entries.values())
        if used + num_bytes > _UPLOADS_KEPT * self.max_upload:
            room = _UPLOADS_KEPT * self.max_upload
            raise expected(f"dropped images of at most {room:,} bytes in all", "more", 429)

    def _add_files(self, paths, recursive) -> None:
        where = paths[0] if len(paths) == 1 else list(paths)
        images = open_images(where, recursive, self.max_pixels)
        if images.is_video:
            raise ValueError(f"Expected a folder of images, or images. Received: {where}")
        if len(images) > self.max_images:
            raise ValueError(
                f"Expected at most {self.max_images} images; --max_images raises the limit. "
                f"Received: {len(images)}"
            )
        named = len(paths) == 1 and pathlib.Path(paths[0]).expanduser().is_dir()
        self.folder = images.folder.resolve()
        for name, path in zip(images.names, images.paths, strict=True):
            entry = Entry("", name, FOLDER, path, os.path.realpath(path), key=f"file:{name}")
            if named and not _is_below(entry.real_path, self.folder):
                message = f"Expected a file inside the folder. Received: {name!r}, a link out of it"
                self._added(dataclasses.replace(entry, error=message))
            else:
                self._added(self._looked_at(entry))

    def _add_examples(self) -> None:
        # Drawn here: parts_world needs no file, and neither do they.
        from anchornet_tf.datasets import parts_world

        for name in ("bird", "cow", "bicycle"):
            for number in range(4):
                path = self._temporary.path / f"{name}-{number + 1}.png"
                PIL.Image.fromarray(parts_world.draw(name, number).image).save(path)
                entry = Entry("", path.name, EXAMPLE, path, os.path.realpath(path))
                self._added(self._looked_at(entry))

    def _added(self, entry: Entry) -> Entry:
        self._count += 1
        name = _free_name(entry.name, {other.name for other in self._entries.values()})
        key = entry.key or f"example:{name}"
        entry = dataclasses.replace(entry, id=f"i{self._count}", name=name, key=key)
        self._entries[entry.id] = entry
        return entry

    def _looked_at(self, entry: Entry) -> Entry:
        """Returns an image with its size, or with the reason why it has none."""
        header = read_header(str(entry.path))
        try:
            if header is None:
                # Says why it cannot be read.
                read_scaled(entry.path, max_pixels=self.max_pixels)
                raise ValueError("it has no header")
            check_pixels(header.height, header.width, self.max_pixels, f"the image {entry.name!r}")
        except (ValueError, OSError) as error:
            return dataclasses.replace(entry, error=_reason(error, entry))
        width, height = header.width, header.height
        # Pillow states the turned size of a TIFF file.
        if header.orientation in _TURNED and header.format != "TIFF":
            width, height = height, width
        return dataclasses.replace(entry, width=width, height=height)

    def _stamp(self, entry: Entry) -> str:
        try:
            state = os.stat(entry.path)
        except OSError:
            return "gone"
        return f"{state.st_size}-{state.st_mtime_ns}"

    def _decode(self, entry: Entry) -> ScaledImage:
        if entry.error is not None:
            raise Refusal(400, entry.error)
        if os.path.realpath(entry.path) != entry.real_path:
            raise expected("the file that was there at the start", entry.name, 403)
        try:
            image = read_scaled(entry.real_path, max_pixels=self.max_pixels)
        except (ValueError, OSError, MemoryError) as error:
            raise Refusal(400, _reason(error, entry)) from error
        height, width = image.original_size
        if entry.id and (width, height) != (entry.width, entry.height):
            raise expected(
                f"the image {entry.name!r} with the size that it had at the start, "
                f"{entry.width} x {entry.height}",
                f"{width} x {height}",
                409,
            )
        return image


def _reason(error: Exception, entry: Entry) -> str:
    """Says why an image cannot be read, in one line and without the paths of this machine."""
    text = " ".join(str(error).split()) or type(error).__name__
    for path in (str(entry.path), entry.real_path):
        text = text.replace(path, entry.name)
    if "Received:" not in text:
        text = f"Expected a readable image (JPEG, PNG, ...). Received: {entry.name!r} ({text})"
    return text[:500]


def _is_below(real_path: str, folder: pathlib.Path) -> bool:
    return pathlib.Path(real_path).is_relative_to(folder)


def _clean(name: str) -> str:
    """Returns the last part of a name, without what file systems and tables dislike."""
    last = re.split(r"[/\\]", name)[-1]
    last = _ODD.sub("_", last).strip(". ").encode("utf-8", "replace").decode()
    stem, suffix = os.path.splitext(last)
    return (stem[: _LONGEST_NAME - len(suffix)] + suffix[:10]) or "image"


def _free_name(name: str, taken: set[str]) -> str:
    stem, suffix = os.path.splitext(name)
    number = 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name
