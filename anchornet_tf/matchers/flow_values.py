"""What a flow is made of: vectors at every pixel, or at the cells of a grid that covers the image.

Both kinds answer the same two questions, for whole rows of pixels and for single pixels. A grid
makes the pixels when it is asked for them: a photograph has a thousand times as many as cells.
"""

import dataclasses
import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from anchornet_tf.features.feature_map import (
    cell_centers,
    check_size,
    interpolation_matrix,
    resize_bilinear,
)

PIXELS_AT_ONCE = 2**19


class PixelValues(NamedTuple):
    """Values of some pixels of the source image.

    Attributes:
        displacement: float32 `(..., 2)`: (dy, dx).
        valid: bool `(...)`.
        confidence: float32 `(...)`.
    """

    displacement: np.ndarray
    valid: np.ndarray
    confidence: np.ndarray

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> "PixelValues":
        """Returns values of this shape, to be filled in."""
        return cls(
            np.empty((*shape, 2), np.float32), np.empty(shape, bool), np.empty(shape, np.float32)
        )


@dataclasses.dataclass(frozen=True, eq=False)
class DenseValues:
    """Values that are known at every pixel.

    Args:
        displacement: float32 `(height, width, 2)`.
        target_size: `(height, width)` of the target image.
        valid: bool `(height, width)`.
        confidence: float32 `(height, width)`.
    """

    displacement: np.ndarray
    target_size: tuple[int, int]
    valid: np.ndarray
    confidence: np.ndarray

    @classmethod
    def checked(cls, displacement, target_size, valid, confidence) -> "DenseValues":
        """Makes the values of a flow from what a user gave.

        Raises:
            ValueError: As in `Flow`.
        """
        displacement = np.asarray(displacement)
        if displacement.ndim != 3 or displacement.shape[2] != 2 or displacement.size == 0:
            raise ValueError(
                "`displacement` must be a non-empty array of shape (height, width, 2). "
                f"Received: displacement.shape={displacement.shape}"
            )
        displacement = displacement.astype(np.float32, copy=False)
        size = displacement.shape[:2]
        # A constant that is broadcast takes no memory, whatever the size of the image.
        valid = np.broadcast_to(True, size) if valid is None else np.asarray(valid, bool)
        if confidence is None:
            confidence = np.broadcast_to(np.float32(1), size)
        confidence = np.asarray(confidence)
        for name, array in (("valid", valid), ("confidence", confidence)):
            if array.shape != size:
                raise ValueError(
                    f"`{name}` must have the shape {size} of the source image. "
                    f"Received: {name}.shape={array.shape}"
                )
        finite = np.isfinite(displacement).all(axis=-1)
        if (valid & ~finite).any():
            raise ValueError(
                "`displacement` must be finite where the flow is valid. "
                f"Received: {int((valid & ~finite).sum())} valid pixels that are NaN or infinite"
            )
        if not finite.all():
            displacement = np.where(finite[..., np.newaxis], displacement, np.float32(0))
        if not np.isfinite(confidence).all():
            raise ValueError("`confidence` must be finite. Received: NaN or infinite values")
        confidence = confidence.astype(np.float32, copy=False)
        return cls(displacement, check_size(target_size, "target_size"), valid, confidence)

    @property
    def size(self) -> tuple[int, int]:
        """`(height, width)` of the source image."""
        return self.valid.shape

    def scores(self) -> np.ndarray:
        """The confidence where it is known: at every pixel."""
        return self.confidence

    def with_confidence(self, confidence: np.ndarray) -> "DenseValues":
        """Returns the same flow with the confidence of a `(rows, columns)` grid over the image."""
        if confidence.shape != self.size:
            confidence = resize_bilinear(confidence[..., np.newaxis], self.size)[..., 0]
        return dataclasses.replace(self, confidence=confidence)

    def rows(self, rows: np.ndarray | slice) -> PixelValues:
        """Returns the values of whole rows of pixels."""
        return PixelValues(self.displacement[rows], self.valid[rows], self.confidence[rows])

    def at(self, rows: np.ndarray, columns: np.ndarray) -> PixelValues:
        """Returns the values of n pixels."""
        place = rows, columns
        return PixelValues(self.displacement[place], self.valid[place], self.confidence[place])


