"""The weights of a trunk: their names, and where they come from."""

import hashlib
import os
import pathlib
import re
import zipfile

import keras
import numpy as np

from anchornet_tf.trunks import networks, pretrained, registry, vit_descriptions
from anchornet_tf.trunks.description import TrunkDescription, differences
from anchornet_tf.utils import files
from anchornet_tf.utils.array_archive import open_archive

# What the makers of a trunk publish.
PUBLISHED = "imagenet"
# Of a folder that `Backbone.save_to_folder` wrote.
WEIGHTS_FILE = "weights.npz"
_KERAS_FILES = (".h5", ".keras")
# Keras numbers variables without a name too, over all models of a process.
_AUTOMATIC = re.compile(r"^variable(_\d+)?$")


def named_variables(trunk: TrunkDescription, network) -> dict:
    """Returns the variables of a network by names that are the same in every process.

    Keras numbers layers without a name as they are made, so a variable is named after its position
    where layers may have none.
    """
    if trunk.architecture.get("function", "").startswith("ResNet"):
        return {
            f"{layer.name}/{variable.name}": variable
            for layer in network.layers
            for variable in layer.weights
        }
    return {
        f"{number:04d}/{_AUTOMATIC.sub('variable', variable.name)}": variable
        for number, variable in enumerate(network.weights)
    }


def digest(trunk: TrunkDescription, network) -> str:
    """Returns a string that identifies the weights of a network."""
    total = hashlib.sha256()
    for name, variable in named_variables(trunk, network).items():
        total.update(f"{name}\n".encode())
        total.update(np.ascontiguousarray(variable, np.float32))
    return total.hexdigest()[:16]


def load(trunk: TrunkDescription, network, weights: str | os.PathLike) -> None:
    """Gives a network its weights.

    Args:
        trunk: Its description.
        network: What `networks.make` returned.
        weights: `"imagenet"` for those that the makers publish; a `.npz` file of this package, an
            `.h5` or `.keras` file of Keras, a Hugging Face folder, or a folder that
            `Backbone.save_to_folder` wrote.

    Raises:
        FileNotFoundError: If there is no such file.
        ImportError: If a package is missing.
        ValueError: If they are the weights of something else.
        WeightsUnavailable: If the published weights cannot be had.
    """
    if weights == PUBLISHED:
        if trunk.name == registry.DEFAULT:
            assign(named_variables(trunk, network), pretrained.load_imagenet())
            return
        place = _cached(trunk)
        if place is None:
            _download(trunk, network)
            return
        weights = place
    _load_place(trunk, network, pathlib.Path(weights))


def assign(variables: dict, arrays: pretrained.Weights) -> None:
    """Copies named arrays into variables.

    Raises:
        ValueError: If an array is missing or has another shape; nothing is changed then.
    """
    for name, variable in variables.items():
        array = arrays.get(name)
        if array is None or tuple(array.shape) != tuple(variable.shape):
            raise ValueError(
                f"Expected an array {name!r} of shape {tuple(variable.shape)} in the weights. "
                f"Received: {None if array is None else tuple(array.shape)}"
            )
    for name, variable in variables.items():
        variable.assign(arrays[name])


def _load_place(trunk: TrunkDescription, network, path: pathlib.Path) -> None:
    if vit_descriptions.is_folder(path):
        _load_hugging_face(trunk, network, path)
        return
    if (path / WEIGHTS_FILE).is_file():
        path = path / WEIGHTS_FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"Expected weights of {trunk.name}: imagenet for the published ones, a .npz file, "
            f"{_other_places(trunk)}. Received: {path}"
        )
    variables = named_variables(trunk, network)
    if trunk.name == registry.DEFAULT:
        assign(variables, pretrained.load_path(path))
    elif path.suffix in _KERAS_FILES and trunk.family == "keras_applications":
        _load_keras_file(trunk, network, path)
    else:
        try:
            with open_archive(path) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"Expected weights of {trunk.name} in a .npz file ({error}). Received: {path}"
            ) from error
        assign(variables, arrays)


