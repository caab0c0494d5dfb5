"""Fits the hypercolumn's PCA on the images of a data set."""

import functools

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from anchornet_tf.datasets import sources
from anchornet_tf.training import augmentation
from anchornet_tf.training.pca_config import PCAConfig
from anchornet_tf.training.tap_cache import tap_shapes
from anchornet_tf.trunks import pca, registry
from anchornet_tf.trunks.backbone import Backbone
from anchornet_tf.trunks.description import TrunkDescription


def fit_pca(config: PCAConfig, backbone: Backbone | None = None) -> pca.HypercolumnPCA:
    """Runs the trunk over some images and fits the projections of its taps.

    Args:
        config: which images, and how much of them.
        backbone: the trunk; None for the one that `config` names.

    Returns:
        The projections, with a record of how they were fitted.

    Raises:
        ValueError: where the data does not fit, or has too few images for the trunk's channels.
    """
    images = TapsOfImages(config, backbone)

    def batches():
        with tqdm(total=len(images.numbers), desc="Fitting PCA", unit=" images") as bar:
            for chunk in images.chunks():
                yield chunk, images.taps(chunk)
                bar.update(len(chunk))

    taps = pca.fit(
        batches(), dimensions=config.dimensions, positions=config.positions, seed=config.seed
    )
    return images.projections(taps)


class TapsOfImages:
    """The images that a PCA is fitted on, and the taps of the trunk on them.

    Args:
        config: which images, and how much of them.
        backbone: the trunk; None for the one that `config` names.

    Attributes:
        numbers: the images, by their numbers in the set.

    Raises:
        ValueError: as in `fit_pca`.
    """

    def __init__(self, config: PCAConfig, backbone: Backbone | None = None):
        self._config = config
        self._given = backbone
        self._trunk = registry.find(config.trunk) if backbone is None else backbone.trunk
        self._source = sources.open_source(config.data, "train", seed=config.seed)
        order = np.random.default_rng(config.seed).permutation(len(self._source))
        self.numbers = np.sort(order[: config.num_images])
        _check_samples(config, self._trunk, len(self.numbers))

    def chunks(self) -> list[np.ndarray]:
        """Returns the numbers of the images that go through the trunk together."""
        size = self._config.batch_size
        return [self.numbers[start : start + size] for start in range(0, len(self.numbers), size)]

    def taps(self, chunk: np.ndarray) -> list[np.ndarray]:
        """Returns the taps of some images, finest first."""
        images = [
            augmentation.evaluation_resize(self._source.read(number), self._config.image_size)
            for number in chunk
        ]
        return [tap.numpy() for tap in self._compute(tf.stack(images))]

    @functools.cached_property
    def _backbone(self) -> Backbone:
        return self._given or Backbone(self._config.trunk, self._config.weights)

    @functools.cached_property
    def _compute(self):
        return tf.function(self._backbone, reduce_retracing=True)

    def projections(self, taps: tuple[pca.TapPCA, ...]) -> pca.HypercolumnPCA:
        """Returns the components of the taps with a record of how they were fitted."""
        config = self._config
        kept = {
            name: round(tap.variance_kept, 4)
            for name, tap in zip(self._trunk.tap_names, taps, strict=True)
        }
        record = {
            "data": self._source.fingerprint(),
            "images": len(self.numbers),
            "positions": config.positions,
            "image_size": config.image_size,
            "seed": config.seed,
            "variance_kept": kept,
            "taps": list(self._trunk.tap_names),
            "trunk": registry.short_form(self._trunk),
            "trunk_digest": self._backbone.digest(),
        }
        return pca.HypercolumnPCA(taps, record)


def _check_samples(config: PCAConfig, trunk: TrunkDescription, num_images: int) -> None:
    """Raises before the trunk runs over all images where they cannot be enough."""
    shapes = tap_shapes(config.image_size, trunk=trunk)
    for tap, (height, width, _) in zip(trunk.taps, shapes, strict=True):
        name, channels = tap.name, tap.channels
        samples = num_images * min(config.positions, height * width)
        if samples <= channels:
            raise ValueError(
                f"Expected more than {channels} samples for the {channels} channels of {name}; "
                "give more images, or take more positions of each. "
                f"Received: {samples} samples of {num_images} images"
            )
