"""Finds models: those that come with the package, by name, and the user's own, by folder.

This module needs no TensorFlow. `AnchorNet.from_preset` loads what it finds.
"""

import os
import pathlib

# The model that is used if none is named.
DEFAULT = "voc20"
# Each preset is a folder in here that `AnchorNet.save_to_preset` wrote, named after the preset.
_PRESETS = pathlib.Path(__file__).with_name("presets")
_CONFIG = "config.json"
_HEADS = "heads.npz"


def preset_names() -> tuple[str, ...]:
    """Returns the names of the models that come with the package."""
    return tuple(sorted(path.parent.name for path in _PRESETS.glob(f"*/{_CONFIG}")))


def find(preset: str | os.PathLike) -> pathlib.Path:
    """Returns the folder of a model.

    Args:
        preset: The name of a preset, or a folder that `AnchorNet.save_to_preset` wrote. A folder
            takes precedence over a preset of the same name.

    Raises:
        ValueError: If it is neither.
    """
    folder = pathlib.Path(preset)
    inside = folder / "model"
    if (inside / _HEADS).is_file() and not (folder / _HEADS).is_file():
        raise ValueError(
            f"Expected the folder of a model, not that of a run: {inside}. Received: {folder}"
        )
    if (folder / _CONFIG).is_file():
        return folder
    if str(preset) in preset_names():
        return _PRESETS / str(preset)
    raise ValueError(
        "Expected a folder that `AnchorNet.save_to_preset` wrote (with config.json and heads.npz) "
        f"or the name of a preset: {', '.join(preset_names()) or 'no preset is installed'}. "
        f"Received: {str(preset)!r}"
    )


def is_shipped(preset: str | os.PathLike) -> bool:
    """Returns whether `find` would return a model that comes with the package."""
    return str(preset) in preset_names() and find(preset) == _PRESETS / str(preset)
