"""What stage 2 measures on training images as they are: the encoder's start, covariances."""

from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training import image_batches
from anchornet_tf.training.cached_views import CachedViews
from anchornet_tf.training.stage2 import input as stage2_input
from anchornet_tf.training.stage2.config import Stage2Config

_STRIDE = 3


class CalibrationImages:
    """Training images of all classes, without augmentation.

    Args:
        config: of the run.
        source: the training images.
        columns: of its labels, for each class of the model.
        extractor: makes the taps.
        cached: taps that were computed before, or None to compute all.
    """

    def __init__(
        self,
        config: Stage2Config,
        source: ImageSource,
        columns: list[int],
        extractor: TapExtractor,
        cached: CachedViews | None,
    ):
        self._config = config
        self._source = source
        self._columns = columns
        self._extractor = extractor
        self._cached = cached

    def responses(
        self, model: AnchorNet, count: int, purpose: str
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields linear responses at some cells of `count` images, with the class of each image."""
        plan = stage2_input.calibration_plan(self._config, self._source, self._columns, count)
        batches = self._taps(plan)
        bar = tqdm(batches, total=len(plan.image_index), desc=purpose, unit=" batches", leave=False)
        for taps, class_index in zip(bar, plan.class_index, strict=True):
            linear = model.linear_responses([tf.cast(tap, tf.float32) for tap in taps])
            yield linear[:, ::_STRIDE, ::_STRIDE].numpy(), class_index

    def _taps(self, plan) -> tf.data.Dataset:
        if self._cached is not None:
            self._cached.fill(self._extractor, plan)
            return self._cached.batches(plan)
        images = image_batches.planned_images(
            self._source, plan, self._config.image_size, augment=False, fixed_views=True
        )
        return images.map(lambda batch: self._extractor.taps(batch["image"]))


def start_encoder(
    model: AnchorNet, responses: Iterable[tuple[np.ndarray, np.ndarray]], encoder_start: str
) -> None:
    """Sets the running mean and, unless it starts at random, the encoder.

    Args:
        model: the network.
        responses: of `CalibrationImages`.
        encoder_start: `"principal"` or `"random"`.
    """
    kernel = model.autoencoder.kernel.numpy()
    fitted = model.fit_encoder(model.gamma_maps(linear).numpy() for linear, _ in responses)
    if encoder_start == "random":
        model.autoencoder.kernel.assign(kernel)
    else:
        print(
            f"The encoder starts at the {model.latent_filters} strongest principal directions of "
            f"the maps, which hold {fitted.variance_kept:.1%} of their variance."
        )
