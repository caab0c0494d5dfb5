"""LiteRT on the exported files, against TensorFlow on the SavedModel's functions."""

import functools
import os
import tempfile

import numpy as np
import tensorflow as tf

from benchmarks import models
from benchmarks.pictures import drawn_image
from benchmarks.results import Results
from benchmarks.settings import Settings
from benchmarks.timing import in_turn
from export import litert_files
from export.servable import Servable


@functools.cache
def _exported(num_classes: int, num_filters: int, side: int):
    """Returns runners by precision and function, and the SavedModel's functions by name."""
    # An extra: the other benchmarks run without it.
    from ai_edge_litert.interpreter import Interpreter

    network = models.network(num_classes, num_filters)
    runners = {}
    for precision in ("float32", "int8"):
        with tempfile.TemporaryDirectory(prefix="anchornet-bench-") as folder:
            version = litert_files.save(
                network, folder, precision=precision, size=(side, side), calibration=4
            )
            for path in version.glob("*.tflite"):
                interpreter = Interpreter(
                    model_content=path.read_bytes(), num_threads=os.cpu_count()
                )
                runners[precision, path.stem] = interpreter.get_signature_runner()
    return runners, Servable(network).signatures()


def litert_features(settings: Settings) -> Results:
    """The descriptors of one image."""
    return _compared(settings, "features", ("image",))


def litert_match(settings: Settings) -> Results:
    """The flow between two images."""
    return _compared(settings, "match", ("source", "target"))


def _compared(settings: Settings, signature: str, inputs: tuple[str, ...]) -> Results:
    side = settings.choose(224, 64)
    runners, signatures = _exported(*settings.choose((20, 32), (2, 4)), side)
    images = {
        name: drawn_image(index, (side, side))[np.newaxis] for index, name in enumerate(inputs)
    }
    floats = {name: image.astype(np.float32) for name, image in images.items()}
    tensors = {name: tf.constant(image) for name, image in images.items()}
    works = {
        f"LiteRT {precision}": functools.partial(runners[precision, signature], **floats)
        for precision in ("float32", "int8")
    }
    timed = in_turn(
        {**works, "SavedModel": lambda: signatures[signature](**tensors)}, settings.repeats
    )
    size = f"{signature} of {len(inputs)} x {side}x{side}"
    return Results(tuple(timed.row(work, f"{work}, {size}", per="SavedModel") for work in works))
