"""Names for classes that are imported when they are first asked for."""

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping


class LazyRegistry:
    """Makes objects by name; a class is imported only when its name is used.

    Args:
        kind: What the names stand for, for messages, e.g. `"descriptor"`.
        homes: Name -> `"module:Class"`, or `"module:Class:argument"` for a class whose first
            argument tells one name from another.
        without: Name -> options of its class that mean nothing under this name.
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
        """All names, in the order in which they were given."""
        return tuple(self._homes)

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
            ValueError: If the name or an option is unknown.
        """
        maker, fixed = self._find(name)
        known = self.options(name)
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ValueError(
                f"The {self._kind} {name!r} takes {_listing(known)}. Received: {', '.join(unknown)}"
            )
        return maker(*fixed, **options)

    def _find(self, name: str) -> tuple[Callable, list[str]]:
        if name not in self._homes:
            raise ValueError(
                f"The {self._kind} must be one of {', '.join(self._homes)}. Received: {name!r}"
            )
        module, class_name, *fixed = self._homes[name].split(":")
        return getattr(importlib.import_module(module), class_name), fixed


def _listing(options: tuple[str, ...]) -> str:
    return f"the options {', '.join(options)}" if options else "no options"