@dataclasses.dataclass(frozen=True, eq=False)
class GridValues:
    """Values that are known at the cells of a grid, and spread over pixels on demand.

    Args:
        cells: DenseValues of the grid, with displacements in pixels.
        size: `(height, width)` of the source image.
        interpolation: `"bilinear"` or `"nearest"`, as in `Flow.from_grid`.
        clamped: bool. Whether vectors that would leave the target image are shortened.
    """

    cells: DenseValues
    size: tuple[int, int]
    interpolation: str = "bilinear"
    clamped: bool = True

    @property
    def target_size(self) -> tuple[int, int]:
        """`(height, width)` of the target image."""
        return self.cells.target_size

    def scores(self) -> np.ndarray:
        """The confidence where it is known: at every cell."""
        return self.cells.confidence

    def with_confidence(self, confidence: np.ndarray) -> "GridValues":
        """Returns the same flow with the confidence of a `(rows, columns)` grid over the image."""
        return dataclasses.replace(self, cells=self.cells.with_confidence(confidence))

    def rows(self, rows: np.ndarray | slice) -> PixelValues:
        """Returns the values of whole rows of pixels."""
        height, width = self.size
        cell_rows, cell_columns = self._containing_cells
        valid = self.cells.valid[cell_rows[rows]][:, cell_columns]
        if self.cells.size == self.size:
            displacement, _, confidence = self.cells.rows(rows)
        elif self.interpolation == "nearest":
            displacement = self.cells.displacement[cell_rows[rows]][:, cell_columns]
            confidence = self.cells.confidence[cell_rows[rows]][:, cell_columns]
        else:
            displacement = self._interpolated(self.cells.displacement, rows)
            confidence = self._interpolated(self.cells.confidence[..., np.newaxis], rows)[..., 0]
        if self.clamped:
            # Clamping the vector, not the position, leaves vectors that stay inside untouched.
            origin = pixel_positions(np.arange(height)[rows], width)
            last = np.subtract(self.target_size, 1).astype(np.float32)
            displacement = np.clip(displacement, -origin, last - origin)
        return PixelValues(displacement, valid, confidence)

    def at(self, rows: np.ndarray, columns: np.ndarray) -> PixelValues:
        """Returns the values of n pixels."""
        values = PixelValues.empty(rows.shape)
        needed, place = np.unique(rows, return_inverse=True)
        for part in strips(len(needed), self.size[1]):
            chosen = (place >= part.start) & (place < part.stop)
            found = self.rows(needed[part])
            for all_values, some in zip(values, found, strict=True):
                all_values[chosen] = some[place[chosen] - part.start, columns[chosen]]
        return values

    def resized(self, size: tuple[int, int], target_size: tuple[int, int]) -> "GridValues":
        """Returns the same flow between images of other sizes."""
        grid = self.cells.size
        old = pixel_positions(cell_centers(grid[0], self.size[0]), grid[1], self.size[1])
        new = pixel_positions(cell_centers(grid[0], size[0]), grid[1], size[1])
        landing = old.astype(np.float64) + self.cells.displacement + 0.5
        landing *= np.divide(target_size, self.target_size)
        displacement = (landing - 0.5 - new).astype(np.float32)
        cells = dataclasses.replace(self.cells, displacement=displacement, target_size=target_size)
        return dataclasses.replace(self, cells=cells, size=size)

    def _interpolated(self, values, rows):
        row_weights, column_weights = self._weights
        # The two axes separate: rows of cells first, then cells within the rows.
        return np.matmul(column_weights, np.tensordot(row_weights[rows], values, axes=1))

    @functools.cached_property
    def _weights(self):
        sides = zip(self.cells.size, self.size, strict=True)
        return [interpolation_matrix(cells, pixels, antialias=False) for cells, pixels in sides]

    @functools.cached_property
    def _containing_cells(self):
        """For each pixel centre along an axis, the cell that it lies in."""
        return [
            (2 * np.arange(pixels) + 1) * cells // (2 * pixels)
            for cells, pixels in zip(self.cells.size, self.size, strict=True)
        ]


def strips(height: int, width: int) -> Iterator[slice]:
    """Cuts the rows of an image into slices of a moderate number of pixels."""
    step = max(1, PIXELS_AT_ONCE // width)
    for top in range(0, height, step):
        yield slice(top, min(top + step, height))


def pixel_positions(rows: np.ndarray, columns: int, width: int | None = None) -> np.ndarray:
    """Returns `(rows, columns, 2)` float32: the (y, x) of each pixel, or of each cell.

    Args:
        rows: `(n,)` vertical positions.
        columns: int. Number of pixels, or of cells, in a row.
        width: int. Pixels that the cells cover, or None where they are pixels.
    """
    positions = np.empty((len(rows), columns, 2), np.float32)
    positions[..., 0] = rows[:, np.newaxis]
    positions[..., 1] = np.arange(columns) if width is None else cell_centers(columns, width)
    return positions
