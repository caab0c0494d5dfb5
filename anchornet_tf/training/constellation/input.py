"""The images that parts are searched in, and those that candidates are told apart from."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.datasets.sources import open_source
from anchornet_tf.datasets.splits import DRAWN_BACKGROUND
from anchornet_tf.training import augmentation
from anchornet_tf.training.config import ALL
from anchornet_tf.training.constellation.config import ConstellationConfig

_MOST_NEGATIVES = 100


@dataclasses.dataclass(frozen=True)
class ClassImages:
    """The images of one class, by their numbers in the source.

    Attributes:
        name: str, the class.
        positives: int `(n,)`, in order.
        negatives: int `(m,)`, images without the class.
    """

    name: str
    positives: np.ndarray
    negatives: np.ndarray


def open_images(config: ConstellationConfig) -> ImageSource:
    """Opens the training images, with something that a single class is told apart from.

    Raises:
        ValueError: As `open_source`.
    """
    options = {
        "classes": None if config.classes == (ALL,) else config.classes,
        "label_map": config.label_map,
        "heldout_fraction": config.heldout_fraction,
        "seed": config.seed,
    }
    source = open_source(config.data, "train", background=config.background, **options)
    alone = len(source.images_per_class()) == 1 and not source.is_background.any()
    if alone and not config.background:
        return open_source(config.data, "train", background=DRAWN_BACKGROUND, **options)
    return source


def class_images(config: ConstellationConfig, source: ImageSource) -> list[ClassImages]:
    """Draws the images of each class.

    Raises:
        ValueError: If a class is unknown or has fewer than two images.
    """
    columns = source.require_classes(config.classes)
    drawn = []
    for name, column in zip(config.classes, columns, strict=True):
        positives = np.flatnonzero(source.labels[:, column])
        if len(positives) < 2:
            raise ValueError(
                f"Expected at least 2 training images of {name!r}, since parts recur. "
                f"Received: {len(positives)} in {source.spec}"
            )
        # A class's draw depends on its name alone: it is the same beside any other classes.
        rng = np.random.default_rng([config.seed, *name.encode()])
        positives = rng.permutation(positives)[: config.images_per_class]
        negatives = rng.permutation(np.flatnonzero(source.is_negative(column)))[:_MOST_NEGATIVES]
        drawn.append(ClassImages(name, np.sort(positives), np.sort(negatives)))
    return drawn


def batches(
    source: ImageSource, numbers: Sequence[int], image_size: int, batch_size: int
) -> Iterator[tuple[np.ndarray, tf.Tensor]]:
    """Yields numbers of images with the images, `(n, image_size, image_size, 3)` float32."""
    for start in range(0, len(numbers), batch_size):
        chunk = np.asarray(numbers[start : start + batch_size])
        images = [augmentation.evaluation_resize(source.read(each), image_size) for each in chunk]
        yield chunk, tf.stack(images)