def _other_places(trunk: TrunkDescription) -> str:
    if trunk.family in ("dinov2", "dinov3"):
        return "or a Hugging Face folder (config.json and model.safetensors)"
    if trunk.family == "keras_applications":
        return "or an .h5 or .keras file of Keras"
    return "or a folder that `Backbone.save_to_folder` wrote"


def _load_hugging_face(trunk: TrunkDescription, network, folder: pathlib.Path) -> None:
    there = vit_descriptions.of_folder(folder)
    differing = differences(trunk, there) if there.family == trunk.family else [there.family]
    if differing:
        raise ValueError(
            f"Expected the weights of {trunk.name}. Received: {folder}, those of another network: "
            f"{', '.join(differing)}"
        )
    if not any(folder.glob("*.safetensors")):
        raise FileNotFoundError(
            "Expected model.safetensors beside config.json; a clone without Git LFS lacks it. "
            f"Received: {folder}"
        )
    from anchornet_tf.trunks import vision_transformer

    try:
        vision_transformer.load(network, trunk, folder)
    except ImportError:
        raise
    except Exception as error:
        # safetensors and keras-hub have many kinds of errors for a file that does not fit.
        raise ValueError(
            f"Expected the weights of {trunk.name} in model.safetensors "
            f"({_first_line(error)}). Received: {folder}"
        ) from error


def _load_keras_file(trunk: TrunkDescription, network, path: pathlib.Path) -> None:
    model = networks.whole(trunk)
    try:
        model.load_weights(path)
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(
            f"Expected the weights of Keras' {trunk.architecture['function']} without its top "
            f"({_first_line(error)}). Received: {path}"
        ) from error
    _take(trunk, network, model)


def _take(trunk: TrunkDescription, network, model: keras.Model) -> None:
    source = networks.tapped(model, [tap.layer for tap in trunk.taps], trunk.name)
    network.set_weights(source.get_weights())


def _cached(trunk: TrunkDescription) -> pathlib.Path | None:
    """Returns a file or folder that was put into the cache for a trunk."""
    folder = files.cache_folder() / "trunks"
    places = (folder / f"{trunk.name}.npz", folder / trunk.name)
    return next((place for place in places if place.exists()), None)


def _download(trunk: TrunkDescription, network) -> None:
    where = files.cache_folder() / "trunks"
    try:
        if trunk.family == "keras_applications":
            function = getattr(keras.applications, trunk.architecture["function"])
            _take(trunk, network, function(include_top=False, weights="imagenet"))
            return
        if trunk.name in vit_descriptions.named():
            from anchornet_tf.trunks import vision_transformer

            vision_transformer.load(network, trunk, vit_descriptions.published_name(trunk.name))
            return
    except ImportError:
        raise
    except Exception as error:
        # Downloads fail in many ways: no network, no account, terms that were not accepted.
        raise pretrained.WeightsUnavailable(
            f"Expected the published weights of {trunk.name} from {trunk.source} "
            f"({_first_line(error)}). {_what_to_do(trunk)}, or put them into {where} as "
            f"{trunk.name}. Received: weights='{PUBLISHED}'"
        ) from error
    raise pretrained.WeightsUnavailable(
        f"Expected `weights` of {trunk.name}, which nobody publishes: the path of a file or "
        f"folder, or None for random ones. Received: weights='{PUBLISHED}'"
    )


def _what_to_do(trunk: TrunkDescription) -> str:
    if trunk.family == "keras_applications":
        return "Connect to the network and try again, or pass the path of Keras' file as `weights`"
    repository = vit_descriptions.published_repository(trunk.name)
    terms = ", whose terms have to be accepted there first," if trunk.family == "dinov3" else ""
    return (
        f"Download config.json and model.safetensors of {repository}{terms} from Hugging Face on a "
        "machine with a network, and pass their folder as `weights`"
    )


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200].rstrip(".")
