"""Descriptors that a network computes: anchor responses, hypercolumns and the trunk's own activations."""

import functools
import os
import pathlib

import numpy as np
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.layers import hypercolumn
from anchornet_tf.layers.anchor_bank import AnchorBank
from anchornet_tf.losses.diversity import gaussian_smoothing
from anchornet_tf.models import presets
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.models.tap_extractor import TapExtractor

# The hypercolumn's parts are offered alone too, as the paper's baselines.
_TAP_OF = {"res2c": 0, "res4c": 1, "res5c": 2}
AGNOSTIC_NAME = "anchornet"
CLASS_NAME = "anchornet-class"
NAMES = (AGNOSTIC_NAME, CLASS_NAME, "hc", *_TAP_OF)


@functools.cache
def _default_extractor() -> TapExtractor:
    """One trunk for all descriptors of a process: it holds 100 MB."""
    return TapExtractor()


@functools.cache
def _preset(name: str) -> AnchorNet:
    """Presets stay as they are: one copy for all descriptors of a process, with the trunk that all share."""
    return presets.load(name, weights=_default_extractor().backbone)


def _loaded(model: str | os.PathLike) -> AnchorNet:
    if str(model) in presets.preset_names() and presets.find(model) != pathlib.Path(model):
        return _preset(str(model))
    return presets.load(model)


class DeepDescriptor:
    """Descriptors of a network on a regular grid of each image.

    Args:
        name: `"anchornet"` (class-agnostic anchors of a whole model, 256-D), `"anchornet-class"` (the responses of one
            class's bank), `"hc"` (residual hypercolumn, 768-D), or one tap of it after PCA (`"res2c"`, `"res4c"`,
            `"res5c"`).
        image_size: int or (height, width) that images are resized to (paper: 224), or None to keep each
            image's own size.
        bank: for `"anchornet-class"`: the file of a bank that `trainers.stage1` wrote, a `BankFile` or an `AnchorBank`.
        extractor: `TapExtractor` to use, or None for the ImageNet trunk with the PCA that comes with the package. A
            model has its own.
        batch_size: int. Images a pass of the network.
        model: for `"anchornet"`, and for `"anchornet-class"` in place of a bank: an `AnchorNet`, the folder of one or
            the name of a preset; None for the preset `"voc20"`.
        class_name: which bank of the model to take, for `"anchornet-class"`.
        blur: float. Standard deviation in cells of a Gaussian that smooths the descriptors; 0 (the paper's) for none.
            A cell steadies nearest neighbours, most of all those of the hypercolumn.

    Example:
        first, second = DeepDescriptor("hc")([image_a, image_b])
        first, second = DeepDescriptor("anchornet", model="FOLDER")([image_a, image_b])
    """

    def __init__(
        self,
        name: str = "hc",
        image_size: int | tuple[int, int] | None = 224,
        bank: str | os.PathLike | BankFile | AnchorBank | None = None,
        extractor: TapExtractor | None = None,
        batch_size: int = 8,
        model: str | os.PathLike | AnchorNet | None = None,
        class_name: str | None = None,
        blur: float = 0.0,
    ):
        if name not in NAMES:
            raise ValueError(f"Expected one of {', '.join(NAMES)}. Received: {name!r}")
        if batch_size < 1:
            raise ValueError(f"`batch_size` must be a positive integer. Received: {batch_size}")
        if not blur >= 0:
            raise ValueError(f"`blur` must not be negative. Received: blur={blur}")
        if model is None and (name == AGNOSTIC_NAME or (class_name and bank is None)):
            model = presets.DEFAULT
        _check_network(name, bank, extractor, model, class_name)
        self.name = name
        self.image_size = (image_size, image_size) if isinstance(image_size, int) else image_size
        self.batch_size = batch_size
        self.blur = float(blur)
        self._class_name = class_name
        self._model = _loaded(model) if isinstance(model, str | os.PathLike) else model
        if self._model is None:
            self._extractor = extractor or _default_extractor()
            self._bank = _as_bank(bank, self._extractor)
        elif class_name is not None:
            self._model.bank(class_name)  # An unknown class is found now, not at the first image.
        signature = [tf.TensorSpec((None, None, None, 3), tf.float32)]
        self._compute = tf.function(self._features, input_signature=signature)

    def _features(self, images):
        return gaussian_smoothing(self._described(images), self.blur)

    def _described(self, images):
        if self._model is not None:
            if self._class_name is None:
                return self._model.features(images)
            return self._model.class_responses(images, self._class_name)
        taps = self._extractor.taps(images)
        if self._bank is not None:
            return self._bank(taps)
        return hypercolumn.stack(taps) if self.name == "hc" else taps[_TAP_OF[self.name]]

    def __call__(self, images: list[np.ndarray]) -> list[FeatureMap]:
        """Returns the feature map of each `(height, width, 3)` image with values from 0 to 255."""
        maps: list[FeatureMap] = []
        for start in range(0, len(images), self.batch_size):
            chunk = images[start : start + self.batch_size]
            inputs = [self._resized(image) for image in chunk]
            # Images that keep their own size can only share a pass when their sizes agree.
            together = len({tuple(image.shape) for image in inputs}) == 1
            groups = [tf.stack(inputs)] if together else [image[None] for image in inputs]
            values = [row for group in groups for row in self._compute(group).numpy()]
            for image, value in zip(chunk, values, strict=True):
                maps.append(FeatureMap(value, tuple(np.shape(image)[:2])))
        return maps

    def _resized(self, image: np.ndarray) -> tf.Tensor:
        image = tf.convert_to_tensor(image)
        if image.shape.rank != 3 or image.shape[-1] != 3:
            raise ValueError(
                f"Expected RGB images of shape (height, width, 3). Received: shape={tuple(image.shape)}"
            )
        image = tf.cast(image, tf.float32)
        if not bool(tf.reduce_all(tf.math.is_finite(image))):
            raise ValueError(
                "Expected finite pixel values. Received: an image with NaN or infinity"
            )
        if self.image_size is None:
            return image
        # Without the antialias filter a large photograph turns into noise for the trunk.
        return tf.image.resize(image, self.image_size, antialias=True)


def _check_network(name, bank, extractor, model, class_name) -> None:
    """Raises where the parts of a network that were given are not those that the descriptor needs."""
    if name == AGNOSTIC_NAME:
        expected, fits = "a model and no bank", model is not None and bank is class_name is None
    elif name == CLASS_NAME:
        expected = "a bank, or a model with a class_name,"
        fits = (bank is None) == (model is not None) == (class_name is not None)
    else:
        expected, fits = "no bank and no model", bank is model is class_name is None
    if not fits:
        raise ValueError(
            f"Expected {expected} for the descriptor {name!r}. "
            f"Received: bank={bank!r}, model={model!r}, class_name={class_name!r}"
        )
    if model is not None and extractor is not None:
        raise ValueError(
            f"Expected no extractor beside a model, which has its own. Received: extractor={extractor!r}"
        )


def _as_bank(bank, extractor: TapExtractor):
    if bank is None or isinstance(bank, AnchorBank):
        return bank
    file = bank if isinstance(bank, BankFile) else BankFile.load(bank)
    if file.pca_digest != extractor.pca_digest:
        raise ValueError(
            f"Expected a bank trained on the extractor's PCA {extractor.pca_digest}; give the run's pca.npz to "
            f"`TapExtractor`. Received: a bank of PCA {file.pca_digest}"
        )
    return file.descriptor()
