"""The two ONNX files behind a page: the first describes images, the second matches them."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from anchornet_tf.matchers.confidence import confidence_of
from anchornet_tf.models.anchornet import AnchorNet
from export import archive, onnx_files
from export.portable import Portable

PRECISIONS = ("float16", "float32")
# Below this many numbers a weight is left as it is: there is nothing to gain.
_LEAST_HALVED = 1024


class Converted(NamedTuple):
    """What a page needs of a model.

    Attributes:
        files: The contents of `describe.onnx` and `match_features.onnx`. See the functions of these
            names in `export.portable`; both take one image, or one pair, at a time.
        has_probabilities: Whether the confidences are probabilities.
    """

    files: dict[str, bytes]
    has_probabilities: bool


def convert(
    model: AnchorNet, *, matcher: str = "hough", precision: str = "float16", name: str = ""
) -> Converted:
    """Converts a model.

    Args:
        model: `AnchorNet`.
        matcher: `"nearest"` or `"hough"`.
        precision: How weights are stored, of `PRECISIONS`; they are computed with in float32.
        name: What the model is called in the files.

    Raises:
        ImportError: If a package of the extra `onnx` is missing.
        ValueError: If the matcher or the precision is unknown.
    """
    archive.check_names([precision], PRECISIONS, "a precision")
    portable = Portable(model, matcher, precision=tf.float32)
    properties = onnx_files.properties_of(model, matcher, name)
    image = {"image": tf.TensorSpec((1, None, None, 3), tf.uint8)}
    describe = onnx_files.convert(portable, "describe", image, properties)
    *grid, depth = (
        side.dim_value for side in describe.graph.output[0].type.tensor_type.shape.dim[1:]
    )
    features = tf.TensorSpec((1, *(side or None for side in grid), depth), tf.float32)
    size = tf.TensorSpec((2,), tf.int32)
    pair = {
        "source_features": features,
        "target_features": features,
        "source_size": size,
        "target_size": size,
    }
    match = onnx_files.convert(portable, "match_features", pair, properties)
    if precision == "float16":
        halve_weights(describe)
    contents = {
        "describe.onnx": describe.SerializeToString(),
        "match_features.onnx": match.SerializeToString(),
    }
    confidence = confidence_of(model, "auto")
    return Converted(contents, confidence is not None and confidence.is_for(matcher, depth))


def halve_weights(proto) -> None:
    """Stores the weights of an ONNX model in 16 bits; they become 32 when the model is loaded.

    Runtimes do that once, where they fold constants, so that nothing is slower afterwards.

    Args:
        proto: The message of onnx, which is changed.
    """
    onnx, _ = onnx_files.libraries()
    floats = onnx.TensorProto.FLOAT
    casts = []
    for weight in proto.graph.initializer:
        if weight.data_type != floats or np.prod(weight.dims) < _LEAST_HALVED:
            continue
        values = onnx.numpy_helper.to_array(weight)
        name = weight.name
        largest = np.finfo(np.float16).max
        halved = np.clip(values, -largest, largest).astype(np.float16)
        weight.CopyFrom(onnx.numpy_helper.from_array(halved, f"{name}:half"))
        casts.append(onnx.helper.make_node("Cast", [f"{name}:half"], [name], to=floats))
    rest = list(proto.graph.node)
    del proto.graph.node[:]
    # Nodes are listed in the order in which they can run.
    proto.graph.node.extend([*casts, *rest])
    onnx.checker.check_model(proto)
