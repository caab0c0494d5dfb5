"""Finds and reads the images that annotations belong to, whatever paths their tools wrote."""

import dataclasses
import filecmp
import os
import pathlib
import re
from collections.abc import Sequence

from anchornet_tf.annotations.items import AnnotationSet, ImageAnnotations
from anchornet_tf.tasks.references import Reference, is_marked
from anchornet_tf.utils.image_io import read_scaled


class ImageFinder:
    """Finds images by the names that annotations give them.

    Tools write paths of their own machines: what follows the first folders of a path is tried as
    well, down to the last part alone.

    Args:
        folders: Where to look.
        images: An `ImageSequence` (`anchornet_tf.tasks.frames`) that may hold them, such as the
            frames of a video; or None.
    """

    def __init__(self, folders: Sequence[str | os.PathLike], images=None):
        self._folders = [pathlib.Path(folder) for folder in folders]
        names = () if images is None else images.names
        self._paths = getattr(images, "paths", ())
        self._numbers = {name: number for number, name in enumerate(names)}
        self._numbers_of_files = {
            os.path.realpath(path): number for number, path in enumerate(self._paths)
        }
        self._small: dict[str, list[int]] = {}
        for number, name in enumerate(names):
            self._small.setdefault(name.casefold(), []).append(number)

    def find(self, name: str) -> int | pathlib.Path:
        """Returns the number of an image in the sequence, or the path of one that is elsewhere.

        Raises:
            FileNotFoundError: If it is nowhere to be found.
            ValueError: If two different images have the name.
        """
        parts = [part for part in re.split(r"[/\\]", name) if part]
        rests = ["/".join(parts[start:]) for start in range(len(parts))]
        for rest in dict.fromkeys([name, *rests]):
            if rest in self._numbers:
                return self._only(self._numbers[rest], rest)
            for folder in self._folders:
                path = folder / rest
                if path.is_file():
                    return self._numbers_of_files.get(os.path.realpath(path), path)
        for rest in rests:
            # Some systems take names for the same that differ in capitals only.
            if len(found := self._small.get(rest.casefold(), ())) == 1:
                return found[0]
        raise FileNotFoundError(
            "Expected the annotated image in "
            f"{', '.join(dict.fromkeys(map(str, self._folders)))}. Received: {name!r}"
        )

    def _only(self, number: int, name: str) -> int:
        for folder in self._folders if self._paths else ():
            here, there = folder / name, self._paths[number]
            if here.is_file() and there.is_file() and not filecmp.cmp(here, there, shallow=False):
                raise ValueError(
                    f"Expected one image of the name {name!r}. "
                    f"Received: different ones, {here} and {there}"
                )
        return number


def load_references(
    annotations: AnnotationSet,
    folders: Sequence[str | os.PathLike],
    images=None,
    max_pixels: int | None = None,
) -> list[Reference]:
    """Returns the images in which something is marked, with what is marked.

    Those that are in `images` have the names that they have there.

    Args:
        annotations: The annotations.
        folders: As in `ImageFinder`.
        images: As in `ImageFinder`.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.

    Raises:
        FileNotFoundError: If an image is nowhere to be found.
        ValueError: If an image cannot be read, or has another size than its annotations say.
    """
    finder = ImageFinder(folders, images)
    references = []
    for image in annotations.images:
        if not is_marked(image):
            continue
        found = finder.find(image.name)
        if isinstance(found, int):
            image = dataclasses.replace(image, name=images.names[found])
            references.append(Reference(image, images.read(found)))
        else:
            references.append(Reference(image, read_scaled(found, max_pixels=max_pixels)))
    return references


def names_to_write(
    format: str, output: pathlib.Path, images, given: Sequence[tuple[str, int]]
) -> list[str]:
    """Returns what the output calls each image.

    LabelMe's files say where their image lies, seen from the file. Otherwise names begin as those
    of the given images do: `photos/b.jpg` beside `photos/a.jpg`.

    Args:
        format: The format of the annotations.
        output: Where they are written.
        images: The `ImageSequence`.
        given: Names of annotated images, and their numbers in the sequence.
    """
    if format == "labelme" and not images.is_video:
        return [path_from(output, path) for path in images.paths]
    prefixes = {
        name.removesuffix(images.names[number]) if name.endswith(images.names[number]) else ""
        for name, number in given
    }
    prefix = prefixes.pop() if len(prefixes) == 1 else ""
    return [prefix + name for name in images.names]


def path_from(folder: pathlib.Path, path: pathlib.Path) -> str:
    """Returns the path of a file, seen from a folder."""
    try:
        return pathlib.Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # On another drive.
        return pathlib.Path(os.path.abspath(path)).as_posix()


class Listed:
    """What an annotation file says about images, by image: marked ones and others.

    Args:
        annotations: The annotations.
        finder: Finds their images.
        images: The `ImageSequence`.
        output: Where annotations are written.

    Attributes:
        here: By the numbers of images in the sequence, what is said about them.
        elsewhere: What is said about other images.
        names: What the output calls each image of the sequence.
    """

    def __init__(self, annotations: AnnotationSet, finder: ImageFinder, images, output):
        self.here: dict[int, list[ImageAnnotations]] = {}
        self.elsewhere: list[ImageAnnotations] = []
        given = []
        for image in annotations.images:
            try:
                found = finder.find(image.name)
            except FileNotFoundError:  # Nothing is marked in it, and it is not needed.
                self.elsewhere.append(image)
                continue
            if isinstance(found, int):
                given.append((image.name, found))
            if annotations.format == "labelme" and not images.is_video:
                path = images.paths[found] if isinstance(found, int) else found
                image = _seen_from(output, path, image)
            if isinstance(found, int):
                self.here.setdefault(found, []).append(image)
            else:
                self.elsewhere.append(image)
        self.names = names_to_write(annotations.format, output, images, given)


def _seen_from(output: pathlib.Path, path: pathlib.Path, image: ImageAnnotations):
    """Returns what is said about an image, under a name by which LabelMe finds it."""
    if image.fields.get("imageData") or os.path.realpath(output / image.name) == str(
        os.path.realpath(path)
    ):
        return image
    return dataclasses.replace(image, name=path_from(output, path))
