"""Images from wherever a user has them: a folder, a glob, a list of files or a video."""

import fnmatch
import glob
import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from anchornet_tf.tasks.video import VIDEO_SUFFIXES, VideoFrames
from anchornet_tf.utils.image_formats import SUFFIXES, read_header
from anchornet_tf.utils.image_io import ScaledImage, read_scaled

_DIGITS = re.compile(r"(\d+)")
_WILD = re.compile(r"[*?\[]")
# Thumbnails, trash and the like, which belong to tools.
_HIDDEN_FILES = "."
_HIDDEN_FOLDERS = (".", "__")


class ImageSequence(Protocol):
    """Images in an order, each read when it is asked for.

    Attributes:
        names: One name per image, relative to `folder`, with `/` between its parts.
        folder: pathlib.Path, the folder of the files.
        is_video: bool. Whether images that follow each other were taken one after the other.
    """

    names: tuple[str, ...]
    folder: pathlib.Path
    is_video: bool

    def __len__(self) -> int: ...

    def read(self, index: int) -> ScaledImage:
        """Reads an image.

        Args:
            index: int, from 0.

        Raises:
            IndexError: If there is no such image.
            ValueError: If the image cannot be read; the message names it.
        """
        ...


class ImageFiles:
    """Images in files of their own. An `ImageSequence`.

    Args:
        paths: The files, in their order.
        folder: What names are relative to.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.
    """

    is_video = False

    def __init__(
        self,
        paths: Sequence[pathlib.Path],
        folder: pathlib.Path,
        max_pixels: int | None = None,
    ):
        self.paths = tuple(paths)
        self.folder = folder
        self.names = tuple(_relative(path, folder) for path in self.paths)
        self._max_pixels = max_pixels

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, index: int) -> ScaledImage:
        """As in `ImageSequence`."""
        if not 0 <= index < len(self):
            raise IndexError(f"There are {len(self)} images. Received: index={index}")
        try:
            return read_scaled(self.paths[index], max_pixels=self._max_pixels)
        except OSError as error:
            # Gone, or not to be read by this user: one image less, as when it is damaged.
            raise ValueError(
                f"The file must be a readable image. Received: {str(self.paths[index])!r} ({error})"
            ) from error


def open_images(
    where: str | os.PathLike | Sequence[str | os.PathLike],
    recursive: bool = False,
    max_pixels: int | None = None,
) -> ImageSequence:
    """Finds images. None of them is read before it is asked for.

    Names are sorted as people count: `frame2.jpg` comes before `frame10.jpg`. A list keeps its
    order.

    Args:
        where: A folder, a glob such as `"shots/*.jpg"` or `"shots/**/*.jpg"`, a video, an image,
            or a list of paths of images. In folders and globs, hidden files are left out.
        recursive: bool. Whether images in the sub-folders of a folder count too. Each is entered
            once, even if links lead there again.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.

    Returns:
        The images: `ImageFiles`, or `VideoFrames` of a video.

    Raises:
        ImportError: If `where` is a video, and OpenCV is not installed.
        ValueError: If there is nothing at `where`, no image in it, or the video cannot be read.
    """
    if not isinstance(where, str | os.PathLike):
        return _open_list([pathlib.Path(path) for path in where], max_pixels)
    path = pathlib.Path(where).expanduser()
    if path.is_dir():
        found = list(_files_under(path, recursive))
        return _open_found(_images(found), path, str(path), max_pixels, found)
    if path.is_file():
        if path.suffix.lower() in VIDEO_SUFFIXES:
            return VideoFrames(path, max_pixels)
        if path.suffix.lower() in SUFFIXES or read_header(str(path)) is not None:
            return ImageFiles([path], path.parent, max_pixels)
    # Only now: the name of a file may contain brackets.
    elif _WILD.search(str(path)):
        folder, found = _glob(path)
        if len(found) == 1 and found[0].suffix.lower() in VIDEO_SUFFIXES:
            return VideoFrames(found[0], max_pixels)
        return _open_found(_images(found), folder, str(where), max_pixels, found)
    raise ValueError(
        f"Expected a folder of images, a glob, a video or an image. Received: {os.fspath(where)!r}"
    )


