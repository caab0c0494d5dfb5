"""What HOG looks like in natural images at large, and descriptors whitened by it.

Gradients of neighbouring cells are strongly correlated everywhere, which makes unrelated boxes look
alike. Whitening takes out the mean and the correlations of a background, after which a dot product
of two descriptors is the score of linear discriminant analysis.

Reference:
    Hariharan, Malik, Ramanan: Discriminative Decorrelation for Clustering and Classification,
    ECCV 2012.
"""

import dataclasses
import functools
import os
import pathlib
from collections.abc import Iterable, Iterator

import numpy as np
import scipy.linalg

from anchornet_tf.features.feature_map import resize_bilinear
from anchornet_tf.features.hog import CELL_SIZE, NUM_CHANNELS, TEMPLATE_CELLS, hog
from anchornet_tf.utils.array_archive import reading
from anchornet_tf.utils.files import atomic_file

SHIPPED_PATH = pathlib.Path(__file__).with_name("hog_background.npz")
_REGULARIZER = 0.01  # added to the diagonal until it is positive definite...
_REGULARIZER_STEPS = 10  # ... so many times at most
_LEVELS_PER_OCTAVE = 10
_SMALLEST_LEVEL = 5  # cells


@dataclasses.dataclass(frozen=True, eq=False)
class HogBackground:
    """Mean of HOG cells and the covariance of two cells as a function of their offset.

    Args:
        mean: `(31,)`.
        covariance: `(15, 15, 31, 31)`; entry `[7 + dy, 7 + dx]` is the covariance of a cell's
            channels with those of the cell `dy` rows below and `dx` columns to the right of it.

    Raises:
        ValueError: If shapes are others.
    """

    mean: np.ndarray
    covariance: np.ndarray

    def __post_init__(self):
        offsets = 2 * TEMPLATE_CELLS - 1
        expected = ((NUM_CHANNELS,), (offsets, offsets, NUM_CHANNELS, NUM_CHANNELS))
        received = (np.shape(self.mean), np.shape(self.covariance))
        if received != expected:
            raise ValueError(
                f"`mean` and `covariance` must have shapes {expected}. Received: {received}"
            )

    def whiten(self, cells: np.ndarray) -> np.ndarray:
        """Returns descriptors whose dot products are scores of discriminant analysis.

        Args:
            cells: `(n, 8, 8, 31)`, as from `box_hog`.

        Returns:
            float64 `(n, 1984)`.
        """
        centered = (cells - self.mean).reshape(len(cells), -1)
        return scipy.linalg.solve_triangular(self._factor, centered.T, lower=True).T

    @functools.cached_property
    def _factor(self) -> np.ndarray:
        """Lower Cholesky factor of the covariance of all 1984 numbers of a box."""
        rows, columns = np.divmod(np.arange(TEMPLATE_CELLS**2), TEMPLATE_CELLS)
        dy = rows - rows[:, np.newaxis] + TEMPLATE_CELLS - 1
        dx = columns - columns[:, np.newaxis] + TEMPLATE_CELLS - 1
        size = TEMPLATE_CELLS**2 * NUM_CHANNELS
        covariance = np.asarray(self.covariance, np.float64)[dy, dx]  # (cell, cell', 31, 31)
        covariance = covariance.transpose(0, 2, 1, 3).reshape(size, size)
        for _ in range(_REGULARIZER_STEPS):
            covariance[np.diag_indices(size)] += _REGULARIZER
            try:
                return scipy.linalg.cholesky(covariance, lower=True)
            except scipy.linalg.LinAlgError:
                continue
        raise ValueError(
            "`covariance` must be close to positive definite. Received: one that needs more than "
            f"{_REGULARIZER_STEPS * _REGULARIZER} on its diagonal"
        )

    def save(self, path: str | os.PathLike) -> None:
        """Writes the statistics to `path` as a compressed NumPy archive (.npz)."""
        # The covariances of opposite offsets are transposes of each other: half of them is enough.
        half = np.asarray(self.covariance, np.float32)[:, TEMPLATE_CELLS - 1 :]
        with atomic_file(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, mean=np.asarray(self.mean, np.float32), covariance=half)

    @classmethod
    def load(cls, path: str | os.PathLike = SHIPPED_PATH) -> "HogBackground":
        """Reads statistics written by `save`; without a path, those that come with the package.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file does not hold such statistics.
        """
        if not os.path.isfile(path):
            raise FileNotFoundError(f"Expected a file of HOG statistics. Received: {path}")
        expected = "HOG statistics are a .npz archive of `mean` and `covariance`"
        with reading(path, expected) as archive:
            mean, half = (archive[name].astype(np.float64) for name in ("mean", "covariance"))
            return cls(mean, _both_halves(half))


