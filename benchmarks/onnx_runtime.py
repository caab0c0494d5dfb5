"""ONNX Runtime on the exported files, against TensorFlow on the SavedModel's functions."""

import functools
import tempfile

import numpy as np
import tensorflow as tf

from benchmarks import models
from benchmarks.pictures import drawn_image
from benchmarks.results import Results
from benchmarks.settings import Settings
from benchmarks.timing import in_turn
from export import onnx_files
from export.servable import Servable


@functools.cache
def _exported(num_classes: int, num_filters: int):
    """Returns sessions of ONNX Runtime, and the SavedModel's functions, by name."""
    # An extra: the other benchmarks run without it.
    import onnxruntime

    network = models.network(num_classes, num_filters)
    with tempfile.TemporaryDirectory(prefix="anchornet-bench-") as folder:
        version = onnx_files.save(network, folder, signatures=("features", "match"))
        sessions = {
            path.stem: onnxruntime.InferenceSession(path.read_bytes()) for path in version.iterdir()
        }
    return sessions, Servable(network).signatures()


def onnx_features(settings: Settings) -> Results:
    """The descriptors of one image."""
    return _compared(settings, "features", ("image",))


def onnx_match(settings: Settings) -> Results:
    """The flow between two images."""
    return _compared(settings, "match", ("source", "target"))


def _compared(settings: Settings, signature: str, inputs: tuple[str, ...]) -> Results:
    sessions, signatures = _exported(*settings.choose((20, 32), (2, 4)))
    side = settings.choose(224, 64)
    images = {
        name: np.asarray(drawn_image(index, (side, side)), np.uint8)[np.newaxis]
        for index, name in enumerate(inputs)
    }
    tensors = {name: tf.constant(image) for name, image in images.items()}
    timed = in_turn(
        {
            "ONNX Runtime": lambda: sessions[signature].run(None, images),
            "SavedModel": lambda: signatures[signature](**tensors),
        },
        settings.repeats,
    )
    name = f"ONNX Runtime, {signature} of {len(inputs)} x {side}x{side}"
    return Results((timed.row("ONNX Runtime", name, per="SavedModel"),))
