"""Fits the hypercolumn's PCA on the images of a data set."""

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
    source = sources.open_source(config.data, "train", seed=config.seed)
    order = np.random.default_rng(config.seed).permutation(len(source))
    numbers = np.sort(order[: config.num_images])
    trunk = registry.find(config.trunk) if backbone is None else backbone.trunk
    _check_samples(config, trunk, len(numbers))
    backbone = backbone or Backbone(config.trunk, config.weights)
    compute = tf.function(backbone, reduce_retracing=True)

    def batches():
        with tqdm(total=len(numbers), desc="Fitting PCA", unit=" images") as bar:
            for start in range(0, len(numbers), config.batch_size):
                chunk = numbers[start : start + config.batch_size]
                images = [
                    augmentation.evaluation_resize(source.read(number), config.image_size)
                    for number in chunk
                ]
                yield chunk, [tap.numpy() for tap in compute(tf.stack(images))]
                bar.update(len(chunk))

    taps = pca.fit(
        batches(), dimensions=config.dimensions, positions=config.positions, seed=config.seed
    )
    record = {
        "data": source.fingerprint(),
        "images": len(numbers),
        "positions": config.positions,
        "image_size": config.image_size,
        "seed": config.seed,
        "variance_kept": {
            name: round(tap.variance_kept, 4)
            for name, tap in zip(trunk.tap_names, taps, strict=True)
        },
        "taps": list(trunk.tap_names),
        "trunk": registry.short_form(trunk),
        "trunk_digest": backbone.digest(),
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
