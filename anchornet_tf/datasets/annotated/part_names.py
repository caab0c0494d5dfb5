"""Names of parts that differ only in a word of place, and the classes that share parts.

`--cross_category` of PASCAL Parts matches a cat with a dog: "left eye" and "right eye" are then one kind of part.
"""

import itertools
import re
from collections.abc import Mapping

import numpy as np

# PASCAL Parts glues its words of place to the name, as letters or in full, and numbers what occurs often.
_NUMBER = re.compile(r"_?\d+$")
_WORDS = re.compile(r"^[hc]?(left|right|front|back|upper|lower|near|far)_?(?=[a-z])")
_LETTERS = re.compile(
    r"^[lr]?[fb]?[ul]?(eye|ear|ebrow|leg|arm|hand|foot|pa|ho|horn|wing|wheel|liplate)$"
)
_SPELLED_OUT = {"pa": "paw", "ho": "hoof", "ebrow": "eyebrow", "liplate": "licence plate"}

_QUADRUPEDS = ("cat", "cow", "dog", "horse", "sheep")
# Thirteen pairs of nine classes with parts in common. The paper gives these numbers and not the names: here they are
# all pairs of quadrupeds and three of vehicles.
CLASS_PAIRS = (
    ("bicycle", "motorbike"),
    ("bus", "car"),
    ("car", "motorbike"),
    *itertools.combinations(_QUADRUPEDS, 2),
)


def merged_name(name: str) -> str:
    """Returns the name of a part without number and words of place (left, right, front, back, upper, lower).

    Example:

    >>> merged_name("leftmirror"), merged_name("lfuleg"), merged_name("headlight_2")
    ('mirror', 'leg', 'headlight')
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
