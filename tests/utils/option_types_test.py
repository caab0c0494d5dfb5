"""Options of the wrong type are refused in one line, whatever they are for."""

import os

import numpy as np
import pytest

from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.option_types import check_option_types


def _maker(
    flag: bool = False,
    count: int = 1,
    share: float = 0.5,
    size: int | tuple[int, int] | None = None,
    scales: tuple[float, ...] = (1.0,),
    path: str | os.PathLike | None = None,
    anything=None,
):
    pass


@pytest.mark.parametrize(
    "options",
    [
        {"flag": True, "count": 3, "share": 2, "size": None, "path": "a"},
        {"flag": np.bool_(True), "count": np.int64(3), "share": np.float32(0.5)},
        {"size": 3, "scales": (1, 0.5), "path": os.curdir},
        {"size": (3, 4), "scales": [1.0], "anything": object()},
        {"size": [3, 4], "scales": np.ones(3)},
    ],
)
def test_what_fits(options):
    check_option_types(_maker, options)


@pytest.mark.parametrize(
    "option, value, words",
    [
        ("flag", "maybe", "True or False"),
        ("flag", 1, "True or False"),
        ("count", 1.5, "an integer"),
        ("count", True, "an integer"),
        ("share", "abc", "a number"),
        ("share", None, "a number"),
        ("share", float("nan"), "a number"),
        ("size", "abc", "an integer or a tuple of integers or None"),
        ("scales", 1.5, "a tuple of numbers"),
        ("scales", (1, "x"), "a tuple of numbers"),
        ("path", 3, "text or a path or None"),
    ],
)
def test_what_does_not(option, value, words):
    with pytest.raises(ValueError, match=f"`{option}` must be {words}. Received: {option}="):
        check_option_types(_maker, {option: value})


@pytest.mark.parametrize("registry", [DESCRIPTORS, MATCHERS], ids=["descriptors", "matchers"])
def test_no_option_of_ours_takes_an_object_of_no_type(registry):
    """Every option is annotated with a type that is checked."""
    for name in registry.names:
        for option in registry.options(name):
            with pytest.raises(ValueError, match=f"`{option}` must be .*Received: {option}="):
                registry.create(name, **{option: object()})
