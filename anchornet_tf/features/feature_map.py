"""The feature map: what every descriptor returns and every matcher takes."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureMap:
    """Descriptors on a regular grid that covers a whole image.

    Cell `(i, j)` of an `h x w` grid on an `H x W` image sits at the image pixel
    `((i + 0.5) * H / h - 0.5, (j + 0.5) * W / w - 0.5)` (half-pixel centres). A map of pixel
    resolution has `h == H` and `w == W`.

    Args:
        values: float array `(height, width, depth)`, finite; kept as float32.
        image_size: `(height, width)` of the original image in pixels, whatever size the
            descriptor saw.

    Raises:
        ValueError: If `values` is not a finite, non-empty array of rank 3, or `image_size` is not
            a pair of positive integers.
    """

    values: np.ndarray
    image_size: tuple[int, int]

    def __post_init__(self):
        values = np.asarray(self.values)
        if values.ndim != 3 or values.size == 0:
            raise ValueError(
                "`values` must be a non-empty array of shape (height, width, depth). "
                f"Received: values.shape={values.shape}"
            )
        values = values.astype(np.float32, copy=False)
        if not np.isfinite(values).all():
            bad = int(np.size(values) - np.isfinite(values).sum())
            raise ValueError(
                "`values` must be finite in float32. "
                f"Received: {bad} of {values.size} values that are NaN or infinite"
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "image_size", check_size(self.image_size, "image_size"))

    @property
    def grid_size(self) -> tuple[int, int]:
        """`(height, width)` of the grid in cells."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def num_cells(self) -> int:
        """Number of cells of the grid."""
        return self.values.shape[0] * self.values.shape[1]

    @property
    def depth(self) -> int:
        """Number of channels."""
        return self.values.shape[2]

    def resized(self, height: int, width: int, antialias: bool = False) -> "FeatureMap":
        """Returns the map resampled bilinearly to another grid of the same image.

        Args:
            height: int. Rows of the new grid.
            width: int. Columns of the new grid.
            antialias: bool. Whether to widen the kernel when the grid gets smaller, as
                `tf.image.resize(..., antialias=True)` does.
        """
        return dataclasses.replace(
            self, values=resize_bilinear(self.values, (height, width), antialias)
        )


def check_size(size, name: str) -> tuple[int, int]:
    """Returns `size` as two ints.

    Raises:
        ValueError: If it is not a `(height, width)` pair of positive integers.
    """
    message = f"`{name}` must be a (height, width) pair of positive integers. Received: {size!r}"
    try:
        height, width = (int(side) for side in size)
        whole = all(int(side) == side for side in size)
    except (TypeError, ValueError) as error:
        raise ValueError(message) from error
    if not whole or height < 1 or width < 1:
        raise ValueError(message)
    return height, width


def cell_centers(num_cells: int, num_pixels: int) -> np.ndarray:
    """Returns the pixel coordinate of each of `num_cells` cells along an axis of `num_pixels`."""
    return (np.arange(num_cells) + 0.5) * (num_pixels / num_cells) - 0.5


def resize_bilinear(
    values: np.ndarray, size: tuple[int, int], antialias: bool = False
) -> np.ndarray:
    """Resamples `(height, width, depth)` values with half-pixel centres.

    Args:
        values: float array `(height, width, depth)`.
        size: `(height, width)` of the result.
        antialias: bool. Whether the kernel widens when a side shrinks.

    Returns:
        float32 array `(*size, depth)`.
    """
    height, width = check_size(size, "size")
    values = np.asarray(values, np.float32)
    if values.shape[:2] == (height, width):
        return values
    rows = interpolation_matrix(values.shape[0], height, antialias)
    columns = interpolation_matrix(values.shape[1], width, antialias)
    # The two axes separate, and one dense matrix for each makes the work two matrix products.
    values = np.tensordot(rows, values, axes=1)  # (new height, width, depth)
    return np.matmul(columns, values)  # (new height, new width, depth)


def interpolation_matrix(size: int, new_size: int, antialias: bool) -> np.ndarray:
    """Returns `(new_size, size)` weights of linear interpolation; each row sums to one."""
    radius = max(1.0, size / new_size) if antialias else 1.0
    positions = cell_centers(new_size, size)
    if not antialias:
        positions = np.clip(positions, 0, size - 1)
    distances = np.abs(positions[:, np.newaxis] - np.arange(size))
    weights = np.maximum(0.0, 1.0 - distances / radius)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
