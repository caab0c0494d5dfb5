"""The rows of the paper's tables, as descriptors and matchers of this package."""

import dataclasses
import fnmatch
from collections.abc import Iterable, Sequence

NONE, FLOW_WEB = "none", "flowweb"
WITHOUT_DIVERSITY = "without-diversity"
CONSTELLATIONS = ("constellation-hc", "constellation-bp")
# The descriptors that have a file for each class, which users train themselves.
OF_FILES = (WITHOUT_DIVERSITY, *CONSTELLATIONS)

_MATCHERS = {"dsp": "DSP", "lom": "Proposal Flow"}
_FEATURES = {
    "anchornet-class": "ANet-class",
    WITHOUT_DIVERSITY: "ANet-class w/o L_Div",
    "anchornet": "ANet",
    "res4c": "res4c",
    "res5c": "res5c",
    "hc": "HC",
    "sift": "SIFT",
    "hog": "HOG",
    "constellation-hc": "Constellation-HC",
    "constellation-bp": "Constellation-BP",
}
# Descriptors that are compared with the same matcher; in most of the paper, the first is above.
COMPARED = (
    ("anchornet-class", WITHOUT_DIVERSITY),
    ("anchornet-class", "hc"),
    ("anchornet", "hc"),
    ("hc", "res4c"),
    ("res4c", "res5c"),
    ("anchornet", "sift"),
    ("anchornet", "hog"),
    ("hc", "constellation-hc"),
    ("constellation-hc", "constellation-bp"),
)


@dataclasses.dataclass(frozen=True)
class Method:
    """One row of a table.

    Attributes:
        key: The name in files and flags, such as `dsp+anchornet`.
        matcher: Name of the matcher, or `flowweb`.
        descriptor: Name of the descriptor as the paper tells them apart; "" if there is none.
        is_of_regions: bool. Whether boxes are measured: steps of Proposal Flow have own names then.
    """

    key: str
    matcher: str
    descriptor: str
    is_of_regions: bool = False

    @classmethod
    def of(cls, key: str) -> "Method":
        """Returns the method of a key."""
        matcher, _, descriptor = key.partition("+")
        return cls(key, matcher, descriptor)

    @property
    def features(self) -> str:
        """The name of the descriptor in this package; "" if there is none."""
        return "anchornet-class" if self.descriptor == WITHOUT_DIVERSITY else self.descriptor

    @property
    def label(self) -> str:
        """The name in tables, the paper's."""
        if self.key == NONE:
            return "Baseline: NoFlow"
        if self.key == FLOW_WEB:
            return "FlowWeb"
        return f"{self.matcher_label} + {self.descriptor_label}"

    @property
    def matcher_label(self) -> str:
        """The name of the matcher in tables."""
        return self.matcher.upper() if self.is_of_regions else _MATCHERS[self.matcher]

    @property
    def descriptor_label(self) -> str:
        """The name of the descriptor in tables."""
        return _FEATURES[self.descriptor]


def chosen(keys: Iterable[str], patterns: Sequence[str] | None) -> list[Method]:
    """Returns the methods whose keys fit one of the patterns (`dsp+*`); without patterns, all.

    Raises:
        ValueError: If a pattern fits no key.
    """
    keys = list(dict.fromkeys(keys))
    for pattern in patterns or ():
        if not fnmatch.filter(keys, pattern):
            raise ValueError(
                f"Expected rows of {', '.join(keys)}, or patterns such as 'dsp+*'. "
                f"Received: {pattern}"
            )
    return [
        Method.of(key)
        for key in keys
        if patterns is None or any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns)
    ]
