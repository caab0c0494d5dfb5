"""The flow: what every matcher returns, in pixels of the original images."""

import dataclasses
import os
import zipfile

import numpy as np

from anchornet_tf.features.feature_map import check_size, resize_bilinear
from anchornet_tf.utils.files import atomic_file

_FIELDS = ("displacement", "target_size", "valid", "confidence")


@dataclasses.dataclass(frozen=True, eq=False)
class Flow:
    """A dense correspondence: pixel `p` of the source matches `p + displacement[p]` of the target.

    Args:
        displacement: float array `(height, width, 2)` on the source image; each vector is
            `(dy, dx)` in pixels; kept as float32.
        target_size: `(height, width)` of the target image in pixels.
        valid: bool array `(height, width)`: where the matcher stands by its answer. None means
            everywhere.
        confidence: float array `(height, width)`; the higher the surer, on the matcher's own
            scale. None means one everywhere.

    Raises:
        ValueError: If shapes disagree, or a displacement is not finite where the flow is valid.
    """

    displacement: np.ndarray
    target_size: tuple[int, int]
    valid: np.ndarray | None = None
    confidence: np.ndarray | None = None

    def __post_init__(self):
        displacement = np.asarray(self.displacement)
        if displacement.ndim != 3 or displacement.shape[2] != 2 or displacement.size == 0:
            raise ValueError(
                "`displacement` must be a non-empty array of shape (height, width, 2). "
                f"Received: displacement.shape={displacement.shape}"
            )
        displacement = displacement.astype(np.float32, copy=False)
        size = displacement.shape[:2]
        valid = np.ones(size, bool) if self.valid is None else np.asarray(self.valid, bool)
        confidence = np.ones(size) if self.confidence is None else np.asarray(self.confidence)
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
        object.__setattr__(self, "displacement", displacement)
        object.__setattr__(self, "target_size", check_size(self.target_size, "target_size"))
        object.__setattr__(self, "valid", valid)
        object.__setattr__(self, "confidence", confidence.astype(np.float32, copy=False))

    @classmethod
    def from_grid(
        cls,
        displacement: np.ndarray,
        source_size: tuple[int, int],
        target_size: tuple[int, int],
        valid: np.ndarray | None = None,
        confidence: np.ndarray | None = None,
        interpolation: str = "bilinear",
    ) -> "Flow":
        """Spreads displacements known on a grid of the source image over all its pixels.

        The grid covers the image as that of a `FeatureMap` does. Every result points into the
        target image: at the border of the grid, where vectors are extended outwards, positions
        are clamped.

        Args:
            displacement: array `(grid height, grid width, 2)` of `(dy, dx)` in *pixels*.
            source_size: `(height, width)` of the source image.
            target_size: `(height, width)` of the target image.
            valid: bool array `(grid height, grid width)`, or None for everywhere.
            confidence: array `(grid height, grid width)`, or None for one everywhere.
            interpolation: `"bilinear"` (smooth between cells) or `"nearest"` (each pixel takes
                the vector of its cell).

        Raises:
            ValueError: If shapes disagree or `interpolation` is unknown.
        """
        grid = cls(displacement, target_size, valid, confidence)  # Checks the shapes.
        height, width = check_size(source_size, "source_size")
        rows = _containing_cells(height, grid.shape[0])
        columns = _containing_cells(width, grid.shape[1])
        if check_interpolation(interpolation) == "nearest":
            full = grid.displacement[rows][:, columns]
            confidence = grid.confidence[rows][:, columns]
        else:
            full = resize_bilinear(grid.displacement, (height, width))
            confidence = resize_bilinear(grid.confidence[..., np.newaxis], (height, width))[..., 0]
        origin = _pixel_grid((height, width))
        last = np.subtract(grid.target_size, 1).astype(np.float32)
        # Clamping the vector, not the position, leaves vectors that stay inside untouched.
        full = np.clip(full, -origin, last - origin)
        return cls(full, grid.target_size, grid.valid[rows][:, columns], confidence)

    @property
    def shape(self) -> tuple[int, int]:
        """`(height, width)` of the source image."""
        return self.displacement.shape[0], self.displacement.shape[1]

    def target_positions(self) -> np.ndarray:
        """Returns where each source pixel lands: `(height, width, 2)` of target `(y, x)`."""
        return _pixel_grid(self.shape) + self.displacement

    def lands_inside(self) -> np.ndarray:
        """Returns `(height, width)` bool: valid and on a pixel of the target image."""
        rows, columns = self._nearest_target_pixels()
        inside = (rows >= 0) & (rows < self.target_size[0])
        return self.valid & inside & (columns >= 0) & (columns < self.target_size[1])

    def transfer_points(
        self, points: np.ndarray, rounded: bool = False, outside: str = "error"
    ) -> np.ndarray:
        """Carries points of the source image to the target image.

        Args:
            points: array `(n, 2)` of `(x, y)`, 0-based pixels of the source image.
            rounded: bool. Whether to read the flow at the nearest pixel, as the published
                evaluations do, in place of bilinearly.
            outside: What to do with points off the source image: `"error"`, `"nan"` (their
                result is NaN) or `"nearest"` (they take the vector of the nearest border pixel).

        Returns:
            float32 array `(n, 2)` of `(x, y)` in the target image; NaN where the flow is not
            valid. Bilinear reading leaves invalid neighbours out.

        Raises:
            ValueError: If `points` has another shape or holds NaN, `outside` is unknown, or a
                point lies off the image and `outside` is `"error"`.
        """
        points = _check_points(points)
        if outside not in ("error", "nan", "nearest"):
            raise ValueError(
                f"`outside` must be 'error', 'nan' or 'nearest'. Received: outside={outside!r}"
            )
        height, width = self.shape
        limits = np.array([width, height])
        inside = ((points >= -0.5) & (points < limits - 0.5)).all(axis=-1)  # (n,)
        if outside == "error" and not inside.all():
            raise ValueError(
                f"`points` must be (x, y) pairs inside the source image of width {width} and "
                f"height {height}. Received: {points[~inside][:5].tolist()} outside"
            )
        reading = np.clip(points, 0, limits - 1)
        if rounded:
            reading = _round_half_up(reading)
        columns, rows = reading.T
        weights = self.valid.astype(np.float32)[..., np.newaxis]
        read = _sample(
            np.concatenate([self.displacement * weights, weights], axis=-1), rows, columns
        )
        known = read[:, 2] > 0
        if outside == "nan":
            known &= inside
        vectors = read[:, 1::-1] / np.where(known, read[:, 2], 1)[:, np.newaxis]  # (dx, dy)
        moved = np.where(known[:, np.newaxis], points + vectors, np.nan)
        return moved.astype(np.float32)

    def warp(self, target_image: np.ndarray, fill: float = 0) -> np.ndarray:
        """Pulls the target image into the frame of the source image (bilinear).

        Args:
            target_image: array `(height, width)` or `(height, width, channels)` of `target_size`.
            fill: Value of pixels whose match is invalid or lies off the target image.

        Returns:
            Array of the source's height and width with the dtype of `target_image`.

        Raises:
            ValueError: If the image does not have the target's size.
        """
        image = self._check_target_array(target_image, "target_image")
        positions = self.target_positions()
        flat = image.reshape(*image.shape[:2], -1).astype(np.float32)
        pulled = _sample(flat, positions[..., 0].ravel(), positions[..., 1].ravel())
        pulled = pulled.reshape(*self.shape, *image.shape[2:])
        inside = self.lands_inside().reshape(*self.shape, *(1,) * (image.ndim - 2))
        if np.issubdtype(image.dtype, np.integer):
            pulled = np.rint(pulled)
        return np.where(inside, pulled, fill).astype(image.dtype)

    def transfer_mask(self, target_mask: np.ndarray) -> np.ndarray:
        """Pulls a mask or label map of the target image into the source's frame (nearest pixel).

        Args:
            target_mask: bool or integer array `(height, width)` or `(height, width, masks)` of
                `target_size`.

        Returns:
            Array of the source's height and width with the dtype of `target_mask`; False or 0
            where the match is invalid or lies off the target image.

        Raises:
            ValueError: If the mask does not have the target's size.
        """
        mask = self._check_target_array(target_mask, "target_mask")
        rows, columns = self._nearest_target_pixels()
        rows = np.clip(rows, 0, self.target_size[0] - 1)
        columns = np.clip(columns, 0, self.target_size[1] - 1)
        inside = self.lands_inside().reshape(*self.shape, *(1,) * (mask.ndim - 2))
        return np.where(inside, mask[rows, columns], np.zeros((), mask.dtype))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the flow to `path` as a compressed NumPy archive (.npz)."""
        with atomic_file(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **{name: getattr(self, name) for name in _FIELDS})

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Flow":
        """Reads a flow written by `save`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file does not hold a flow.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                fields = {name: archive[name] for name in _FIELDS}
        # NumPy raises any of these for files of another kind.
        except (KeyError, ValueError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"A flow is a .npz archive of {', '.join(_FIELDS)}. Received: {os.fspath(path)!r}"
            ) from error
        return cls(**fields)

    def _nearest_target_pixels(self) -> tuple[np.ndarray, np.ndarray]:
        positions = _round_half_up(self.target_positions()).astype(np.int64)
        return positions[..., 0], positions[..., 1]

    def _check_target_array(self, array: np.ndarray, name: str) -> np.ndarray:
        array = np.asarray(array)
        if array.ndim not in (2, 3) or array.shape[:2] != self.target_size:
            raise ValueError(
                f"`{name}` must have the target's (height, width) = {self.target_size}, with or "
                f"without a third axis. Received: {name}.shape={array.shape}"
            )
        return array


