"""Warm-up requests, one per signature, which a server runs before it answers clients."""

import io
import os
import pathlib

import numpy as np
import PIL.Image

# Where TensorFlow Serving looks, inside the folder of a version.
PATH = pathlib.Path("assets.extra") / "tf_serving_warmup_requests"

_POINTS = ((60.0, 80.0), (112.0, 112.0), (150.5, 90.25))


def example_inputs(class_name: str) -> dict[str, dict[str, np.ndarray]]:
    """Returns example inputs of each signature: two drawn birds, 224 x 224 pixels, with points.

    Args:
        class_name: A class of the model, for `class_responses`.

    Returns:
        Arrays by the names of signatures and inputs.
    """
    from anchornet_tf.datasets import parts_world

    source, target = (parts_world.draw("bird", index).image[None] for index in (3, 8))
    pair = {"source": source, "target": target}
    return {
        "serving_default": {"image": source.astype(np.float32)},
        "features": {"image": source},
        "class_responses": {"image": source, "class_name": np.array([class_name.encode()])},
        "from_bytes": {"image_bytes": np.array([_jpeg(source[0])], object)},
        "match": pair,
        "match_points": pair | {"points": np.array([_POINTS], np.float32)},
    }


def predict_request(model_name: str, signature: str, inputs: dict[str, np.ndarray]):
    """Returns a `PredictRequest` of TensorFlow Serving.

    Args:
        model_name: Name of the model on the server.
        signature: Name of the signature.
        inputs: Arrays by the names of inputs.

    Raises:
        ImportError: If the protos of TensorFlow Serving are not installed.
    """
    try:
        from tensorflow_serving.apis import predict_pb2
    except ImportError as error:
        raise ImportError(
            "Expected the protos of TensorFlow Serving: pip install 'anchornet_tf[serving]'. "
            f"Received: {error}"
        ) from error
    import tensorflow as tf

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model_name
    request.model_spec.signature_name = signature
    for name, array in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
    return request


def write(
    folder: str | os.PathLike, model_name: str, inputs: dict[str, dict[str, np.ndarray]]
) -> pathlib.Path:
    """Writes requests into the folder of a version.

    Args:
        folder: Folder of the version.
        model_name: Name of the model on the server.
        inputs: Arrays by the names of signatures and inputs, as from `example_inputs`.

    Returns:
        The path of the file with the requests.
    """
    requests = [predict_request(model_name, signature, each) for signature, each in inputs.items()]
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    path = pathlib.Path(folder) / PATH
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for request in requests:
            log = prediction_log_pb2.PredictionLog()
            log.predict_log.request.CopyFrom(request)
            writer.write(log.SerializeToString())
    return path


def _jpeg(image: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(image).save(buffer, "JPEG", quality=92)
    return buffer.getvalue()
