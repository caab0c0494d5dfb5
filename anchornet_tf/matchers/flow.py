"""The flow: what every matcher returns, in pixels of the original images."""

import dataclasses
import math
import os

import numpy as np
from numpy.typing import ArrayLike

from anchornet_tf.features.feature_map import cell_centers, check_size
from anchornet_tf.matchers import flow_file, flow_sampling
from anchornet_tf.matchers.flow_values import (
    DenseValues,
    GridValues,
    PixelValues,
    pixel_positions,
    strips,
)
from anchornet_tf.utils.image_io import read_image

# Larger flows are written as their cells, if they have any.
_MOST_PIXELS_WRITTEN = 2**22


class Flow:
    """A dense correspondence: pixel `p` of the source matches `p + displacement[p]` of the target.

    A flow that comes from a grid (`from_grid`) makes its pixels when they are asked for: as long as
    only points are carried across, it takes no more memory than its cells.

    Args:
        displacement: float array `(height, width, 2)` on the source image; each vector is
            `(dy, dx)` in pixels; kept as float32.
        target_size: `(height, width)` of the target image in pixels.
        valid: bool array `(height, width)`: where the matcher stands by its answer. None means
            everywhere.
        confidence: float array `(height, width)`; the higher the surer. A `Matcher` gives the
            probability that a match is right, see `with_confidence`; a matcher of feature maps
            called by itself gives scores on its own scale. None means one everywhere.

    Attributes:
        evidence: What else the matcher knows about each cell of its grid, `(rows, columns, k)`, for
            `anchornet_tf.matchers.confidence`; None for nothing.

    Raises:
        ValueError: If shapes disagree, or a displacement is not finite where the flow is valid.
    """

    def __init__(
        self,
        displacement: ArrayLike,
        target_size: tuple[int, int],
        valid: ArrayLike | None = None,
        confidence: ArrayLike | None = None,
    ):
        self._values: DenseValues | GridValues = DenseValues.checked(
            displacement, target_size, valid, confidence
        )
        self._scored: DenseValues | GridValues | None = None
        self._pixels: PixelValues | None = None
        self.evidence: np.ndarray | None = None

    @classmethod
    def from_grid(
        cls,
        displacement: ArrayLike,
        source_size: tuple[int, int],
        target_size: tuple[int, int],
        valid: ArrayLike | None = None,
        confidence: ArrayLike | None = None,
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
        cells = DenseValues.checked(displacement, target_size, valid, confidence)
        size = check_size(source_size, "source_size")
        return cls._of_values(GridValues(cells, size, check_interpolation(interpolation)))

    @classmethod
    def _of_values(
        cls, values: DenseValues | GridValues, scored: DenseValues | GridValues | None = None
    ) -> "Flow":
        flow = cls.__new__(cls)
        flow._values, flow._scored, flow._pixels = values, scored, None
        flow.evidence = None
        return flow

    def __repr__(self) -> str:
        return f"Flow(shape={self.shape}, target_size={self.target_size})"

    @property
    def shape(self) -> tuple[int, int]:
        """`(height, width)` of the source image."""
        return self._values.size

    @property
    def target_size(self) -> tuple[int, int]:
        """`(height, width)` of the target image."""
        return self._values.target_size

    @property
    def grid_size(self) -> tuple[int, int]:
        """`(rows, columns)` of the grid that the flow comes from; `shape` if it is of pixels."""
        values = self._values
        return values.cells.size if isinstance(values, GridValues) else values.size

    @property
    def num_bytes(self) -> int:
        """The memory that the flow takes, without pixels that it made when they were asked for."""
        parts = [values for values in (self._values, self._scored) if values is not None]
        parts = [part.cells if isinstance(part, GridValues) else part for part in parts]
        arrays = [array for part in parts for array in part.rows(slice(None))]
        if self.evidence is not None:
            arrays.append(self.evidence)
        # Flows with probabilities share their vectors with those of scores.
        return sum(
            {
                id(array.base if array.base is not None else array): array.nbytes
                for array in arrays
            }.values()
        )

    @property
    def displacement(self) -> np.ndarray:
        """float32 `(height, width, 2)`: `(dy, dx)` of each pixel of the source."""
        return self._all_pixels().displacement

    @property
    def valid(self) -> np.ndarray:
        """bool `(height, width)`: where the matcher stands by its answer."""
        return self._all_pixels().valid

    @property
    def confidence(self) -> np.ndarray:
        """float32 `(height, width)`: how sure the match of each pixel is.

        In a flow that a `Matcher` made, it is the probability that the match lies within a tenth of
        the object's size of the right place.
        """
        return self._all_pixels().confidence

    @property
    def has_probabilities(self) -> bool:
        """Whether the confidence is a probability, and `scores` are something else."""
        return self._scored is not None

    @property
    def scores(self) -> np.ndarray:
        """float32 `(height, width)`: the matcher's own scores, before they became probabilities."""
        return self.confidence if self._scored is None else self.with_scores().confidence

    def with_scores(self) -> "Flow":
        """Returns the same flow with the matcher's own scores as its confidence."""
        return self if self._scored is None else self._of_values(self._scored)

    def with_confidence(self, confidence: ArrayLike) -> "Flow":
        """Returns the same flow with another confidence; the present one is kept as `scores`.

        Args:
            confidence: float array `(rows, columns)` on any grid that covers the source image, as
                that of a `FeatureMap` does.

        Raises:
            ValueError: If it is no finite array of two axes.
        """
        confidence = np.asarray(confidence, np.float32)
        if confidence.ndim != 2 or not confidence.size or not np.isfinite(confidence).all():
            raise ValueError(
                "`confidence` must be a finite array of shape (rows, columns). "
                f"Received: confidence.shape={confidence.shape}"
            )
        return self._of_values(
            self._values.with_confidence(confidence), self._scored or self._values
        )

    def cells(self, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reads the flow on a grid that covers the source image: its own one, unless that is fine.

        Args:
            most: int. The most rows and columns of the grid. A flow with more cells, or of pixels,
                is read at `most` // 4 rows and columns.

        Returns:
            Positions `(rows, columns, 2)` of (y, x) in pixels of the target, validity
            `(rows, columns)` and confidence `(rows, columns)`.
        """
        values = self._values
        if isinstance(values, GridValues) and max(values.cells.size) <= most:
            found, grid = values.cells.rows(slice(None)), values.cells.size
            centers = [cell_centers(*sides) for sides in zip(grid, self.shape, strict=True)]
        else:
            height, width = self.shape
            grid = min(most // 4, height), min(most // 4, width)
            # The pixels at the centres of the cells.
            centers = [
                np.floor(cell_centers(*sides) + 0.5).astype(np.int64)
                for sides in zip(grid, self.shape, strict=True)
            ]
            rows, columns = np.meshgrid(*centers, indexing="ij")
            found = values.at(rows.ravel(), columns.ravel())
            found = PixelValues(*(part.reshape(*grid, *part.shape[1:]) for part in found))
        origin = np.stack(np.meshgrid(*centers, indexing="ij"), axis=-1)
        return origin + found.displacement, found.valid, found.confidence

    def resized(self, source_size: tuple[int, int], target_size: tuple[int, int]) -> "Flow":
        """Returns the same flow between images of other sizes.

        Args:
            source_size: `(height, width)` of the resized source image.
            target_size: `(height, width)` of the resized target image.

        Returns:
            The flow in pixels of the resized images; the flow itself where the sizes are its own.
            What is known at every pixel is read at the nearest one.
        """
        source_size = check_size(source_size, "source_size")
        target_size = check_size(target_size, "target_size")
        if (source_size, target_size) == (self.shape, self.target_size):
            return self
        values, scored = _resized(self._values, source_size, target_size), self._scored
        if scored is not None:
            scored = _resized(scored, source_size, target_size)
        return self._of_values(values, scored)

    def target_positions(self) -> np.ndarray:
        """Returns where each source pixel lands: `(height, width, 2)` of target `(y, x)`."""
        positions = np.empty((*self.shape, 2), np.float32)
        for part in strips(*self.shape):
            positions[part] = self._landing(part)[0]
        return positions

    def lands_inside(self) -> np.ndarray:
        """Returns `(height, width)` bool: valid and on a pixel of the target image."""
        inside = np.empty(self.shape, bool)
        for part in strips(*self.shape):
            inside[part] = self._inside(*self._landing(part))
        return inside

    def transfer_points(
        self, points: ArrayLike, rounded: bool = False, outside: str = "error"
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
        return self.transfer_with_confidence(points, rounded, outside)[0]

    def transfer_with_confidence(
        self, points: ArrayLike, rounded: bool = False, outside: str = "error"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Carries points as `transfer_points` does, and says how sure each match is.

        Args:
            points: As in `transfer_points`.
            rounded: As in `transfer_points`.
            outside: As in `transfer_points`.

        Returns:
            float32 points `(n, 2)` and confidences `(n,)`; 0 where the flow is not valid.

        Raises:
            ValueError: As in `transfer_points`.
        """
        points = _check_points(points)
        if outside not in ("error", "nan", "nearest"):
            raise ValueError(
                f"`outside` must be 'error', 'nan' or 'nearest'. Received: outside={outside!r}"
            )
        limits = np.array(self.shape[::-1])
        inside = _are_inside(points, self.shape)
        if outside == "error":
            check_inside(points, self.shape)
        reading = np.clip(points, 0, limits - 1)
        if rounded:
            reading = flow_sampling.round_half_up(reading)
        read = flow_sampling.read_valid(self._values, *reading.T[::-1])
        known = read[:, 3] > 0
        if outside == "nan":
            known &= inside
        read = read[:, :3] / np.where(known, read[:, 3], 1)[:, np.newaxis]
        moved = np.where(known[:, np.newaxis], points + read[:, 1::-1], np.nan)  # (x, y)
        return moved.astype(np.float32), np.where(known, read[:, 2], 0).astype(np.float32)

    def warp(self, target_image: ArrayLike | os.PathLike, fill: float = 0) -> np.ndarray:
        """Pulls the target image into the frame of the source image (bilinear).

        Args:
            target_image: array `(height, width)` or `(height, width, channels)` of `target_size`,
                or the path of an image.
            fill: Value of pixels whose match is invalid or lies off the target image.

        Returns:
            Array of the source's height and width with the dtype of `target_image`.

        Raises:
            ValueError: If the image does not have the target's size.
        """
        if isinstance(target_image, str | os.PathLike):
            target_image = read_image(target_image)
        image = self._check_target_array(target_image, "target_image")
        warped = np.empty((*self.shape, *image.shape[2:]), image.dtype)
        for part in strips(*self.shape):
            positions, valid = self._landing(part)
            pulled = flow_sampling.read_between_pixels(image, positions)
            if np.issubdtype(image.dtype, np.integer):
                pulled = np.rint(pulled)
            inside = self._inside(positions, valid).reshape(*valid.shape, *(1,) * (image.ndim - 2))
            warped[part] = np.where(inside, pulled, fill)
        return warped

    def transfer_mask(self, target_mask: ArrayLike) -> np.ndarray:
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
        moved = np.empty((*self.shape, *mask.shape[2:]), mask.dtype)
        last = np.subtract(self.target_size, 1)
        for part in strips(*self.shape):
            positions, valid = self._landing(part)
            inside = self._inside(positions, valid).reshape(*valid.shape, *(1,) * (mask.ndim - 2))
            rows, columns = np.moveaxis(
                np.clip(flow_sampling.nearest_pixels(positions), 0, last), -1, 0
            )
            moved[part] = np.where(inside, mask[rows, columns], np.zeros((), mask.dtype))
        return moved

    def save(self, path: str | os.PathLike) -> None:
        """Writes the flow to `path` as a compressed NumPy archive (.npz).

        The archive holds `displacement`, `valid`, `confidence` and `scores` of every pixel, and
        `target_size`. A flow of more than 4,194,304 pixels that comes from a grid is written as its
        cells instead, under other names; `load` knows both.
        """
        values, scores = self._values, None if self._scored is None else self._scored.scores()
        if isinstance(values, GridValues) and math.prod(self.shape) <= _MOST_PIXELS_WRITTEN:
            pixels = self._all_pixels()
            values = DenseValues.checked(
                pixels.displacement, self.target_size, pixels.valid, pixels.confidence
            )
            scores = None if scores is None else self.scores
        flow_file.write(path, values, scores)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Flow":
        """Reads a flow written by `save`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file does not hold a flow.
        """
        values, scores = flow_file.read(path)
        return cls._of_values(values, None if scores is None else values.with_confidence(scores))

    def _all_pixels(self) -> PixelValues:
        if isinstance(self._values, DenseValues):
            return self._values.rows(slice(None))
        if self._pixels is None:
            pixels = PixelValues.empty(self.shape)
            for part in strips(*self.shape):
                for whole, rows in zip(pixels, self._values.rows(part), strict=True):
                    whole[part] = rows
            self._pixels = pixels
        return self._pixels

    def _landing(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Returns where rows of the source land, `(n, width, 2)` of `(y, x)`, and where validly."""
        values = self._values.rows(rows)
        origin = pixel_positions(np.arange(rows.start, rows.stop), self.shape[1])
        return origin + values.displacement, values.valid

    def _inside(self, positions: np.ndarray, valid: np.ndarray) -> np.ndarray:
        pixels = flow_sampling.nearest_pixels(positions)
        return valid & ((pixels >= 0) & (pixels < self.target_size)).all(axis=-1)

    def _check_target_array(self, array: ArrayLike, name: str) -> np.ndarray:
        array = np.asarray(array)
        if array.ndim not in (2, 3) or array.shape[:2] != self.target_size:
            raise ValueError(
                f"`{name}` must have the target's (height, width) = {self.target_size}, with or "
                f"without a third axis. Received: {name}.shape={array.shape}"
            )
        return array


def _resized(values, source_size, target_size) -> GridValues:
    if isinstance(values, DenseValues):
        values = GridValues(values, values.size, "nearest", clamped=False)
    elif values.cells.size == values.size:
        values = dataclasses.replace(values, interpolation="nearest")
    return values.resized(source_size, target_size)


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


def check_inside(points, size: tuple[int, int]) -> None:
    """Raises ValueError for `(n, 2)` points `(x, y)` off an image of `(height, width)`."""
    points = _check_points(points)
    inside = _are_inside(points, size)
    if not inside.all():
        raise ValueError(
            f"`points` must be (x, y) pairs inside the source image of width {size[1]} and "
            f"height {size[0]}. Received: {points[~inside][:5].tolist()} outside"
        )


def _are_inside(points, size):
    return ((points >= -0.5) & (points < np.array(size[::-1]) - 0.5)).all(axis=-1)  # (n,)


def _check_points(points: ArrayLike) -> np.ndarray:
    points = np.asarray(points, np.float64)
    if points.size == 0:
        return points.reshape(0, 2)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"`points` must have shape (n, 2): x and y. Received: points.shape={points.shape}"
        )
    if not np.isfinite(points).all():
        raise ValueError("`points` must be finite. Received: NaN or infinite coordinates")
    return points
