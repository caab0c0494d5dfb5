"""Names of parts that differ only in a word of place, and the classes that share parts.

`--cross_category` of PASCAL Parts matches a cat with a dog: "left eye" and "right eye" are then one
kind of part.
"""

import re
from collections.abc import Mapping

import numpy as np

# PASCAL Parts glues its words of place to the name, as letters or in full, and numbers what occurs
# often.
_NUMBER = re.compile(r"_?\d+$")
_WORDS = re.compile(r"^[hc]?(left|right|front|back|upper|lower|near|far)_?(?=[a-z])")
_LETTERS = re.compile(
    r"^[lr]?[fb]?[ul]?(eye|ear|ebrow|leg|arm|hand|foot|pa|ho|horn|wing|wheel|liplate)$"
)
_SPELLED_OUT = {"pa": "paw", "ho": "hoof", "ebrow": "eyebrow", "liplate": "licence plate"}

# Source and target classes, in the order of the columns of the paper's table. Its header has 13 of
# them: it lists bus > car twice, with different figures. Here that pair is measured once.
CLASS_PAIRS = (
    ("bicycle", "motorbike"),
    ("motorbike", "bicycle"),
    ("bus", "car"),
    ("car", "bus"),
    ("dog", "cat"),
    ("cat", "dog"),
    ("sheep", "dog"),
    ("dog", "sheep"),
    ("horse", "cow"),
    ("cow", "horse"),
    ("sheep", "cow"),
    ("cow", "sheep"),
)
CLASS_PAIRS_NOTE = (
    "The paper's cross-category table has 13 columns: bus>car stands there twice, with different "
    "figures. Here it is measured once."
)


def merged_name(name: str) -> str:
    """Returns the name of a part without its number and its words of place.

    Words of place are left, right, front, back, upper, lower, near and far.

    Args:
        name: name of a part, as PASCAL Parts or *parts_world* spells it.

    Returns:
        str.

    Example:

    ```python
    from anchornet_tf.datasets.annotated.part_names import merged_name

    assert merged_name("leftmirror") == "mirror"
    assert merged_name("lfuleg") == "leg"
    assert merged_name("headlight_2") == "headlight"
    ```
    """
    name = _NUMBER.sub("", name)
    letters = _LETTERS.match(name)
    if letters:
        return _SPELLED_OUT.get(letters[1], letters[1])
    shorter = _WORDS.sub("", name)
    return merged_name(shorter) if shorter != name else name


def merge_parts(parts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Joins the masks of parts whose merged names are equal."""
    merged: dict[str, np.ndarray] = {}
    for name, mask in parts.items():
        key = merged_name(name)
        merged[key] = merged[key] | mask if key in merged else mask
    return merged
