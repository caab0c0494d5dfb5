"""Descriptors of boxes, cut out of feature maps."""

import dataclasses

import numpy as np
import scipy.sparse

from anchornet_tf.features.boxes import check_boxes
from anchornet_tf.features.feature_map import FeatureMap

BOX_CELLS = 8  # Cells along each side of a box, as many as its HOG has.
_ROUNDING_ERRORS = 1e-5  # Relative to the mean descriptor.


@dataclasses.dataclass(frozen=True, eq=False)
class BoxDescriptors:
    """Descriptors of the boxes of one image.

    Attributes:
        values: float32 array `(n, length)`.
        comparable: bool. Whether the dot products of `values` are similarities as they stand, as
            those of whitened HOG are. Others are scaled for each pair of images, see
            `normalize_descriptors`.
    """

    values: np.ndarray
    comparable: bool


def describe_boxes(
    features: FeatureMap, boxes: np.ndarray, num_cells: int = BOX_CELLS
) -> BoxDescriptors:
    """Describes the boxes of one image.

    A feature map that has a method `describe_boxes(boxes)` of its own, as that of whitened HOG has,
    is asked for descriptors. Of any other map, the part under each box is resampled to `num_cells`
    x `num_cells` and turned into a vector.

    Args:
        features: FeatureMap of the image.
        boxes: `(n, 4)` boxes as in `anchornet_tf.features.boxes`.
        num_cells: int. Samples along each side of a box.

    Raises:
        ValueError: If boxes are malformed or `num_cells` is not positive.
    """
    if hasattr(features, "describe_boxes"):
        return BoxDescriptors(features.describe_boxes(boxes), comparable=True)
    crops = crop_boxes(features, boxes, num_cells)
    length = num_cells * num_cells * features.depth
    return BoxDescriptors(crops.reshape(-1, length), comparable=False)


def crop_boxes(
    feature_map: FeatureMap, boxes: np.ndarray, num_cells: int = BOX_CELLS
) -> np.ndarray:
    """Resamples the part of a feature map under each box to a small square grid, bilinearly.

    Args:
        feature_map: FeatureMap of an image.
        boxes: `(n, 4)` boxes of that image, as in `anchornet_tf.features.boxes`. Samples off the
            image take the features at its border.
        num_cells: int. Samples along each side, at the centres of as many equal parts of the box.

    Returns:
        float32 array `(n, num_cells, num_cells, depth)`.

    Raises:
        ValueError: If boxes are malformed or `num_cells` is not positive.
    """
    boxes = check_boxes(boxes)
    if num_cells < 1:
        raise ValueError(f"`num_cells` must be a positive integer. Received: num_cells={num_cells}")
    height, width, depth = feature_map.values.shape
    image_height, image_width = feature_map.image_size
    columns, column_shares = _samples(boxes[:, 0], boxes[:, 2], num_cells, width, image_width)
    rows, row_shares = _samples(boxes[:, 1], boxes[:, 3], num_cells, height, image_height)
    # Each sample mixes four cells; all samples of all boxes are one sparse matrix product.
    cells = rows[:, :, None, :, None] * width + columns[:, None, :, None, :]
    shares = row_shares[:, :, None, :, None] * column_shares[:, None, :, None, :]
    num_samples = len(boxes) * num_cells**2
    mixture = scipy.sparse.csr_array(
        (shares.astype(np.float32).ravel(), cells.ravel(), 4 * np.arange(num_samples + 1)),
        shape=(num_samples, height * width),
    )
    crops = mixture @ feature_map.values.reshape(height * width, depth)
    return crops.reshape(len(boxes), num_cells, num_cells, depth)


def _samples(first, last, num_samples, num_cells, num_pixels):
    """Finds the cells left and right of evenly spread samples of boxes along one axis.

    Args:
        first: `(n,)` first pixel of each box.
        last: `(n,)` last pixel of each box.
        num_samples: int. Samples of each box.
        num_cells: int. Cells of the feature map along the axis.
        num_pixels: int. Pixels of the image along the axis.

    Returns:
        Cells and their linear shares, `(n, num_samples, 2)` each.
    """
    length = (last - first + 1)[:, np.newaxis]
    # The first pixel of a box begins half a pixel before its centre.
    pixels = first[:, np.newaxis] - 0.5 + (np.arange(num_samples) + 0.5) * length / num_samples
    position = np.clip((pixels + 0.5) * num_cells / num_pixels - 0.5, 0, num_cells - 1)
    left = np.minimum(position.astype(np.int64), max(num_cells - 2, 0))
    share = position - left
    cells = np.stack([left, np.minimum(left + 1, num_cells - 1)], axis=-1)
    return cells, np.stack([1 - share, share], axis=-1)


def normalize_descriptors(
    source: np.ndarray, target: np.ndarray, centered: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Scales the descriptors of a pair of images to length one.

    Args:
        source: float array `(n_source, length)`.
        target: float array `(n_target, length)`.
        centered: bool. Whether the mean over the boxes of both images is removed first. Features
            that are never negative make all boxes similar otherwise, and a few of them the best
            match of most others.

    Returns:
        float32 arrays of the same shapes; descriptors that are zero, or equal to the mean, become
        zero.
    """
    source, target = np.asarray(source, np.float32), np.asarray(target, np.float32)
    count = len(source) + len(target)
    smallest = 0.0
    if centered and count:
        mean = (source.sum(axis=0, dtype=np.float64) + target.sum(axis=0, dtype=np.float64)) / count
        # What is left of a descriptor that equals the mean is rounding errors.
        smallest = _ROUNDING_ERRORS * np.linalg.norm(mean)
        mean = mean.astype(np.float32)
        source, target = source - mean, target - mean
    return _unit(source, smallest), _unit(target, smallest)


def _unit(vectors, smallest):
    norms = np.sqrt(np.einsum("nl,nl->n", vectors, vectors))
    scales = np.divide(1, norms, out=np.zeros_like(norms), where=norms > smallest)
    return vectors * scales[:, np.newaxis]
