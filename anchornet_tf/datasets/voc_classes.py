"""The twenty PASCAL VOC classes and the ImageNet synsets that stand for them.

ILSVRC12 has no PASCAL classes: 231 of its 1000 synsets are hyponyms of one of the twenty and are
merged into it; the other 769 are the common background (training data of the paper).
"""

import functools
import json
import pathlib
import re

VOC_CLASSES = (
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
)

# The label of an image that holds none of the classes.
BACKGROUND = "background"

_SYNSET_FILE = pathlib.Path(__file__).with_name("voc20_to_ilsvrc12.json")


@functools.cache
def synsets_by_class() -> dict[str, tuple[str, ...]]:
    """Returns class name -> its ILSVRC12 WordNet ids (such as `n02690373`), 231 in all."""
    stored = json.loads(_SYNSET_FILE.read_text(encoding="utf-8"))
    return {name: tuple(stored[name]) for name in VOC_CLASSES}


@functools.cache
def class_by_synset() -> dict[str, str]:
    """Returns WordNet id -> class name for the 231 synsets; any other is background."""
    return {wnid: name for name, wnids in synsets_by_class().items() for wnid in wnids}


def is_synset(label: str) -> bool:
    """Returns whether a label is a WordNet id, such as `n02690373`."""
    return re.fullmatch(r"n\d{8}", label) is not None
