"""The plainest test of a descriptor: keypoints go to their nearest neighbours."""

import dataclasses
import itertools

import numpy as np
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.metrics.pck import pck


@dataclasses.dataclass(frozen=True)
class AnnotatedImage:
    """An image with keypoints.

    Attributes:
        image: `(height, width, 3)` uint8.
        points: `(n, 2)` (x, y), 0-based pixels; row k is the same place in every image of a set.
        visible: `(n,)` bool.
        length: float that errors in this image are divided by.
    """

    image: np.ndarray
    points: np.ndarray
    visible: np.ndarray
    length: float


def nearest_keypoint_pck(
    images: list[AnnotatedImage], maps: list[FeatureMap], thresholds=(0.05, 0.1), cells: int = 112
) -> np.ndarray:
    """Returns the PCK of every ordered pair of a set's images.

    Each keypoint of the source that is visible in both images goes to the cell of the target whose
    descriptor is most similar (cosine), on a grid of `cells` x `cells`.

    Args:
        images: with keypoints.
        maps: one feature map per image.
        thresholds: of the error, relative to the target's length.
        cells: int. Side of the grid that maps are upsampled to.

    Returns:
        `(pairs, thresholds)`, the pairs that share a visible keypoint.
    """
    resized = [tf.image.resize(features.values, (cells, cells)) for features in maps]
    # (cells * cells, depth) unit vectors
    descriptors = [
        tf.reshape(tf.math.l2_normalize(values, -1), (cells**2, -1)).numpy() for values in resized
    ]
    scores = []
    for a, b in itertools.permutations(range(len(images)), 2):
        source, target = images[a], images[b]
        shared = source.visible & target.visible
        if not shared.any():
            continue
        # Points are (x, y), sizes (height, width); both grids have half-pixel centres.
        place = (source.points[shared] + 0.5) * cells / source.image.shape[1::-1] - 0.5
        column, row = np.rint(place).astype(int).clip(0, cells - 1).T
        nearest = (descriptors[a][row * cells + column] @ descriptors[b].T).argmax(axis=1)
        found = (np.stack([nearest % cells, nearest // cells], axis=1) + 0.5) / cells
        found = found * target.image.shape[1::-1] - 0.5
        scores.append(pck(found, target.points[shared], target.length, thresholds))
    return np.stack(scores)
