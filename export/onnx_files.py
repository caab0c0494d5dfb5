"""ONNX files of a model, one per function, each with a note of what it takes and gives."""

import contextlib
import json
import os
import pathlib
from collections.abc import Iterator, Sequence

import tensorflow as tf
import tqdm

import anchornet_tf
from anchornet_tf.models import presets
from anchornet_tf.models.anchornet import AnchorNet
from export import archive, quiet
from export.portable import Portable, frozen_graph

SIGNATURES = ("features", "class_responses", "match", "match_points")
IMAGE_DTYPES = ("uint8", "float32")
# The newest that tf2onnx writes; runtimes from 2023 on read it.
_OPSET = 18
_CONVENTION = (
    "Images are RGB from 0 to 255, (batch, height, width, 3). Points are (x, y) and flows (dy, dx) "
    "in pixels of the images as given; pixel centres are at whole numbers."
)


def save(
    model: AnchorNet,
    output: str | os.PathLike,
    *,
    signatures: Sequence[str] = SIGNATURES,
    matcher: str = "hough",
    image_dtype: str = "uint8",
    name: str = "",
) -> pathlib.Path:
    """Writes the next version of a model as ONNX files.

    Args:
        model: `AnchorNet`.
        output: Folder of the versions.
        signatures: Names of the functions, of `SIGNATURES`.
        matcher: `"nearest"` or `"hough"`, for the functions that match.
        image_dtype: Number type of the images, of `IMAGE_DTYPES`.
        name: What the model is called in the files.

    Returns:
        The folder of the new version, with a file such as `match.onnx` for each function.

    Raises:
        FileExistsError: If a file has the name of the new version.
        ImportError: If tf2onnx is not installed.
        ValueError: If a function, the matcher or the number type is unknown.
    """
    archive.check_names(signatures, SIGNATURES, "functions")
    archive.check_names([image_dtype], IMAGE_DTYPES, "an image type")
    portable = Portable(model, matcher)
    properties = properties_of(model, matcher, name)
    # Each takes a minute or so, during which nothing else would be seen.
    converted = {
        signature: _convert(portable, signature, image_dtype, model.classes, properties)
        for signature in tqdm.tqdm(signatures, desc="Converting", unit="file")
    }

    def write(folder):
        for signature, proto in converted.items():
            (folder / f"{signature}.onnx").write_bytes(proto.SerializeToString())

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
    libraries()  # Nobody should wait for the weights to read that a package is missing.
    network = AnchorNet.from_preset(presets.find(model), weights=trunk)
    return save(network, output, name=pathlib.Path(model).name, **options)


def libraries():
    """Returns the modules onnx and tf2onnx.

    Raises:
        ImportError: If one of them is not installed.
    """
    try:
        import onnx
        import tf2onnx
    except ImportError as error:
        raise ImportError(
            f"Expected onnx and tf2onnx: pip install 'anchornet_tf[onnx]'. Received: {error}"
        ) from error
    return onnx, tf2onnx


def properties_of(model: AnchorNet, matcher: str, name: str) -> dict[str, str]:
    """Returns what files of a model say about it."""
    return {
        "model": name,
        "anchornet_tf": anchornet_tf.__version__,
        "matcher": matcher,
        "convention": _CONVENTION,
        "class_names": json.dumps(list(model.classes)),
        "options": json.dumps(model.options()),
    }


def convert(
    portable: Portable, signature: str, inputs: dict[str, tf.TensorSpec], properties: dict[str, str]
):
    """Returns the ONNX model of a function of `Portable`, as a message of onnx.

    Args:
        portable: The functions.
        signature: Name of one of them.
        inputs: What it takes, by the names of its arguments.
        properties: Those of `properties_of`.
    """
    onnx, tf2onnx = libraries()
    graph, outputs = frozen_graph(getattr(portable, signature), inputs)
    names = {f"{name}:0": name for name in inputs} | {
        tensor: name for name, tensor in outputs.items()
    }
    with quiet.libraries("tf2onnx", "tensorflow"), _one_copy():
        proto, _ = tf2onnx.convert.from_graph_def(
            graph,
            name=signature,
            input_names=[f"{name}:0" for name in inputs],
            output_names=list(outputs.values()),
            opset=_OPSET,
            tensors_to_rename=names,
        )
    proto.producer_name, proto.producer_version = "anchornet_tf", anchornet_tf.__version__
    onnx.helper.set_model_props(proto, properties | {"signature": signature})
    return proto