def _both_halves(half: np.ndarray) -> np.ndarray:
    """Completes `(15, 8, 31, 31)` of dx >= 0 by the transposes at the opposite offsets."""
    opposite = half[::-1, :0:-1].swapaxes(-1, -2)
    return np.concatenate([opposite, half], axis=1)


@functools.cache
def shipped_background() -> HogBackground:
    """Returns the statistics that come with the package, read and factored once per process."""
    return HogBackground.load()


def learn_background(images: Iterable[np.ndarray]) -> HogBackground:
    """Learns the statistics from natural images, at all scales and with their mirror images.

    Args:
        images: uint8 arrays `(height, width, 3)`.

    Raises:
        ValueError: If no image is larger than 40 x 40 pixels.
    """
    sums = _PairSums()
    for cells in _all_levels(images):
        sums.add(cells)
    if not sums.count.any():
        raise ValueError(
            f"At least one image of {_SMALLEST_LEVEL * CELL_SIZE} x {_SMALLEST_LEVEL * CELL_SIZE} "
            "pixels is needed. Received: none"
        )
    return sums.background()


class _PairSums:
    """Sums over all pairs of cells with offsets dy in -7..7 and dx in 0..7, an array entry each."""

    def __init__(self):
        offsets = (2 * TEMPLATE_CELLS - 1, TEMPLATE_CELLS)
        self.count = np.zeros((*offsets, 1, 1))
        self.here = np.zeros((*offsets, NUM_CHANNELS, 1))
        self.there = np.zeros((*offsets, 1, NUM_CHANNELS))
        self.product = np.zeros((*offsets, NUM_CHANNELS, NUM_CHANNELS))

    def add(self, cells: np.ndarray) -> None:
        """Adds the pairs of a map of cells `(rows, columns, 31)`."""
        height, width = cells.shape[:2]
        for place in np.ndindex(self.count.shape[:2]):
            dy, dx = place[0] - TEMPLATE_CELLS + 1, place[1]
            if abs(dy) >= height or dx >= width:
                continue
            here = cells[max(-dy, 0) : height - max(dy, 0), : width - dx].reshape(-1, NUM_CHANNELS)
            there = cells[max(dy, 0) : height + min(dy, 0), dx:].reshape(-1, NUM_CHANNELS)
            self.count[place] += len(here)
            self.here[place] += here.sum(axis=0)[:, np.newaxis]
            self.there[place] += there.sum(axis=0)
            self.product[place] += here.T @ there

    def background(self) -> HogBackground:
        """Returns the mean over all cells and the covariances around it."""
        count = np.maximum(self.count, 1)
        mean = (self.here / count)[TEMPLATE_CELLS - 1, 0]  # (31, 1), at the offset of no shift
        here, there, product = self.here / count, self.there / count, self.product / count
        covariance = product - here * mean.T - mean * there + mean * mean.T
        covariance[self.count[..., 0, 0] == 0] = 0
        return HogBackground(mean[:, 0], _both_halves(covariance))


def _all_levels(images: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Yields the cells `(rows, columns, 31)` of every level of every image and its mirror image."""
    for image in images:
        image = np.asarray(image, np.float32)
        height, width = image.shape[:2]
        octaves = np.log2(max(min(height, width), 1) / (_SMALLEST_LEVEL * CELL_SIZE))
        for level in range(int(np.floor(octaves * _LEVELS_PER_OCTAVE)) + 1):
            scale = 2.0 ** (-level / _LEVELS_PER_OCTAVE)
            size = (round(height * scale), round(width * scale))
            resized = resize_bilinear(image, size, antialias=True)
            yield from hog(np.stack([resized, resized[:, ::-1]])).astype(np.float64)
