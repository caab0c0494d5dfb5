"""A set of images with image-level labels, read one at a time by index.

What a set is made of, files or records, is hidden behind a reader; `open_source` makes them.
"""

import dataclasses
import difflib
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets.file_reader import FileReader, decode_image
from anchornet_tf.datasets.label_map import BACKGROUND, normal_form


def image_of_record(record: Mapping[str, Any]) -> np.ndarray:
    """Returns `record["image"]`, encoded or an array, as uint8 RGB `(height, width, 3)`."""
    image = record["image"]
    if isinstance(image, bytes):
        return decode_image(image).numpy()
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] not in (1, 3):
        raise ValueError(
            "An image must be uint8 of shape (height, width, 1 or 3). "
            f"Received: {image.dtype} of shape {image.shape}"
        )
    return np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image


class RecordReader:
    """Images in a random-access sequence of examples: see `image_of_record`."""

    def __init__(self, records: Sequence[Mapping[str, Any]]):
        self.records = records

    def __len__(self) -> int:
        return len(self.records)

    def read(self, row: int) -> np.ndarray:
        """Returns image `row` as uint8 `(height, width, 3)`."""
        return image_of_record(self.records[int(row)])

    def image_tensor(self, row: tf.Tensor) -> tf.Tensor:
        """As `read`, for an int tensor."""
        image = tf.numpy_function(self.read, [row], tf.uint8, stateful=False)
        return tf.ensure_shape(image, (None, None, 3))


class JoinedReader(RecordReader):
    """Several readers one after the other."""

    def __init__(self, readers: Sequence[FileReader | RecordReader]):
        self.readers = list(readers)
        self._ends = np.cumsum([len(reader) for reader in readers])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def read(self, row: int) -> np.ndarray:
        """Returns image `row` as uint8 `(height, width, 3)`."""
        part = int(np.searchsorted(self._ends, row, side="right"))
        return self.readers[part].read(int(row) - int(self._ends[part]) + len(self.readers[part]))


