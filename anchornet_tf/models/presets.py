"""Where models lie: those that come with the package by name, and folders of one's own.

Needs no TensorFlow: `AnchorNet.from_preset` loads what is found here.
"""

import os
import pathlib

# What is used where no model is named.
DEFAULT = "voc20"
# A preset is a folder of `AnchorNet.save_to_preset` in here; its name is the folder's.
_PRESETS = pathlib.Path(__file__).with_name("presets")
_CONFIG = "config.json"


def preset_names() -> tuple[str, ...]:
    """Returns the names of the models that come with the package."""
    return tuple(sorted(path.parent.name for path in _PRESETS.glob(f"*/{_CONFIG}")))


def find(preset: str | os.PathLike) -> pathlib.Path:
    """Returns the folder of a model.

    Args:
        preset: The name of a preset, or a folder that `AnchorNet.save_to_preset` wrote. A folder
            goes before a preset of the same name.

    Raises:
        ValueError: If it is neither.
    """
    folder = pathlib.Path(preset)
    if (folder / _CONFIG).is_file():
        return folder
    if str(preset) in preset_names():
        return _PRESETS / str(preset)
    raise ValueError(
        "Expected a folder that `AnchorNet.save_to_preset` wrote (with config.json and heads.npz) "
        f"or a preset of {', '.join(preset_names()) or 'none: no preset is installed'}. "
        f"Received: {str(preset)!r}"
    )


def is_shipped(preset: str | os.PathLike) -> bool:
    """Tells whether `find` would return a model that comes with the package."""
    return str(preset) in preset_names() and find(preset) == _PRESETS / str(preset)