@contextlib.contextmanager
def _one_copy() -> Iterator[None]:
    """Keeps tf2onnx from copying the whole network before and after each of its passes.

    Before, it does so to go on without a pass that fails. The variable, whatever it holds, turns
    that off: a pass that fails is an error then. After each pass, it writes all arrays into their
    messages again, which keep the memory of what they held before: seven gigabytes in the end.
    """
    from tf2onnx.graph import Node

    name = "TF2ONNX_CATCH_ERRORS"
    before, update = os.environ.get(name), Node.update_proto
    written: dict[Node, object] = {}

    def update_changed(node, *storage):
        value = node.attr.get("value") if node.is_const() else None
        if value is None or written.get(node) is not value:
            update(node, *storage)
            written[node] = value
            return
        del node.op.output[:]
        node.op.output.extend(node.output)

    os.environ[name], Node.update_proto = "false", update_changed
    try:
        yield
    finally:
        Node.update_proto = update
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _inputs(signature: str, dtype: tf.DType) -> dict[str, tf.TensorSpec]:
    images = tf.TensorSpec((None, None, None, 3), dtype)
    if signature == "features":
        return {"image": images}
    if signature == "class_responses":
        return {"image": images, "class_index": tf.TensorSpec((None,), tf.int64)}
    points = {"points": tf.TensorSpec((None, None, 2), tf.float32)}
    return {"source": images, "target": images} | (points if signature == "match_points" else {})


def _convert(portable, signature, image_dtype, classes, properties):
    """Returns the ONNX model of a function that takes batches and images of any size."""
    onnx, _ = libraries()
    inputs = _inputs(signature, tf.as_dtype(image_dtype))
    proto = convert(portable, signature, inputs, properties)
    if signature == "class_responses":
        _take_names(onnx, proto.graph, classes)
        proto.opset_import.append(onnx.helper.make_opsetid("ai.onnx.ml", 2))
    _name_sizes(proto.graph, signature)
    onnx.checker.check_model(proto)
    return proto


def _take_names(onnx, graph, classes) -> None:
    """Lets a graph take names of classes in place of their numbers, and give all names."""
    helper, strings = onnx.helper, onnx.TensorProto.STRING
    names = [name.encode() for name in classes]
    encoder = helper.make_node(
        "LabelEncoder",
        ["class_name"],
        ["class_index"],
        domain="ai.onnx.ml",
        keys_strings=names,
        values_int64s=range(len(names)),
        default_int64=-1,
    )
    constant = helper.make_tensor("all_class_names", strings, (1, len(names)), names)
    one = helper.make_tensor("one_class_index", onnx.TensorProto.INT64, (1,), [1])
    graph.initializer.extend([constant, one])
    nodes = [
        encoder,
        helper.make_node("Shape", ["class_name"], ["batch_of_names"]),
        helper.make_node("Concat", ["batch_of_names", "one_class_index"], ["names_size"], axis=0),
        helper.make_node("Expand", ["all_class_names", "names_size"], ["class_names"]),
    ]
    # Nodes are listed in the order in which they can run.
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *rest])
    (index,) = (value for value in graph.input if value.name == "class_index")
    graph.input.remove(index)
    graph.input.append(helper.make_tensor_value_info("class_name", strings, ["batch"]))
    graph.output.append(
        helper.make_tensor_value_info("class_names", strings, ["batch", len(names)])
    )


# What the sides of inputs and outputs are called; a number is the same in every run.
_SIDES = {
    "image": ("batch", "height", "width", 3),
    "source": ("batch", "height", "width", 3),
    "target": ("batch", "target_height", "target_width", 3),
    "class_name": ("batch",),
    "features": ("batch", "rows", "columns", None),
    "responses": ("batch", "rows", "columns", None),
    "class_names": ("batch", None),
    "flow": ("batch", "height", "width", 2),
    "points": ("batch", "points", 2),
    "target_points": ("batch", "points", 2),
}


def _name_sizes(graph, signature) -> None:
    """Says by name which sizes of inputs and outputs are free, and which of them are equal."""
    for value in [*graph.input, *graph.output]:
        sides = _SIDES.get(value.name)
        if value.name == "confidence":
            sides = _SIDES["points"][:2] if signature == "match_points" else _SIDES["flow"][:3]
        known = list(value.type.tensor_type.shape.dim)
        fixed = [known[axis].dim_value if side is None else 0 for axis, side in enumerate(sides)]
        shape = value.type.tensor_type.shape
        shape.Clear()
        for side, number in zip(sides, fixed, strict=True):
            if isinstance(side, str):
                shape.dim.add(dim_param=side)
            else:
                shape.dim.add(dim_value=side or number)
