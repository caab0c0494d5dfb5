"""The exported model on encoded images, against the Keras model on decoded ones."""

import tempfile

import tensorflow as tf

from benchmarks import models
from benchmarks.pictures import drawn_image, jpeg_bytes
from benchmarks.results import Goal, Results
from benchmarks.settings import Settings
from benchmarks.timing import in_turn
from export import archive

_PHOTOGRAPH = (375, 500)  # (height, width), the usual size of PASCAL VOC


def from_bytes(settings: Settings) -> Results:
    """The signature `from_bytes`: JPEGs are decoded and resized inside the graph."""
    network = models.network(*settings.choose((20, 32), (2, 4)))
    count = settings.choose(8, 1)
    encoded = [
        jpeg_bytes(drawn_image(index, settings.choose(_PHOTOGRAPH, (75, 100))))
        for index in range(count)
    ]
    with tempfile.TemporaryDirectory(prefix="anchornet-bench-") as folder:
        loaded = tf.saved_model.load(str(archive.save(network, folder)))
    signature = loaded.signatures["from_bytes"]
    image_bytes = tf.constant(encoded)
    images = models.random_images(count, network.image_size)
    keras_model = models.compiled(network)
    timed = in_turn(
        {
            "from_bytes": lambda: signature(image_bytes=image_bytes),
            "Keras": lambda: keras_model(images),
        },
        settings.repeats,
    )
    height, width = _PHOTOGRAPH
    name = f"SavedModel, from_bytes of {count} JPEGs of {width}x{height}"
    return Results((timed.row("from_bytes", name, per="Keras", goal=Goal(1.15)),))
