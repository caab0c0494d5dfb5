"""Whether the value of an option is of the type that its maker says."""

import inspect
import numbers
import os
import types
import typing
from collections.abc import Callable

import numpy as np

# NumPy's numbers and 3 for 3.0 are as good as Python's own.
_ACCEPTED = {bool: (bool, np.bool_), int: numbers.Integral, float: numbers.Real}
_WORDS = {bool: "True or False", int: "an integer", float: "a number", str: "text"}
_WORDS |= {os.PathLike: "a path", types.NoneType: "None"}


def check_option_types(maker: Callable, options: dict) -> None:
    """Checks options against the annotations of a class or function that is made with them.

    Only plain types are checked: bool, int, float, str, None, classes, tuples of them, and
    choices between them.

    Args:
        maker: A class or function whose arguments have annotations.
        options: Values by the names of its arguments.

    Raises:
        ValueError: If a value is of another type.
    """
    hints = typing.get_type_hints(maker.__init__ if inspect.isclass(maker) else maker)
    for name, value in options.items():
        if name in hints and not _fits(value, hints[name]):
            raise ValueError(f"`{name}` must be {_words(hints[name])}. Received: {name}={value!r}")


def _fits(value, hint) -> bool:
    members = typing.get_args(hint)
    if _is_choice(hint):
        return any(_fits(value, member) for member in members)
    if typing.get_origin(hint) is tuple:
        # An array or a list of numbers will do, whatever its length: the maker checks that.
        return isinstance(value, tuple | list | np.ndarray) and all(
            _fits(each, members[0]) for each in value
        )
    if not isinstance(hint, type):
        return True
    if hint in (int, float) and isinstance(value, bool | np.bool_):
        return False
    if hint is float and isinstance(value, numbers.Real) and np.isnan(value):
        return False
    return isinstance(value, _ACCEPTED.get(hint, hint))


def _words(hint) -> str:
    if _is_choice(hint):
        return " or ".join(dict.fromkeys(_words(member) for member in typing.get_args(hint)))
    if typing.get_origin(hint) is tuple:
        _, _, one = _words(typing.get_args(hint)[0]).partition(" ")
        return f"a tuple of {one}s"
    return _WORDS.get(hint, f"of type {getattr(hint, '__name__', hint)}")


def _is_choice(hint) -> bool:
    return isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
