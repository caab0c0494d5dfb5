"""An AnchorNet as a folder: its configuration, its heads, and its trunk if not the ImageNet one."""

import dataclasses
import hashlib
import json
import os
import pathlib

import numpy as np

from anchornet_tf.trunks import registry
from anchornet_tf.trunks.backbone import Backbone
from anchornet_tf.utils import files
from anchornet_tf.utils.array_archive import DAMAGE, open_archive
from anchornet_tf.utils.image_io import MAXIMUM_SIDE

# Digest of Keras' ImageNet ResNet50 without its top: the trunk of folders that hold none.
IMAGENET_DIGEST = "61001ca9c1728ade"

_FORMAT = "anchornet_tf.AnchorNet/1"
_DTYPES = ("float32", "float16")
_CONFIG, _HEADS, _TRUNK = "config.json", "heads.npz", "trunk.npz"
_CONFIDENCE = "confidence.json"


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a folder holds.

    Attributes:
        options: Arguments of `AnchorNet`.
        heads: The array of each variable above the trunk, by name.
        trunk: Path of the trunk's weights, or None where the folder has none.
        trunk_digest: What identifies these weights; None in folders from before it was recorded.
        confidence: Contents of `confidence.json`, or None where there is none.
    """

    options: dict
    heads: dict[str, np.ndarray]
    trunk: pathlib.Path | None
    trunk_digest: str | None = None
    confidence: dict | None = None


def write(
    model, folder: str | os.PathLike, include_trunk: bool | None, dtype: str, record: dict | None
) -> None:
    """Writes a model: see `AnchorNet.save_to_preset`."""
    if dtype not in _DTYPES:
        raise ValueError(f"`dtype` must be one of {', '.join(_DTYPES)}. Received: {dtype!r}")
    replaceable = is_imagenet(model.backbone)
    papers = model.backbone.trunk.name == registry.DEFAULT
    if include_trunk is False and papers and not replaceable:
        raise ValueError(
            "Expected the ImageNet trunk with `include_trunk=False`, as any other would be lost. "
            "Received: include_trunk=False with other weights"
        )
    include_trunk = not replaceable if include_trunk is None else include_trunk
    heads = {name: _stored(name, value, dtype) for name, value in _head_variables(model).items()}
    config = {
        "format": _FORMAT,
        "options": model.options(),
        "trunk": "stored" if include_trunk else "imagenet",
        "trunk_digest": model.backbone.digest(),
        "record": record or {},
    }
    with files.atomic_folder(folder) as temporary:
        (temporary / _CONFIG).write_text(json.dumps(config, indent=2) + "\n")
        # Whoever chooses half precision wants a small file.
        save = np.savez_compressed if dtype == "float16" else np.savez
        save(temporary / _HEADS, **heads)
        if model.confidence is not None:
            write_confidence(temporary, model.confidence)
        if include_trunk:
            np.savez(temporary / _TRUNK, **trunk_arrays(model.backbone))


def write_confidence(folder: str | os.PathLike, contents: dict) -> pathlib.Path:
    """Writes what `anchornet_tf.matchers.confidence` needs beside a model; returns its file."""
    path = pathlib.Path(folder) / _CONFIDENCE
    with files.atomic_file(path) as temporary:
        temporary.write_text(json.dumps(contents) + "\n")
    return path


def read(folder: str | os.PathLike) -> Contents:
    """Reads a folder, except for its trunk.

    Raises:
        FileNotFoundError: If there is no such folder.
        ValueError: If it holds something else.
    """
    folder = pathlib.Path(folder)
    if not (folder / _CONFIG).is_file():
        raise FileNotFoundError(
            f"Expected a folder that `AnchorNet.save_to_preset` wrote. Received: {folder}"
        )
    try:
        config = json.loads((folder / _CONFIG).read_text())
        if config.get("format") != _FORMAT:
            raise ValueError(f"its format is {config.get('format')!r}, not {_FORMAT!r}")
        with open_archive(folder / _HEADS) as archive:
            heads = {name: archive[name] for name in archive.files}
        _check_sizes(config["options"], heads)
        trunk = folder / _TRUNK if config["trunk"] == "stored" else None
        confidence = None
        if (folder / _CONFIDENCE).is_file():
            confidence = json.loads((folder / _CONFIDENCE).read_text())
        return Contents(config["options"], heads, trunk, config.get("trunk_digest"), confidence)
    except DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            "Expected a folder that `AnchorNet.save_to_preset` wrote "
            f"({reason}). Received: {folder}"
        ) from error


def _check_sizes(options: dict, heads: dict[str, np.ndarray]) -> None:
    """Raises ValueError for options that the arrays do not have the sizes of.

    A model is made before its arrays are filled in: sizes from a file must not ask for memory that
    the file itself does not need.
    """
    kernels = [heads[f"bank/{name}/kernel"].shape for name in options["classes"]]
    filters, depth = options["num_filters"], options["dimensions"]
    # As many taps as the trunk has, each of this depth at most.
    if any(len(shape) != 4 or shape[3] != filters or shape[2] < depth for shape in kernels):
        raise ValueError(f"its banks have the shapes {sorted(set(kernels))}, not {filters} filters")
    code = heads["code_equalizer/matrix"].shape
    if code != (options["latent_filters"],) * 2:
        raise ValueError(f"its code has the shape {code}")
    sides = options["image_size"]
    for side in sides if isinstance(sides, list) else [sides]:
        if not isinstance(side, int) or not 1 <= side <= MAXIMUM_SIDE:
            raise ValueError(f"its image size is {sides}")


def check_trunk(backbone: Backbone, contents: Contents, weights) -> None:
    """Checks that a trunk is the one that a folder's heads were trained on.

    Args:
        backbone: The trunk.
        contents: Of the folder.
        weights: Where the trunk came from if the folder has none.

    Raises:
        ValueError: If it is another.
    """
    papers = backbone.trunk.name == registry.DEFAULT
    # The download of `"imagenet"` checks its file itself; a path or a layer may hold anything.
    if papers and contents.trunk is None:
        if weights != "imagenet" and not is_imagenet(backbone):
            raise ValueError(
                "Expected Keras' ImageNet weights, which the model was trained on. "
                f"Received: other weights from weights={weights!r}"
            )
    elif contents.trunk_digest is not None and contents.trunk_digest != backbone.digest():
        place = contents.trunk or f"weights={weights!r}"
        raise ValueError(
            f"Expected the weights {contents.trunk_digest} of {backbone.trunk.name}, which the "
            f"model was trained on. Received: weights {backbone.digest()} from {place}"
        )


def fill(model, contents: Contents) -> None:
    """Assigns the heads of a folder to a model that was made with its options and trunk.

    Raises:
        ValueError: If arrays are missing or have other shapes; the model is then unchanged.
    """
    variables = _head_variables(model)
    expected = {name: tuple(variable.shape) for name, variable in variables.items()}
    received = {name: array.shape for name, array in contents.heads.items()}
    if expected != received:
        differing = sorted(
            name for name in expected | received if expected.get(name) != received.get(name)
        )
        raise ValueError(
            f"Expected {[(name, expected.get(name)) for name in differing]} in {_HEADS}. "
            f"Received: {[(name, received.get(name)) for name in differing]}"
        )
    for name, variable in variables.items():
        variable.assign(contents.heads[name].astype(np.float32))


def is_imagenet(backbone: Backbone) -> bool:
    """Returns whether a trunk is the paper's with Keras' ImageNet weights, unchanged."""
    if backbone.trunk.name != registry.DEFAULT:
        return False
    return digest(trunk_arrays(backbone)) == IMAGENET_DIGEST


def trunk_arrays(backbone: Backbone) -> dict[str, np.ndarray]:
    """Returns the trunk's arrays, named as `Backbone(weights=PATH)` expects them."""
    return {name: np.asarray(value) for name, value in backbone.named_variables().items()}


