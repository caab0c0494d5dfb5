"""Models by name: those that come with the package, and folders of one's own."""

import os
import pathlib

# What is used where no model is named.
DEFAULT = "voc20"
# A preset is a folder of `AnchorNet.save_folder` in here; its name is the folder's.
_PRESETS = pathlib.Path(__file__).with_name("presets")
_CONFIG = "config.json"


def preset_names() -> tuple[str, ...]:
    """Returns the names of the models that come with the package."""
    return tuple(sorted(path.parent.name for path in _PRESETS.glob(f"*/{_CONFIG}")))


def find(folder_or_preset: str | os.PathLike) -> pathlib.Path:
    """Returns the folder of a model.

    Args:
        folder_or_preset: a folder that `AnchorNet.save_folder` wrote, or the name of a preset.
            A folder goes before a preset of the same name.

    Raises:
        ValueError: where it is neither.
    """
    folder = pathlib.Path(folder_or_preset)
    if (folder / _CONFIG).is_file():
        return folder
    if str(folder_or_preset) in preset_names():
        return _PRESETS / str(folder_or_preset)
    raise ValueError(
        "Expected a folder that `AnchorNet.save_folder` wrote (with config.json and heads.npz in it) or a preset of "
        f"{', '.join(preset_names()) or 'none: no preset is installed'}. Received: {str(folder_or_preset)!r}"
    )


def load(folder_or_preset: str | os.PathLike, **options):
    """Returns a trained model, an `AnchorNet`.

    Args:
        folder_or_preset: a folder that `AnchorNet.save_folder` wrote, or the name of a preset.
        **options: further arguments of `AnchorNet.load_folder`, such as `weights`.

    Raises:
        ValueError: where there is no such folder or preset, or the folder holds something else.

    Example:
        model = anchornet_tf.load("runs/stage2/model")
        descriptors = model(images)
    """
    # Names can be looked up without TensorFlow.
    from anchornet_tf.models.anchornet import AnchorNet

    return AnchorNet.load_folder(find(folder_or_preset), **options)
