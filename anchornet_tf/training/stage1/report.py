"""What a trained bank does on held-out images: measures, and a picture of its filters."""

import dataclasses
import pathlib

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.layers.anchor_bank import AnchorBank
from anchornet_tf.losses.diversity import filter_diversity_loss, response_diversity_loss
from anchornet_tf.metrics.average_precision import average_precision
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training import augmentation, filter_picture

_BATCH = 16
# Held-out images that are measured: of each class, and of background.
MOST_POSITIVES, MOST_BACKGROUND = 40, 100


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Held-out images and their taps.

    Attributes:
        images: `(n, size, size, 3)` uint8.
        labels: `(n, classes)` bool.
        negatives: `(n, classes)` bool: which images a class is told apart from.
        taps: the projected taps, `(n, h, w, dimensions)` each.
    """

    images: np.ndarray
    labels: np.ndarray
    negatives: np.ndarray
    taps: tuple[np.ndarray, ...]


def held_out_taps(
    source: ImageSource,
    columns,
    extractor: TapExtractor,
    image_size: int,
    positives: int = MOST_POSITIVES,
    background: int = MOST_BACKGROUND,
) -> HeldOut:
    """Computes the taps of some held-out images of each class and of background."""
    wanted = [np.flatnonzero(source.labels[:, column])[:positives] for column in columns]
    wanted.append(np.flatnonzero(source.is_background)[:background])
    if not len(wanted[-1]):
        # The other classes that are trained are among the images already; these are the rest.
        rest = np.flatnonzero(~source.labels[:, list(columns)].any(axis=1))
        wanted.append(rest[:background])
    chosen = np.unique(np.concatenate(wanted))
    images = [augmentation.evaluation_resize(source.read(index), image_size) for index in chosen]
    images = np.stack(images).round().clip(0, 255).astype(np.uint8)
    starts = tqdm(
        range(0, len(images), _BATCH), desc="Held-out images", unit=" batches", leave=False
    )
    pieces = [extractor(images[start : start + _BATCH]) for start in starts]
    negatives = [source.is_negative(column)[chosen] for column in range(len(source.class_names))]
    return HeldOut(
        images,
        source.labels[chosen],
        np.stack(negatives, axis=1),
        tuple(np.concatenate(tap) for tap in zip(*pieces, strict=True)),
    )


def response_maps(bank: AnchorBank, taps) -> np.ndarray:
    """Returns the softplus maps of many images, `(n, height, width, filters)`."""
    maps = [
        tf.nn.softplus(bank.linear([tap[start : start + _BATCH] for tap in taps])).numpy()
        for start in range(0, len(taps[0]), _BATCH)
    ]
    return np.concatenate(maps)


def response_mosaic(bank: AnchorBank, taps) -> np.ndarray:
    """Draws the maps of a bank's first filters on one image, side by side, for TensorBoard.

    Args:
        bank: of the class.
        taps: of one image, `(1, h, w, dimensions)` each.
    """
    return filter_picture.mosaic(response_maps(bank, taps)[0])


def summarise(bank: AnchorBank, held_out: HeldOut, column: int, sigma: float) -> dict:
    """Measures a bank on held-out images.

    Returns:
        `filter_cosine` (L_DivA, 0 for orthogonal filters), `map_overlap` (L_DivB on images of the
        class), `average_precision` of "the mean of the maps' maxima says that the class is there"
        against background or, where there is none, the other classes, and the number of images
        behind it.
    """
    is_positive = held_out.labels[:, column]
    used = is_positive | held_out.negatives[:, column]
    maps = response_maps(bank, [tap[used] for tap in held_out.taps])
    is_positive = is_positive[used]
    scores = maps.max(axis=(1, 2)).mean(axis=-1)
    return {
        "filter_cosine": float(filter_diversity_loss(bank.kernel)),
        "map_overlap": float(response_diversity_loss(maps[is_positive], sigma)),
        "average_precision": average_precision(scores, is_positive),
        "positives": int(is_positive.sum()),
        "background": int((~is_positive).sum()),
    }


def draw_filters(
    bank: AnchorBank,
    held_out: HeldOut,
    column: int,
    title: str,
    path: pathlib.Path,
    filters: int = 8,
    images: int = 6,
) -> pathlib.Path:
    """Draws the strongest responses of filters on held-out images of the class (paper figure 2).

    One row per filter, its best images in the columns. The ring marks the maximum, the colour is
    the response.
    """
    rows = np.flatnonzero(held_out.labels[:, column])
    maps = response_maps(bank, [tap[rows] for tap in held_out.taps])
    highest = maps.max(axis=(1, 2))  # (images, filters)
    # A filter that anchors stands out: its maximum is far above what the map is elsewhere.
    contrast = (highest - maps.mean(axis=(1, 2))).mean(axis=0)
    best_filters = np.argsort(-contrast)[:filters]
    lines = [
        (
            f"filter {index}",
            [
                (held_out.images[rows[image]], maps[image, :, :, index])
                for image in np.argsort(-highest[:, index])[:images]
            ],
        )
        for index in best_filters
    ]
    return filter_picture.draw(lines, title, path)
