"""What all kinds of image sets give before their labels are mapped and splits are made."""

import dataclasses
from collections.abc import Callable

import numpy as np

from anchornet_tf.datasets.file_reader import FileReader
from anchornet_tf.datasets.image_source import RecordReader


@dataclasses.dataclass(frozen=True)
class Listing:
    """All images of a set, or of one of the splits that the set itself has.

    Args:
        keys: a name for each image that does not depend on where the set lies.
        label_names: for each image the set's own names of its labels.
        contents: for each image a string that changes with the image.
        reader: gives the image of a row; one row for each key.
        has_own_split: bool, the set has a held-out split of its own, and these images are those of
            the split that was asked for.
        find_readable: makes, when called, the pass that says which rows can be read.
        class_order: the classes in the order of their columns, for a set that has one of its own.
    """

    keys: list[str]
    label_names: list[tuple[str, ...]]
    contents: list[str]
    reader: FileReader | RecordReader
    has_own_split: bool
    find_readable: Callable[[], np.ndarray]
    class_order: tuple[str, ...] | None = None
