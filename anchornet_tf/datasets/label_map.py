"""What becomes of the labels of a set of images: classes, or background.

Needs no TensorFlow.
"""

import collections
import dataclasses
import json
import os
import pathlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping

from anchornet_tf.datasets import voc_classes
from anchornet_tf.datasets.voc_classes import BACKGROUND

# The map of PASCAL VOC's twenty classes and the ImageNet synsets that are merged into them.
VOC20 = "voc20"
# Stands, in a map of the user's, for all labels that it does not name.
REST = "*"
_VOC_SETS = ("imagenet2012", "voc")
_MOST_CHARACTERS = 200
_SHOWN = 10

Given = str | os.PathLike | Mapping[str, str] | None


@dataclasses.dataclass(frozen=True)
class LabelMap:
    """Label names -> classes.

    Args:
        classes: the classes in their order, or None for those that occur, in alphabetical order.
        names: label -> class or `background`.
        of_rest: function from any other label to its class. By default they stand for themselves.
    """

    classes: tuple[str, ...] | None = None
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    of_rest: Callable[[str], str] = str

    def apply(self, labels: Iterable[str]) -> dict[str, str]:
        """Returns label -> class or `background`, for each of `labels`.

        Raises:
            ValueError: If a label is none of the fixed classes.
        """
        allowed = None if self.classes is None else {*self.classes, BACKGROUND}
        mapped, unknown = {}, []
        for label in labels:
            found = self.names.get(label) or self.of_rest(label)
            if allowed is not None and found not in allowed:
                unknown.append(label)
            mapped[label] = found
        if unknown:
            shown = ", ".join(map(repr, sorted(unknown)[:_SHOWN]))
            raise ValueError(
                f"A label must be `{BACKGROUND}`, one of {', '.join(self.classes)}, or named by "
                f"the label map. Received: {len(unknown)} other labels: {shown}"
                f"{', ...' if len(unknown) > _SHOWN else ''}"
            )
        return mapped

    def order(self, classes: Iterable[str]) -> tuple[str, ...]:
        """Returns the classes of a set in the order of its columns."""
        return self.classes or tuple(sorted(set(classes)))


def find(given: Given, set_name: str = "") -> LabelMap:
    """Returns the label map that a user names.

    Args:
        given: `"voc20"`; a JSON file or a mapping, label -> class or `background`, in which `"*"`
            stands for all labels that are not named (without it they stay); or nothing for the
            set's own map.
        set_name: name of a set of tensorflow-datasets: ImageNet and VOC are mapped on the twenty
            classes by themselves. Any other set has its own labels as classes.

    Raises:
        ValueError: If there is no such map or file, or it holds something else.

    Example:

    ```python
    from anchornet_tf.datasets import label_map

    merged = label_map.find({"great egret": "egret", "snowy egret": "egret", "sky": "background"})
    assert merged.apply(["great egret", "heron"]) == {"great egret": "egret", "heron": "heron"}
    ```
    """
    if isinstance(given, Mapping):
        return _of_mapping(given, "a mapping")
    if given == VOC20 or (not given and set_name.split("/")[0].split(":")[0] in _VOC_SETS):
        return _voc20()
    if not given:
        return LabelMap()
    path = pathlib.Path(given).expanduser()
    if not path.is_file():
        raise ValueError(
            f"A label map must be `{VOC20}` or a JSON file of labels and classes that exists. "
            f"Received: {str(given)!r}"
        )
    try:
        names = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"A label map must be JSON in UTF-8 ({error}). Received: {path}") from None
    return _of_mapping(names, str(path))


def _voc20() -> LabelMap:
    # Of ILSVRC12's thousand synsets, those without a class are background.
    return LabelMap(
        voc_classes.VOC_CLASSES,
        voc_classes.class_by_synset(),
        lambda label: BACKGROUND if voc_classes.is_synset(label) else label,
    )


def _of_mapping(names, place: str) -> LabelMap:
    pairs = list(names.items()) if isinstance(names, Mapping) else []
    wrong = [pair for pair in pairs if not all(isinstance(text, str) and text for text in pair)]
    if wrong or not pairs:
        received = f"{wrong[0][0]!r}: {wrong[0][1]!r}" if wrong else f"{names!r}"
        raise ValueError(
            "A label map must be an object that gives each label a class, such as "
            f'{{"great egret": "egret", "sky": "{BACKGROUND}"}}. Received: {received} in {place}'
        )
    try:
        names = {normal_form(label): normal_form(name) for label, name in pairs}
    except ValueError as error:
        raise ValueError(f"{error} in {place}") from None
    rest = names.pop(REST, None)
    return LabelMap(names=names) if rest is None else LabelMap(None, names, lambda _: rest)


def normal_form(label: str) -> str:
    """Returns a label without spaces around it, in the one Unicode form in which all are compared.

    File systems and keyboards differ in how they write an accented letter.

    Raises:
        ValueError: If the label is empty, very long, or holds characters that cannot be printed.
    """
    label = unicodedata.normalize("NFC", label.strip())
    if not label or not label.isprintable():
        raise ValueError(
            f"A label must be text that can be printed, and not empty. Received: {label!r}"
        )
    if len(label) > _MOST_CHARACTERS:
        raise ValueError(
            f"A label must have at most {_MOST_CHARACTERS} characters. "
            f"Received: {len(label)} characters, {label[:20]!r}..."
        )
    return label


def check_distinct(classes: Iterable[str]) -> None:
    """Raises where two classes differ in nothing but upper and lower case.

    Such labels are nearly always a slip, and files named after them cannot always stand side by
    side.
    """
    alike = collections.defaultdict(set)
    for name in (*classes, BACKGROUND):
        alike[name.casefold()].add(name)
    for folded, names in alike.items():
        if len(names) > 1 and folded == BACKGROUND:
            names = names - {BACKGROUND}
            raise ValueError(
                f"Images that show none of the classes are labelled `{BACKGROUND}`; rename the "
                f"label. Received: {', '.join(map(repr, sorted(names)))}"
            )
        if len(names) > 1:
            raise ValueError(
                "Labels must differ in more than upper and lower case; rename them, or merge them "
                f"by a label map. Received: {' and '.join(map(repr, sorted(names)))}"
            )
