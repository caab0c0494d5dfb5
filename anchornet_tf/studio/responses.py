"""How strongly the filters of a class fire, and where."""

import json
import os

import numpy as np

from anchornet_tf.features.feature_map import cell_centers
from anchornet_tf.models import presets
from anchornet_tf.studio.packing import pack, quantized, unpack
from anchornet_tf.utils.image_io import ScaledImage

_MOST_FILTERS = 64


class FilterResponses:
    """The banks of a model. The model is loaded when it is first asked for.

    Args:
        model: Folder of an `AnchorNet` or name of a preset; None for the default one.

    Attributes:
        classes: Names of the classes that have banks.

    Raises:
        ValueError: If there is no such model.
    """

    def __init__(self, model: str | os.PathLike | None = None):
        self._name = model or presets.DEFAULT
        config = json.loads((presets.find(self._name) / "config.json").read_text())
        self.classes: tuple[str, ...] = tuple(config["options"]["classes"])
        self._model = self._taps = None

    def taps(self, image: ScaledImage) -> tuple[np.ndarray, ...]:
        """Returns what the banks look at, which is the same for all classes."""
        import tensorflow as tf

        if self._model is None:
            from anchornet_tf.features.networks import load_model

            self._model = load_model(self._name)
            images = tf.TensorSpec((None, None, None, 3), tf.float32)
            self._taps = tf.function(self._model.taps, input_signature=[images])
        size = self._model.image_size
        size = (size, size) if isinstance(size, int) else size
        resized = tf.image.resize(image.pixels[np.newaxis], size, antialias=True)
        return tuple(tap.numpy() for tap in self._taps(resized))

    def of_taps(self, taps: tuple[np.ndarray, ...], class_name: str) -> np.ndarray:
        """Returns the whitened responses of a class, `(rows, columns, filters)`; negative ones 0.

        Args:
            taps: What `taps` returned.
            class_name: One of `classes`.
        """
        bank = self._model.bank(class_name)
        return np.maximum(bank.whiten(bank.linear(taps)).numpy()[0], 0)


def strongest(values: np.ndarray, size: tuple[int, int]) -> list[list]:
    """Returns `[filter, x, y, strength]` of where each filter fires most, the strongest first.

    Args:
        values: float `(rows, columns, filters)`.
        size: `(height, width)` of the image.
    """
    rows, columns, filters = values.shape
    flat = values.reshape(-1, filters)
    best = flat.argmax(axis=0)
    y, x = (
        cell_centers(rows, size[0])[best // columns],
        cell_centers(columns, size[1])[best % columns],
    )
    strengths = flat[best, np.arange(filters)]
    order = np.argsort(-strengths, kind="stable")[:_MOST_FILTERS]
    return [
        [int(k), round(float(x[k]), 2), round(float(y[k]), 2), round(float(strengths[k]), 4)]
        for k in order
    ]


def packed(values: np.ndarray, size: tuple[int, int]) -> bytes:
    """Returns responses as the page takes them."""
    rows, columns, filters = values.shape
    small, scale = quantized(values, np.uint8)
    header = {
        "rows": rows,
        "columns": columns,
        "filters": filters,
        "scale": scale,
        "strongest": strongest(values, size),
    }
    return pack(header, small)


def header_of(content: bytes) -> dict:
    """Returns the header of what `packed` returned."""
    return unpack(content)[0]
