"""A small model, exported once for all tests of this folder."""

import io
import json
import pathlib

import keras
import numpy as np
import PIL.Image
import pytest

from anchornet_tf.datasets import parts_world
from anchornet_tf.models.anchornet import AnchorNet
from export import archive
from tests.export import small_model

CLASSES = ("bird", "cow", "car")
WEIGHTS = {"weight_div_a": 7.0, "weight_div_encoder": 5.0}


@pytest.fixture(scope="session")
def model():
    """A model with a seeded random trunk; no statistic has its initial value."""
    keras.utils.set_random_seed(1)
    model = AnchorNet(
        CLASSES,
        4,
        latent_filters=8,
        gamma="whitened",
        dimensions=8,
        image_size=(64, 96),
        weights=None,
    )
    small_model.give_statistics(model)
    return model


@pytest.fixture(scope="session")
def preset():
    """The shipped model, loaded once; for slow tests."""
    return AnchorNet.from_preset("voc20")


@pytest.fixture(scope="session")
def model_folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder") / "model"
    model.save_to_preset(folder, record=WEIGHTS)
    return folder


@pytest.fixture(scope="session")
def exported(model, model_folder, tmp_path_factory) -> pathlib.Path:
    """The folder of the first version."""
    record = json.loads((model_folder / "config.json").read_text())["record"]
    return archive.save(model, tmp_path_factory.mktemp("base"), matcher="nearest", record=record)


@pytest.fixture(scope="session")
def loaded(exported):
    import tensorflow as tf

    return tf.saved_model.load(str(exported))


def _bird(seed, size):
    image = PIL.Image.fromarray(parts_world.draw("bird", seed).image)
    return np.asarray(image.resize(size[::-1], PIL.Image.Resampling.BILINEAR))


@pytest.fixture(scope="session")
def image_a():
    """uint8 `(71, 90, 3)`."""
    return _bird(3, (71, 90))


@pytest.fixture(scope="session")
def image_b():
    """uint8 `(120, 83, 3)`."""
    return _bird(8, (120, 83))


@pytest.fixture(scope="session")
def encode():
    """Returns a function from an image, or a PIL image, to the bytes of a file."""

    def to_bytes(image, form, **options):
        image = image if isinstance(image, PIL.Image.Image) else PIL.Image.fromarray(image)
        buffer = io.BytesIO()
        image.save(buffer, form, **options)
        return buffer.getvalue()

    return to_bytes
