"""LiteRT files of a model, for telephones and small boards: fixed sizes, few bytes."""

import json
import os
import pathlib
import shlex
from collections.abc import Sequence

import tensorflow as tf
import tqdm

import anchornet_tf
from anchornet_tf.models import presets
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.trunks.preprocessing import MINIMUM_SIZE
from export import archive, quantization, quiet
from export.portable import Portable, frozen_graph

SIGNATURES = ("features", "match")
PRECISIONS = ("float32", "float16", "int8")
METADATA = "metadata.json"
_INPUTS = {"features": ("image",), "match": ("source", "target")}
_CONVENTION = (
    "Images are float32 RGB from 0 to 255, (1, height, width, 3). Flows are (dy, dx) in pixels of "
    "the images as given; pixel centres are at whole numbers."
)


def save(
    model: AnchorNet,
    output: str | os.PathLike,
    *,
    signatures: Sequence[str] = SIGNATURES,
    precision: str = "float32",
    size: tuple[int, int] | None = None,
    matcher: str = "hough",
    calibration: int = 64,
    name: str = "",
) -> pathlib.Path:
    """Writes the next version of a model as LiteRT files.

    Args:
        model: `AnchorNet`.
        output: Folder of the versions.
        signatures: Names of the functions, of `SIGNATURES`.
        precision: Of `PRECISIONS`. `"float16"` halves the weights. `"int8"` computes the trunk
            with bytes; what follows it, and the matcher, stay as they are.
        size: (height, width) of the images, all of them; None for the model's.
        matcher: `"nearest"` or `"hough"`, for `match`.
        calibration: int. How many drawn images tell the range of the trunk's values, for `"int8"`.
        name: What the model is called in the metadata.

    Returns:
        The folder of the new version, with a file such as `match.tflite` for each function and
        `metadata.json`.

    Raises:
        FileExistsError: If a file has the name of the new version.
        ImportError: If the packages of the extra `litert` are not installed.
        ValueError: If a function, the matcher or the precision is unknown, or a number is out of
            range.
    """
    archive.check_names(signatures, SIGNATURES, "functions")
    archive.check_names([precision], PRECISIONS, "a precision")
    # LiteRT has no arithmetic in double precision; the images are small.
    portable = Portable(model, matcher, precision=tf.float32)
    size = portable.image_size if size is None else size
    converted = {}
    for signature in tqdm.tqdm(signatures, desc="Converting", unit="file"):
        content = _convert(portable, signature, size, precision)
        if precision == "int8":
            images = quantization.drawn_images(model.classes, calibration, size)
            content = quantization.with_bytes(content, _INPUTS[signature], images)
        converted[signature] = content
    metadata = {
        "model": name,
        "anchornet_tf": anchornet_tf.__version__,
        "precision": precision,
        "size": list(size),
        "matcher": matcher,
        "convention": _CONVENTION,
        "options": model.options(),
    }

    def write(folder):
        for signature, content in converted.items():
            (folder / f"{signature}.tflite").write_bytes(content)
        (folder / METADATA).write_text(json.dumps(metadata, indent=2) + "\n")

    return archive.write_version(pathlib.Path(output), write)


def export_folder(model: str, output: str, trunk: str = "imagenet", **options) -> pathlib.Path:
    """Exports the model of a folder or a preset.

    Args:
        model: Folder or preset, as in `AnchorNet.from_preset`.
        output: Folder of the versions.
        trunk: The `weights` of `AnchorNet.from_preset`.
        **options: Those of `save`.

    Returns:
        The folder of the new version.
    """
    if options.get("precision") == "int8":
        quantization.library()  # Nobody should wait to read that a package is missing.
    network = AnchorNet.from_preset(presets.find(model), weights=trunk)
    return save(network, output, name=pathlib.Path(model).name, **options)


def parse_size(sides: Sequence[str]) -> tuple[int, int] | None:
    """Returns the `size` of `save` that a user wrote: nothing, one side, or height and width.

    Raises:
        ValueError: If it is something else.
    """
    if not sides:
        return None
    if len(sides) > 2 or not all(side.isdecimal() and int(side) >= MINIMUM_SIZE for side in sides):
        raise ValueError(
            f"Expected a size HEIGHT,WIDTH in pixels, {MINIMUM_SIZE} or more each. "
            f"Received: {','.join(sides)}"
        )
    return int(sides[0]), int(sides[-1])


def _convert(portable, signature, size, precision) -> bytes:
    """Returns the content of a file, with float weights."""
    images = tf.TensorSpec((1, *size, 3), tf.float32)
    inputs = dict.fromkeys(_INPUTS[signature], images)
    graph, outputs = frozen_graph(getattr(portable, signature), inputs)
    holder = tf.Module()
    holder.imported = tf.compat.v1.wrap_function(
        lambda: tf.graph_util.import_graph_def(graph, name=""), []
    )
    element = holder.imported.graph.as_graph_element
    holder.pruned = holder.imported.prune(
        [element(f"{name}:0") for name in inputs],
        {name: element(tensor) for name, tensor in outputs.items()},
    )
    function = tf.function(lambda **given: holder.pruned(*map(given.get, inputs)), autograph=False)
    specs = {name: tf.TensorSpec(spec.shape, spec.dtype, name) for name, spec in inputs.items()}
    traced = function.get_concrete_function(**specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced], holder)
    if precision == "float16":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.target_spec.supported_types = [tf.float16]
    with quiet.libraries("tensorflow", "absl"):
        return bytes(converter.convert())


def read_metadata(folder: str | os.PathLike) -> dict:
    """Returns the metadata of a version."""
    return json.loads((pathlib.Path(folder) / METADATA).read_text())


def match_command(features: str | os.PathLike, matcher: str) -> str:
    """Returns the command that matches two images with an exported file.

    Args:
        features: The file of the function `features`.
        matcher: Name of the matcher.
    """
    command = "python -m anchornet_tf.match a.jpg b.jpg --features=litert"
    return f"{command} --matcher={matcher} --option={shlex.quote(f'file={features}')}"
