"""The twenty PASCAL VOC classes and the ImageNet synsets that stand for them.

ILSVRC12 has no PASCAL classes: 231 of its 1000 synsets are hyponyms of one of the twenty and are
merged into it; the other 769 are the common background (training data of the paper).
"""

import functools
import json
import pathlib
import re
from collections.abc import Iterable, Mapping

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

# The label of an image that holds none of the twenty.
BACKGROUND = "background"

_SYNSET_FILE = pathlib.Path(__file__).with_name("voc20_to_ilsvrc12.json")


def check_classes(names: str | Iterable[str]) -> tuple[str, ...]:
    """Checks that names are PASCAL VOC classes.

    Args:
        names: one class name or several. Order is kept.

    Returns:
        The names as a tuple.

    Raises:
        ValueError: If a name is unknown (the message lists the twenty), given twice, or there is
            none.
    """
    checked = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in checked if name not in VOC_CLASSES]
    if not checked or unknown:
        raise ValueError(
            f"A class must be one of the twenty of PASCAL VOC: {', '.join(VOC_CLASSES)}. "
            f"Received: {', '.join(map(repr, unknown)) or 'no class'}"
        )
    if len(set(checked)) != len(checked):
        raise ValueError(f"Each class may be named once. Received: {', '.join(checked)}")
    return checked


def class_index(name: str) -> int:
    """Returns the position of a class in `VOC_CLASSES`; raises ValueError for an unknown name."""
    return VOC_CLASSES.index(check_classes(name)[0])


@functools.cache
def synsets_by_class() -> dict[str, tuple[str, ...]]:
    """Returns class name -> its ILSVRC12 WordNet ids (such as `n02690373`), 231 in all."""
    stored = json.loads(_SYNSET_FILE.read_text(encoding="utf-8"))
    return {name: tuple(stored[name]) for name in VOC_CLASSES}


@functools.cache
def class_by_synset() -> dict[str, str]:
    """Returns WordNet id -> class name for the 231 synsets; any other is background."""
    return {wnid: name for name, wnids in synsets_by_class().items() for wnid in wnids}


def map_label_names(
    names: Iterable[str], label_names: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Maps the label names of a set of images on the twenty classes and `background`.

    A class and `background` stand for themselves; a WordNet id of ILSVRC12 for its class, or for
    the background when it has none. What else a set calls its labels, `label_names` says.

    Args:
        names: the label names to map.
        label_names: own name -> class or `background`; it goes before the rules above. The entry
            `"*"` is for all names that neither it nor the rules know.

    Returns:
        name -> class or `background`, for each of `names`.

    Raises:
        ValueError: If a name is unknown, or `label_names` maps on something that is no class.

    Example:

    ```python
    from anchornet_tf.datasets.voc_classes import map_label_names

    mapped = map_label_names(["airplane", "frog"], {"airplane": "aeroplane", "*": "background"})
    assert mapped == {"airplane": "aeroplane", "frog": "background"}
    ```
    """
    own = dict(label_names or {})
    wrong = sorted(set(own.values()) - {*VOC_CLASSES, BACKGROUND})
    if wrong:
        raise ValueError(
            f"`label_names` must map on `{BACKGROUND}` or a class of PASCAL VOC: "
            f"{', '.join(VOC_CLASSES)}. Received: {', '.join(map(repr, wrong))}"
        )
    mapped = {name: own.get(name) or _known_label(name) or own.get("*") for name in names}
    unknown = sorted(name for name, label in mapped.items() if label is None)
    if unknown:
        shown = ", ".join(map(repr, unknown[:10])) + (", ..." if len(unknown) > 10 else "")
        raise ValueError(
            f"A label must be `{BACKGROUND}`, a class of PASCAL VOC ({', '.join(VOC_CLASSES)}) or "
            f"mapped on one by `label_names`. Received: {len(unknown)} other labels: {shown}"
        )
    return mapped


def _known_label(name: str) -> str | None:
    if name in VOC_CLASSES or name == BACKGROUND:
        return name
    if re.fullmatch(r"n\d{8}", name):
        return class_by_synset().get(name, BACKGROUND)
    return None
