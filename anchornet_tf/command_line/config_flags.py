"""Flags made from configuration dataclasses: one truth for names, defaults and help texts."""

import dataclasses
import types
import typing

from absl import flags

from anchornet_tf.utils.config_fields import METADATA_KEY, Option

# The flags belong to the program that calls `define`, so that its --help shows them.
flags.disclaim_key_flags()

_SCALARS = {str: flags.DEFINE_string, int: flags.DEFINE_integer, float: flags.DEFINE_float}


class ConfigFlags:
    """The flags of one dataclass; made by `define`."""

    def __init__(self, kind: type, converters: dict[str, "_Converter"]):
        self._kind = kind
        self._converters = converters

    def values(self) -> dict:
        """Returns what the flags say, by the names of the dataclass's fields."""
        return {name: converter() for name, converter in self._converters.items()}

    def config(self, **overrides):
        """Returns the dataclass that the flags describe.

        Args:
            **overrides: fields that are no flags, or that the program knows better.

        Raises:
            ValueError: where a value is wrong, by the checks of the dataclass or of the conversion.
        """
        return self._kind(**{**self.values(), **overrides})


def define(kind: type, *, flag_values: flags.FlagValues = flags.FLAGS, **defaults) -> ConfigFlags:
    """Defines one flag for every field of a dataclass that was made by `config_fields.option`.

    Fields may be `str`, `int`, `float`, `bool`, `tuple[str, ...]` (or a tuple of numbers), and
    any of these `| None`.

    Args:
        kind: the dataclass.
        flag_values: where the flags are registered.
        **defaults: defaults of this program that differ from those of the dataclass, by field.

    Example:

    ```python
    _STAGE1 = config_flags.define(Stage1Config)

    def main(argv):
        config = _STAGE1.config()
    ```
    """
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    unknown = sorted(set(defaults) - set(fields))
    if unknown:
        raise ValueError(
            f"`defaults` must name fields of {kind.__name__}. Received: {', '.join(unknown)}"
        )
    converters = {}
    for name, field in fields.items():
        about = field.metadata.get(METADATA_KEY)
        if about is not None:
            default = defaults.get(name, field.default)
            default = None if default is dataclasses.MISSING else default
            converters[name] = _Converter(name, hints[name], about, default, flag_values)
    return ConfigFlags(kind, converters)


def arguments(config, without: tuple[str, ...] = ()) -> list[str]:
    """Returns the arguments that make a program of `define` use a configuration.

    Args:
        config: the dataclass; `options` in it are those of `--option`.
        without: names of fields that are left out.
    """
    found = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name in without:
            continue
        if field.name == "options":
            found += [f"--option={name}={option}" for name, option in value.items()]
        elif isinstance(value, bool) and value != field.default:
            found.append(f"--{'' if value else 'no'}{field.name}")
        elif value != field.default:
            found.append(f"--{field.name}={value}")
    return found


class _Converter:
    """One flag, and how its value becomes that of the field."""

    def __init__(self, name: str, hint, about: Option, default, flag_values):
        kinds = [kind for kind in _members(hint) if kind is not types.NoneType]
        self._may_be_none = types.NoneType in _members(hint)
        self._none = about.none
        self._kind = str if str in kinds else kinds[0]
        self._flag = self._define(about.flag or name, about, default, flag_values)

    @property
    def _is_list(self) -> bool:
        return typing.get_origin(self._kind) is tuple

    def _define(self, name: str, about: Option, default, flag_values) -> flags.FlagHolder:
        default = about.none if default is None else default
        help_text = about.help
        if about.choices and self._is_list:
            help_text += f" Any of: {', '.join(about.choices)}."
        options = {"required": about.required, "flag_values": flag_values}
        default = None if about.required else default
        if self._is_list:
            values = None if default is None else [str(value) for value in default]
            return flags.DEFINE_list(name, values, help_text, **options)
        if self._kind is bool:
            return flags.DEFINE_bool(name, default, help_text, **options)
        if about.choices:
            return flags.DEFINE_enum(name, default, list(about.choices), help_text, **options)
        if self._kind not in _SCALARS:
            raise TypeError(f"Expected a type that a flag can have. Received: {name}: {self._kind}")
        return _SCALARS[self._kind](name, default, help_text, **options)

    def __call__(self):
        value = self._flag.value
        if self._is_list:
            value = self._items(value or [])
        empty = value is None or value == self._none or value in ("", ())
        if self._may_be_none and empty:
            return None
        return value

    def _items(self, texts: list[str]) -> tuple:
        kind = typing.get_args(self._kind)[0]
        try:
            return tuple(kind(text) for text in texts)
        except ValueError as error:
            raise ValueError(
                f"--{self._flag.name} must be numbers separated by commas. "
                f"Received: {','.join(texts)}"
            ) from error


def _members(hint) -> tuple:
    """Returns the types that a hint allows."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return typing.get_args(hint)
    return (hint,)
