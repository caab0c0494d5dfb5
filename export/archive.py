"""Versions of an exported model: SavedModels in numbered folders."""

import json
import os
import pathlib
from collections.abc import Callable, Sequence

import tensorflow as tf
from absl import logging

from anchornet_tf.models import presets
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.utils import files
from anchornet_tf.utils.unfinished import ScratchFolder, unfinished_folder
from export import model_card
from export.servable import FUNCTIONS, Servable

# The defaults of stage 2, for models without a record of their training.
_DEFAULT_WEIGHTS = {"weight_div_a": 100.0, "weight_div_encoder": 100.0}


def save(
    model,
    output: str | os.PathLike,
    *,
    matcher: str = "hough",
    look_twice: int = 0,
    weights: dict[str, float] | None = None,
    record: dict | None = None,
    card: str | None = None,
) -> pathlib.Path:
    """Writes the next version of a model.

    Args:
        model: `AnchorNet`.
        output: Folder of the versions.
        matcher: `"nearest"` or `"hough"`, for the signatures that match.
        look_twice: int. Size in pixels at which they look at the object of each image again; 0 to
            look once. See `Servable`.
        weights: `weight_div_a` and `weight_div_encoder` of the regularization losses. A missing one
            is taken from the record, or else is 100.
        record: JSON values that tell how the model was trained, stored in the assets.
        card: Text of the model card; None to make one from the configuration.

    Returns:
        The folder of the new version.

    Raises:
        FileExistsError: If a file has the name of the new version.
        ValueError: If the matcher is unknown, or the model cannot look twice.
    """
    weights = {**_DEFAULT_WEIGHTS, **_recorded_weights(record), **(weights or {})}
    servable = Servable(model, **weights, matcher=matcher, look_twice=look_twice)
    settings = {"matcher": matcher, "look_twice": look_twice, **weights, "record": record or {}}
    settings["functions"] = FUNCTIONS
    with ScratchFolder("anchornet-assets") as folder:
        assets = model_card.write_assets(folder, model, settings, card)
        for name, path in assets.items():
            setattr(servable, name, tf.saved_model.Asset(path))
        return write_version(pathlib.Path(output), lambda path: _save_quietly(servable, str(path)))


def versions(base: str | os.PathLike) -> list[int]:
    """Returns the versions in a folder, oldest first: its subfolders whose names are numbers."""
    base = pathlib.Path(base)
    names = [path.name for path in base.iterdir() if path.is_dir()] if base.is_dir() else []
    return sorted(int(name) for name in names if name.isascii() and name.isdigit())


def _save_quietly(servable: Servable, path: str) -> None:
    """Saves without the pages that TensorFlow logs about the names of captured variables."""
    before = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        tf.saved_model.save(servable, path, servable.signatures())
    except tf.errors.OpError as error:
        # What TensorFlow raises where the disk is full, or it may not write.
        raise OSError(
            f"Expected a folder that a model can be written to ({error.message}). Received: {path}"
        ) from error
    finally:
        logging.set_verbosity(before)


def check_names(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Checks what a user chose.

    Raises:
        ValueError: If there is no name, or one that is not known.
    """
    unknown = sorted(set(names) - set(known))
    if unknown or not names:
        raise ValueError(
            f"Expected {what} of {', '.join(known)}. Received: {', '.join(unknown) or 'none'}"
        )


def write_version(base: pathlib.Path, write: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """Writes the next version into a folder, whole or not at all, and returns its path.

    Args:
        base: Folder of the versions.
        write: Called with a folder that becomes the version when it returns.

    Raises:
        FileExistsError: If a file has the name of the new version.
    """
    files.make_folder(base)
    with unfinished_folder(base, "version") as temporary:
        write(temporary)
        while True:
            path = base / str(max(versions(base), default=0) + 1)
            try:
                files.publish_folder(temporary, path)
                return path
            except FileExistsError:
                # Another process may have finished this version first. The user must see anything
                # else that is in the way.
                if not path.is_dir():
                    raise


def _recorded_weights(record) -> dict[str, float]:
    """Returns the weights of the training in a record, at its top level or one below."""
    record = record or {}
    levels = [*(value for value in record.values() if isinstance(value, dict)), record]
    return {
        name: float(level[name]) for level in levels for name in _DEFAULT_WEIGHTS if name in level
    }


def export_folder(model: str, output: str, trunk: str = "imagenet", **options) -> pathlib.Path:
    """Exports the model of a folder or a preset, with its record and its model card, if any.

    Args:
        model: Folder or preset, as in `AnchorNet.from_preset`.
        output: Folder of the versions.
        trunk: The `weights` of `AnchorNet.from_preset`.
        **options: `matcher`, `look_twice` and `weights` of `save`.

    Returns:
        The folder of the new version.
    """
    folder = presets.find(model)
    network = AnchorNet.from_preset(folder, weights=trunk)
    record = json.loads((folder / "config.json").read_text()).get("record")
    card = folder / "model_card.md"
    text = card.read_text() if card.is_file() else None
    return save(network, output, record=record, card=text, **options)
