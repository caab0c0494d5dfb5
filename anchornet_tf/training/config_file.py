"""The configuration of a run, as a file beside its results."""

import dataclasses
import json
import os
import pathlib

from anchornet_tf.utils import files

_NAME = "config.json"

# A finished run may be continued to more steps; everything else must stay.
_MAY_CHANGE = {"steps"}


def save(config, folder: str | os.PathLike) -> None:
    """Writes a configuration into its run's folder."""
    with files.atomic_file(pathlib.Path(folder) / _NAME) as temporary:
        temporary.write_text(json.dumps(dataclasses.asdict(config), indent=2) + "\n")


def load(kind: type, folder: str | os.PathLike):
    """Reads the configuration of a run's folder.

    Raises:
        ValueError: where the folder is not that of a run of this kind.
    """
    path = pathlib.Path(folder) / _NAME
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise _other_folder(kind, folder, str(error)) from error
    known = {field.name for field in dataclasses.fields(kind)}
    if not isinstance(values, dict) or not known.issuperset(values):
        unknown = sorted(set(values) - known) if isinstance(values, dict) else [str(values)]
        raise _other_folder(kind, folder, f"other fields: {', '.join(unknown)}")
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    try:
        return kind(**{**values, **lists})
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _other_folder(kind, folder, str(error)) from error


def _other_folder(kind: type, folder: str | os.PathLike, reason: str) -> ValueError:
    # What a damaged file holds may have lines of its own.
    return ValueError(
        f"Expected the folder of a {kind.__name__.removesuffix('Config').lower()} run. "
        f"Received: {folder} with {_NAME} ({' '.join(reason.split())})"
    )


def check_same(config, folder: str | os.PathLike) -> None:
    """Raises where a folder holds a run of another configuration; a new folder is welcome."""
    if not (pathlib.Path(folder) / _NAME).exists():
        return
    there = dataclasses.asdict(load(type(config), folder))
    here = dataclasses.asdict(config)
    changed = [name for name in here if name not in _MAY_CHANGE and here[name] != there[name]]
    if changed:
        difference = ", ".join(f"{name} {there[name]} there, {here[name]} here" for name in changed)
        raise ValueError(
            "Expected the configuration that the run in this folder was started with; name another "
            f"--workdir or remove that one. Received: {folder} with {difference}"
        )
