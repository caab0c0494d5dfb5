"""A trunk of three small convolutions in place of ResNet50, and a folder of small images."""

import keras
import PIL.Image
import pytest

from anchornet_tf.datasets import parts_world
from anchornet_tf.trunks.backbone import TAP_CHANNELS, TAP_LAYERS, TAP_STRIDES
from benchmarks import models, timing
from benchmarks.settings import Settings


def _small_trunk(**_) -> keras.Model:
    inputs = keras.Input((None, None, 3))
    outputs, stride_so_far, last = [], 1, inputs
    for name, channels, stride in zip(TAP_LAYERS, TAP_CHANNELS, TAP_STRIDES, strict=True):
        step = stride // stride_so_far
        last = keras.layers.Conv2D(channels, 1, step, padding="same", name=name)(last)
        outputs.append(last)
        stride_so_far = stride
    return keras.Model(inputs, outputs)


@pytest.fixture(autouse=True)
def small_matmul(monkeypatch):
    """No test reads the unit of time: it need not be large."""
    monkeypatch.setattr(timing, "MATMUL_SIDE", 8)


@pytest.fixture
def small_trunk(monkeypatch):
    """Makes all networks of the benchmarks stand on a trunk that costs nothing."""
    monkeypatch.setattr(keras.applications, "ResNet50", _small_trunk)
    models.backbone.cache_clear()
    models.network.cache_clear()
    yield
    models.backbone.cache_clear()
    models.network.cache_clear()


@pytest.fixture(scope="session")
def image_folder(tmp_path_factory):
    """A folder of 64-pixel images of two classes and of background."""
    folder = tmp_path_factory.mktemp("images")
    for name in ("bird", "cow", "background"):
        (folder / name).mkdir()
        for index in range(4):
            image = PIL.Image.fromarray(parts_world.draw(name, index, size=64).image)
            image.save(folder / name / f"{index}.png")
    return folder


@pytest.fixture
def settings(image_folder, tmp_path, monkeypatch):
    """Two rounds of tiny sizes."""
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path / "cache"))
    return Settings(repeats=2, quick=True, data=f"folder:{image_folder}")
