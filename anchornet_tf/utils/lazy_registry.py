"""Names for classes and functions that are imported when they are first used."""

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping

from anchornet_tf.utils.option_types import check_option_types


class LazyRegistry:
    """Makes objects by name; the module behind a name is imported only when the name is used.

    Args:
        kind: What the names stand for, such as `"descriptor"`; used in error messages.
        homes: Maps each name to `"module:maker"`, where the maker is a class or a function, or to
            `"module:maker:argument"` if several names share a maker and differ in its first
            argument. A name that ends in a colon stands for all names that begin with it; what
            follows the colon is the first argument.
        without: Maps a name to those options of its maker that mean nothing under this name.
    """

    def __init__(
        self,
        kind: str,
        homes: Mapping[str, str],
        without: Mapping[str, Collection[str]] | None = None,
    ):
        self._kind = kind
        self._homes = dict(homes)
        self._without = dict(without or {})

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which they were given, except those that stand for many."""
        return tuple(name for name in self._homes if not name.endswith(":"))

    def check(self, name: str) -> None:
        """Checks a name without importing anything.

        Raises:
            ValueError: If it is unknown.
        """
        self._home(name)

    def options(self, name: str) -> tuple[str, ...]:
        """Returns the names of the options that `create(name, ...)` takes.

        Raises:
            ValueError: If the name is unknown.
        """
        maker, fixed = self._find(name)
        options = tuple(inspect.signature(maker).parameters)[len(fixed) :]
        return tuple(option for option in options if option not in self._without.get(name, ()))

    def create(self, name: str, **options):
        """Returns a new object.

        Raises:
            ValueError: If the name or an option is unknown, or an option is of another type.
        """
        maker, fixed = self._find(name)
        known = self.options(name)
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ValueError(
                f"The {self._kind} {name!r} takes {_listing(known)}. Received: {', '.join(unknown)}"
            )
        check_option_types(maker, options)
        return maker(*fixed, **options)

    def _find(self, name: str) -> tuple[Callable, list[str]]:
        module, class_name, *fixed = self._home(name)
        return getattr(importlib.import_module(module), class_name), fixed

    def _home(self, name: str) -> list[str]:
        prefix, colon, rest = name.partition(":")
        if colon and rest and prefix + colon in self._homes:
            return [*self._homes[prefix + colon].split(":"), rest]
        if name not in self.names:
            shown = [f"{each}..." if each.endswith(":") else each for each in self._homes]
            raise ValueError(
                f"The {self._kind} must be one of {', '.join(shown)}. Received: {name!r}"
            )
        return self._homes[name].split(":")


def _listing(options: tuple[str, ...]) -> str:
    return f"the options {', '.join(options)}" if options else "no options"