def digest(arrays: dict[str, np.ndarray]) -> str:
    """Returns a string that identifies named float32 arrays."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        total.update(name.encode())
        total.update(np.ascontiguousarray(arrays[name], np.float32))
    return total.hexdigest()[:16]


def _head_variables(model) -> dict:
    """Returns every variable above the trunk, by its name in `heads.npz`."""
    hypercolumn = model.hypercolumn_layer
    projections = zip(hypercolumn.tap_names, hypercolumn.projections, strict=True)
    layers = {f"pca/{name}": projection for name, projection in projections}
    layers |= {f"bank/{name}": model.bank(name) for name in model.classes}
    layers["autoencoder"] = model.autoencoder
    layers["code_equalizer"] = model.code_equalizer
    equalizers = zip(model.classes, model.bank_equalizers, strict=True)
    layers |= {f"equalizer/{name}": equalizer for name, equalizer in equalizers}
    return {
        f"{name}/{variable.name}": variable
        for name, layer in layers.items()
        for variable in layer.variables
    }


def _stored(name: str, variable, dtype: str) -> np.ndarray:
    array = np.asarray(variable, np.float32)
    # A variance is the small difference between a mean square and a squared mean, which half
    # precision would lose.
    if not name.endswith("kernel"):
        return array
    with np.errstate(over="ignore"):
        stored = array.astype(dtype)
    if not np.isfinite(stored).all():
        raise ValueError(
            f"Expected finite values that fit {dtype}. Received: {name} up to {np.abs(array).max()}"
        )
    return stored