@dataclasses.dataclass(frozen=True, eq=False)
class ImageSource:
    """Images, each with the classes seen in it.

    An image without any class is background.

    Args:
        spec: str, what the user asked for; for messages.
        class_names: the classes of the set, whatever they are called.
        paths_or_keys: a name for each image, stable between machines.
        labels: bool `(images, classes)`, columns in the order of `class_names`.
        contents: for each image a string that changes when the image does (such as a file's size).
        reader: gives the image of a row.
        rows: int `(images,)`, the reader's row of each image; None when they are the same.
        unreadable: names of images that were left out because they cannot be decoded.
    """

    spec: str
    class_names: tuple[str, ...]
    paths_or_keys: tuple[str, ...]
    labels: np.ndarray
    contents: tuple[str, ...]
    reader: FileReader | RecordReader
    rows: np.ndarray | None = None
    unreadable: tuple[str, ...] = ()

    def __post_init__(self):
        count = len(self.paths_or_keys)
        rows = np.arange(count) if self.rows is None else np.asarray(self.rows, np.int64)
        labels = np.asarray(self.labels, bool)
        lengths = (len(rows), len(self.contents))
        if labels.shape != (count, len(self.class_names)) or lengths != (count, count):
            raise ValueError(
                f"`labels` must be (images, {len(self.class_names)}), with a row and a content for "
                f"each image. Received: {count} names, labels of shape {labels.shape}, "
                f"{lengths[0]} rows, {lengths[1]} contents"
            )
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "labels", labels)

    @property
    def is_background(self) -> np.ndarray:
        """bool `(images,)`: the image has none of the classes."""
        return ~self.labels.any(axis=1)

    def is_negative(self, column: int) -> np.ndarray:
        """Returns bool `(images,)`: which images a class is told apart from.

        Those are the background images. Where there are none, they are all images without the
        class.

        Args:
            column: int, the class's column in `labels`.
        """
        background = self.is_background
        return background if background.any() else ~self.labels[:, column]

    def images_per_class(self) -> dict[str, int]:
        """Returns the number of images of each class that has any."""
        counts = self.labels.sum(axis=0).tolist()
        return {name: n for name, n in zip(self.class_names, counts, strict=True) if n}

    def __len__(self) -> int:
        return len(self.paths_or_keys)

    def read(self, index: int) -> np.ndarray:
        """Returns one image as uint8 RGB `(height, width, 3)`."""
        return self.reader.read(int(self.rows[index]))

    def image_tensor(self, index: tf.Tensor) -> tf.Tensor:
        """As `read`, for an int scalar tensor; for use in `tf.data`."""
        # Outside the graph, as for the paths: a graph should not hold a copy of the list.
        with tf.init_scope():
            rows = tf.constant(self.rows)
        return self.reader.image_tensor(tf.gather(rows, index))

    def select(self, indices: Sequence[int]) -> "ImageSource":
        """Returns a source with only these images, in this order."""
        indices = np.asarray(indices, np.int64)
        return dataclasses.replace(
            self,
            paths_or_keys=tuple(self.paths_or_keys[i] for i in indices),
            labels=self.labels[indices],
            contents=tuple(self.contents[i] for i in indices),
            rows=self.rows[indices],
        )

    def with_columns(self, class_names: Sequence[str]) -> "ImageSource":
        """Returns a source whose columns begin with these classes; its own others follow them.

        Args:
            class_names: classes, of which the source may have images or not.
        """
        others = [name for name in self.class_names if name not in class_names]
        names = (*class_names, *others)
        labels = np.zeros((len(self), len(names)), bool)
        labels[:, [names.index(name) for name in self.class_names]] = self.labels
        return dataclasses.replace(self, class_names=names, labels=labels)

    def without_labels(self) -> "ImageSource":
        """Returns the same images as background."""
        labels = np.zeros((len(self), 0), bool)
        return dataclasses.replace(self, class_names=(), labels=labels)

    def fingerprint(self) -> str:
        """Returns a string that identifies the images, their labels and their order.

        It is the same after the set was moved or copied, and differs after an image was added,
        removed, relabelled or replaced by one of another size.
        """
        digest = hashlib.sha256("\n".join(self.class_names).encode())
        for key, content, row in zip(
            self.paths_or_keys, self.contents, np.packbits(self.labels, axis=1), strict=True
        ):
            digest.update(f"\n{key}\0{content}\0".encode())
            digest.update(row.tobytes())
        return digest.hexdigest()[:32]

    def require_classes(self, names: str | Sequence[str]) -> tuple[int, ...]:
        """Checks that classes can be trained on this source.

        Args:
            names: classes of the set.

        Returns:
            Their columns in `labels`.

        Raises:
            ValueError: a class is unknown, has no image here or is named twice, or there is no
                image that it could be told apart from.
        """
        names = [normal_form(name) for name in ([names] if isinstance(names, str) else names)]
        if not names or len(set(names)) != len(names):
            raise ValueError(
                "Expected one class or more, each named once. "
                f"Received: {', '.join(names) or 'no class'}"
            )
        counts = self.images_per_class()
        missing = [name for name in names if name not in counts]
        if missing:
            close = difflib.get_close_matches(missing[0], counts, 1, 0.6)
            raise ValueError(
                f"Expected classes that {self.spec} has images of, or all: {_listed(counts)}"
                f"{f'; did you mean {close[0]!r}?' if close else '.'} "
                f"Received: {', '.join(map(repr, missing))}"
            )
        columns = tuple(self.class_names.index(name) for name in names)
        for name, column in zip(names, columns, strict=True):
            if not self.is_negative(column).any():
                raise ValueError(
                    f"A class needs images that it is told apart from: of another class, or "
                    f"labelled `{BACKGROUND}`. Received: {self.spec} with {len(self)} images, all "
                    f"of {name!r}"
                )
        return columns


def _listed(counts: Mapping[str, int], most: int = 40) -> str:
    """Returns classes with their numbers of images, for a message."""
    shown = [f"{name} ({count:,})" for name, count in list(counts.items())[:most]]
    if len(counts) > most:
        shown.append(f"and {len(counts) - most:,} more")
    return ", ".join(shown) or "no class"


def join(sources: Sequence[ImageSource]) -> ImageSource:
    """Returns one source with the images of several, in order, and the classes of all."""
    if len(sources) == 1:
        return sources[0]
    readers = [source.reader for source in sources]
    if all(isinstance(reader, FileReader) for reader in readers):
        reader = FileReader.joined(readers)
    else:
        reader = JoinedReader(readers)
    starts = np.cumsum([0] + [len(part) for part in readers[:-1]])
    names = tuple(dict.fromkeys(name for source in sources for name in source.class_names))
    sources = [source.with_columns(names) for source in sources]
    return ImageSource(
        spec="+".join(source.spec for source in sources),
        class_names=names,
        paths_or_keys=tuple(key for source in sources for key in source.paths_or_keys),
        labels=np.concatenate([source.labels for source in sources]),
        contents=tuple(content for source in sources for content in source.contents),
        reader=reader,
        rows=np.concatenate(
            [start + source.rows for start, source in zip(starts, sources, strict=True)]
        ),
        unreadable=tuple(name for source in sources for name in source.unreadable),
    )