def check_interpolation(interpolation: str) -> str:
    """Returns `interpolation`.

    Raises:
        ValueError: If it is no way for `Flow.from_grid` to spread vectors.
    """
    if interpolation not in ("bilinear", "nearest"):
        raise ValueError(
            "`interpolation` must be 'bilinear' or 'nearest'. "
            f"Received: interpolation={interpolation!r}"
        )
    return interpolation


def _pixel_grid(size: tuple[int, int]) -> np.ndarray:
    """Returns `(height, width, 2)` float32: the `(y, x)` of each pixel."""
    return np.stack(np.mgrid[: size[0], : size[1]], axis=-1).astype(np.float32)


def _containing_cells(num_pixels: int, num_cells: int) -> np.ndarray:
    """Returns for each pixel centre along an axis the cell that it lies in."""
    return (2 * np.arange(num_pixels) + 1) * num_cells // (2 * num_pixels)


def _round_half_up(values: np.ndarray) -> np.ndarray:
    return np.floor(values + 0.5)


def _check_points(points: np.ndarray) -> np.ndarray:
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"`points` must have shape (n, 2): x and y. Received: points.shape={points.shape}"
        )
    if not np.isfinite(points).all():
        raise ValueError("`points` must be finite. Received: NaN or infinite coordinates")
    return points


def _sample(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Reads `(height, width, depth)` values bilinearly at n positions, clamped to the array."""
    height, width = values.shape[:2]
    rows, columns = np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)
    top, left = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, across = (rows - top)[:, np.newaxis], (columns - left)[:, np.newaxis]  # (n, 1)
    upper = values[top, left] * (1 - across) + values[top, right] * across
    lower = values[bottom, left] * (1 - across) + values[bottom, right] * across
    return upper * (1 - down) + lower * down  # (n, depth)
