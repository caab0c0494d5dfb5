"""The sparse representation of an image: which anchors fire, where and how strongly."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from anchornet_tf.corpus.quantization import quantize
from anchornet_tf.features.feature_map import cell_centers


@dataclasses.dataclass(frozen=True, eq=False)
class Peaks:
    """The anchors of an image, strongest first; all attributes are `(n,)`.

    Attributes:
        class_index: int, among the model's classes.
        filter: int, in the bank of the class.
        x: float, in pixels.
        y: float.
        strength: float. The whitened response.
        place: int, among the image's places.
    """

    class_index: np.ndarray
    filter: np.ndarray
    x: np.ndarray
    y: np.ndarray
    strength: np.ndarray
    place: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Places:
    """The distinct places where anchors of an image peak.

    Attributes:
        x: `(n,)`, in pixels.
        y: `(n,)`.
        scales: `(n,)`.
        descriptors: `(n, directions)` int8; times the scale, they are the descriptors.
    """

    x: np.ndarray
    y: np.ndarray
    scales: np.ndarray
    descriptors: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class DenseGrid:
    """The descriptors of all cells.

    Attributes:
        values: `(height, width, directions)` int8.
        scales: `(height, width)`.
    """

    values: np.ndarray
    scales: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class DescribedImage:
    """What a shard keeps of an image.

    Attributes:
        size: `(height, width)` in pixels.
        peaks: Its anchors.
        places: The places of those.
        dense: The descriptors of all cells, or None.
    """

    size: tuple[int, int]
    peaks: Peaks
    places: Places
    dense: DenseGrid | None


def described_image(
    size: tuple[int, int],
    grid: tuple[int, int],
    filters: np.ndarray,
    cells: np.ndarray,
    strengths: np.ndarray,
    descriptors: np.ndarray,
    num_filters: int,
    dense: np.ndarray | None = None,
) -> DescribedImage:
    """Puts what the network found in an image into the form that shards have.

    Args:
        size: `(height, width)` of the image in pixels.
        grid: `(height, width)` of the maps in cells.
        filters: `(n,)`, numbers of the filters over all banks, strongest first.
        cells: `(n,)`, the cell where each is strongest, rows first.
        strengths: `(n,)`.
        descriptors: `(n, directions)` at these cells.
        num_filters: int. Filters of a bank.
        dense: `(grid height, grid width, directions)`, or None.
    """
    places, first, place = np.unique(cells, return_index=True, return_inverse=True)
    centers_y, centers_x = (cell_centers(*sides) for sides in zip(grid, size, strict=True))
    x = centers_x[places % grid[1]].astype(np.float32)
    y = centers_y[places // grid[1]].astype(np.float32)
    values, scales = quantize(descriptors[first])
    peaks = Peaks(
        filters // num_filters, filters % num_filters, x[place], y[place], strengths, place
    )
    return DescribedImage(
        size,
        peaks,
        Places(x, y, scales, values),
        None if dense is None else DenseGrid(*quantize(dense)),
    )


def classes_of(names: Sequence[str], wanted: str) -> int:
    """Returns the number of a class.

    Raises:
        ValueError: If there is no such class.
    """
    if wanted not in names:
        raise ValueError(f"Expected one of the classes {', '.join(names)}. Received: {wanted}")
    return list(names).index(wanted)
