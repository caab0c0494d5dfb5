"""Options by name: each reaches those that take it, and one that nobody takes is an error."""

import ast
from collections.abc import Collection, Mapping

Takers = Mapping[str, Collection[str]]

_WORDS = {"true": True, "yes": True, "false": False, "no": False, "none": None}


def split_options(options: Mapping[str, object], *kinds: Takers) -> dict[str, dict]:
    """Hands out options.

    `"blur"` goes to everything that takes an option of that name; `"hc.blur"` goes to `hc` alone
    and wins over the former.

    Args:
        options: Values by name, with or without the prefix of the one they are meant for.
        *kinds: For each kind of thing, e.g. descriptors and matchers, the names of its options by
            the name of the thing.

    Returns:
        The options of each thing by its name; empty for those that get none.

    Raises:
        ValueError: If nothing takes an option, or things of two kinds take one that has no prefix.

    Example:

    ```python
    from anchornet_tf.utils.named_options import split_options

    takers = {"sift": ("step",)}, {"hough": ("grid_size",), "nearest": ("grid_size",)}
    split = split_options({"step": 4, "grid_size": 40, "nearest.grid_size": 20}, *takers)
    assert split == {"sift": {"step": 4}, "hough": {"grid_size": 40}, "nearest": {"grid_size": 20}}
    ```
    """
    takers = {name: taken for kind in kinds for name, taken in kind.items()}
    split: dict[str, dict] = {name: {} for name in takers}
    prefixed: dict[str, dict] = {name: {} for name in takers}
    for option, value in options.items():
        prefix, dot, own = option.partition(".")
        if dot and own in takers.get(prefix, ()):
            prefixed[prefix][own] = value
            continue
        found = [[name for name in kind if option in kind[name]] for kind in kinds]
        names = [name for kind in found for name in kind]
        if not names:
            raise ValueError(f"Expected an option of {_listing(takers)}. Received: {option}")
        if sum(map(bool, found)) > 1:
            choices = " or ".join(f"{name}.{option}" for name in names)
            raise ValueError(f"Expected a prefix: {choices}. Received: {option}")
        for name in names:
            split[name][option] = value
    return {name: split[name] | prefixed[name] for name in takers}


def parse_option(text: str) -> tuple[str, object]:
    """Returns the name and the value of an option as programs take it: `NAME=VALUE`.

    true, yes, false, no and none are read as Python's words, in any case. A value that is no
    number, bool, None or tuple is a string, for instance a path.

    Raises:
        ValueError: If the text is not of that form.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"Expected --option=NAME=VALUE. Received: {text!r}")
    if value.lower() in _WORDS:
        return name, _WORDS[value.lower()]
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def _listing(takers: Takers) -> str:
    listed = (f"{name} ({', '.join(taken) or 'none'})" for name, taken in takers.items())
    return "; ".join(listed) or "descriptors and matchers that are named"
