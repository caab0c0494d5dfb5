"""Fields of configurations that programs offer as flags."""

import dataclasses
from collections.abc import Sequence

METADATA_KEY = "option"


@dataclasses.dataclass(frozen=True)
class Option:
    """What a flag needs to know about a field of a configuration.

    Args:
        help: str, the flag's help text.
        flag: str, its name where that is not the field's.
        choices: the values that it may have; none for any.
        required: bool, whether the flag must be given.
        none: the flag's value that stands for None in a field that may be None. Text and lists
            need none: they are None when they are empty.
    """

    help: str
    flag: str | None = None
    choices: Sequence[str] = ()
    required: bool = False
    none: object = None


def option(
    default,
    help: str,
    *,
    flag: str | None = None,
    choices: Sequence[str] = (),
    required: bool = False,
    none: object = None,
):
    """Returns a field of a dataclass that programs offer as a flag; fields without it are no flags.

    Args:
        default: the field's default. `dataclasses.MISSING` for a field without one.
        help, flag, choices, required, none: as in `Option`.

    Example:

    ```python
    @dataclasses.dataclass(frozen=True)
    class Drawing:
        color: str = option("red", "Color of the lines.", choices=("red", "blue"))
        limit: int | None = option(None, "At most this many lines; 0 for all.", none=0)
    ```
    """
    about = Option(help, flag, tuple(choices), required, none)
    return dataclasses.field(default=default, metadata={METADATA_KEY: about})
