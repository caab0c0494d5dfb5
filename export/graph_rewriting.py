"""Replaces operations of a graph that other runtimes do not know by some that they do."""

import functools

import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2

_SMOOTH_RESIZE = "ScaleAndTranslate"


def resize_by_matrices(images, size, scale, translation) -> tf.Tensor:
    """Resizes with antialiasing as `tf.image.resize` does, by two matrix products.

    Args:
        images: `(batch, height, width, channels)`, of any number type.
        size: int32 `(2,)`: height and width of the result.
        scale: float32 `(2,)`: how much larger the result is.
        translation: float32 `(2,)`: where the origin goes, in pixels of the result.

    Returns:
        float32 `(batch, *size, channels)`.
    """
    batch, height, width, channels = tf.unstack(tf.shape(images))
    rows = _triangle_weights(height, size[0], scale[0], translation[0])
    columns = _triangle_weights(width, size[1], scale[1], translation[1])
    lines = tf.reshape(tf.cast(images, tf.float32), (batch, height, width * channels))
    lines = tf.reshape(tf.matmul(rows, lines), (batch, size[0], width, channels))
    return tf.matmul(columns, lines)


def _triangle_weights(length, size, scale, translation):
    """Returns `(size, length)`: what each place of the result takes of each place of a line."""
    reach = tf.maximum(1 / scale, 1.0)
    centers = (tf.range(size, dtype=tf.float32) + 0.5 - translation) / scale  # (size,)
    places = tf.range(length, dtype=tf.float32) + 0.5  # (length,)
    weights = tf.nn.relu(1 - tf.abs(centers[:, tf.newaxis] - places) / reach)
    return weights / tf.reduce_sum(weights, axis=1, keepdims=True)


def log_of_one_more(values) -> tf.Tensor:
    """Returns `log(1 + values)`; that tiny values lose digits does not matter to a confidence."""
    return tf.math.log(1 + values)


# What takes the place of an operation: a function of its inputs, whose types and shapes follow.
_ANY = None
_REPLACED = {
    _SMOOTH_RESIZE: (
        resize_by_matrices,
        ((_ANY, 4), (tf.int32, (2,)), (tf.float32, (2,)), (tf.float32, (2,))),
    ),
    "Log1p": (log_of_one_more, ((_ANY, None),)),
}


def rewrite(graph: graph_pb2.GraphDef) -> graph_pb2.GraphDef:
    """Returns a copy of a graph in which operations that other runtimes lack are replaced.

    ONNX files and LiteRT have no operation that computes what TensorFlow's antialiased resizing
    does, and the converter to ONNX does not know `log1p`.

    Args:
        graph: A graph without such operations in its functions.

    Raises:
        ValueError: If something is resized with another kernel than a triangle.
    """
    rewritten = graph_pb2.GraphDef(versions=graph.versions, library=graph.library)
    for node in graph.node:
        if node.op not in _REPLACED:
            rewritten.node.append(node)
            continue
        if node.op == _SMOOTH_RESIZE:
            _check_kernel(node)
        rewritten.node.extend(_filled(*_pattern(node.op, node.attr["T"].type), node))
    return rewritten


def _check_kernel(node) -> None:
    kernel = node.attr["kernel_type"].s.decode()
    if kernel != "triangle" or not node.attr["antialias"].b:
        raise ValueError(f"Expected antialiased resizing by triangles. Received: {kernel!r}")


@functools.cache
def _pattern(op: str, dtype: int) -> tuple[graph_pb2.GraphDef, list[str], str]:
    """Returns the graph that replaces an operation, the names of its inputs, and its output."""
    function, inputs = _REPLACED[op]
    specs = [
        tf.TensorSpec([None] * shape if isinstance(shape, int) else shape, kind or dtype)
        for kind, shape in inputs
    ]
    traced = tf.function(function, autograph=False).get_concrete_function(*specs)
    names = [tensor.op.name for tensor in traced.inputs]
    return traced.graph.as_graph_def(), names, traced.outputs[0].name


def _filled(pattern, inputs, output, node) -> list[node_def_pb2.NodeDef]:
    """Returns the nodes of a pattern in the place of a node, whose name the last one takes."""
    given = dict(zip(inputs, node.input, strict=False))
    nodes = []
    for part in pattern.node:
        if part.name in given:
            continue
        copy = node_def_pb2.NodeDef()
        copy.CopyFrom(part)
        copy.name = f"{node.name}/{part.name}"
        copy.input[:] = [_renamed(name, given, node.name) for name in part.input]
        nodes.append(copy)
    last = node_def_pb2.NodeDef(name=node.name, op="Identity")
    last.input.append(_renamed(output, given, node.name))
    last.attr["T"].type = tf.float32.as_datatype_enum
    return [*nodes, last]


def _renamed(tensor: str, given: dict[str, str], prefix: str) -> str:
    if tensor.startswith("^"):
        return f"^{prefix}/{tensor[1:]}"
    name, _, _ = tensor.partition(":")
    return given.get(name) or f"{prefix}/{tensor}"