def natural_key(name: str) -> tuple:
    """Returns what to sort names by, so that numbers in them count as numbers.

    Args:
        name: str, with `/` between the parts of a path.
    """
    parts = []
    for part in name.split("/"):
        # Text and digits alternate, so that like is compared with like.
        pieces = _DIGITS.split(part.casefold())
        parts.append(tuple(int(p) if i % 2 else p for i, p in enumerate(pieces)))
    # Names that differ in capitals or leading zeros alone have an order too.
    return tuple(parts), name


def _open_list(paths: list[pathlib.Path], max_pixels: int | None) -> ImageSequence:
    paths = list(dict.fromkeys(path.expanduser() for path in paths))
    videos = [path for path in paths if path.suffix.lower() in VIDEO_SUFFIXES]
    if len(paths) == len(videos) == 1:
        return open_images(paths[0], max_pixels=max_pixels)
    if not paths or videos:
        received = f"a list with the video {str(videos[0])!r}" if videos else "an empty list"
        raise ValueError(f"Expected the paths of images, or one video. Received: {received}")
    absolute = [os.path.abspath(path) for path in paths]
    folder = pathlib.Path(os.path.commonpath([os.path.dirname(path) for path in absolute]))
    return ImageFiles([pathlib.Path(path) for path in absolute], folder, max_pixels)


def _open_found(images, folder, where, max_pixels, others) -> ImageFiles:
    if not images:
        has_video = any(path.suffix.lower() in VIDEO_SUFFIXES for path in others)
        raise ValueError(
            f"Expected images ({', '.join(SUFFIXES)})"
            f"{'; a video is named by its own path' if has_video else ''}. "
            f"Received: {where!r} without any"
        )
    images = sorted(images, key=lambda path: natural_key(_relative(path, folder)))
    return ImageFiles(images, folder, max_pixels)


def _images(paths: list[pathlib.Path]) -> list[pathlib.Path]:
    return [path for path in paths if path.suffix.lower() in SUFFIXES]


def _relative(path: pathlib.Path, folder: pathlib.Path) -> str:
    return path.relative_to(folder).as_posix()


def _files_under(folder: pathlib.Path, recursive: bool) -> Iterator[pathlib.Path]:
    """Gives the files of a folder that are not hidden, and of each folder below it once."""
    entered = {os.path.realpath(folder)}
    waiting = [folder]
    while waiting:
        # The nearest first: if links lead to a folder twice, its shorter name is used.
        for path in sorted(waiting.pop(0).iterdir()):
            if path.is_dir():
                real = os.path.realpath(path)
                hidden = path.name.startswith(_HIDDEN_FOLDERS)
                if recursive and not hidden and real not in entered:
                    entered.add(real)
                    waiting.append(path)
            elif path.is_file() and not path.name.startswith(_HIDDEN_FILES):
                yield path


def _glob(pattern: pathlib.Path) -> tuple[pathlib.Path, list[pathlib.Path]]:
    """Returns the folder before the first wildcard, and the files that match."""
    plain = next(n for n, part in enumerate(pattern.parts) if _WILD.search(part))
    folder = pathlib.Path(*pattern.parts[:plain])
    wild = pattern.parts[plain:]
    if "**" not in wild:
        paths = map(pathlib.Path, glob.glob(str(pattern)))
        return folder, [path for path in paths if path.is_file()]
    # The library's `**` would follow links in circles.
    files = _files_under(folder, recursive=True) if folder.is_dir() else ()
    return folder, [path for path in files if _matches(path.relative_to(folder).parts, wild)]


def _matches(parts: tuple[str, ...], wild: tuple[str, ...]) -> bool:
    if not wild:
        return not parts
    if wild[0] == "**":
        return any(_matches(parts[skipped:], wild[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatch(parts[0], wild[0]) and _matches(parts[1:], wild[1:])
