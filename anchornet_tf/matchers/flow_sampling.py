"""Reading flows and images between their pixels."""

import numpy as np

from anchornet_tf.matchers.flow_values import DenseValues, GridValues


def round_half_up(values: np.ndarray) -> np.ndarray:
    """Rounds to whole numbers, halves upwards."""
    return np.floor(values + 0.5)


def nearest_pixels(positions: np.ndarray) -> np.ndarray:
    """Returns the whole pixels nearest to positions, as int64."""
    return round_half_up(positions).astype(np.int64)


def rescaled_points(
    points: np.ndarray, size: tuple[int, int], new_size: tuple[int, int]
) -> np.ndarray:
    """Carries points of an image to a copy of another size.

    Args:
        points: array `(n, 2)` of `(x, y)`.
        size: `(height, width)` of the image.
        new_size: `(height, width)` of the copy.

    Returns:
        Array `(n, 2)`; the points themselves where the sizes agree.
    """
    if size == new_size:
        return points
    scaled = (points + 0.5) * np.divide(new_size, size)[::-1] - 0.5
    return scaled.astype(points.dtype)


def read_between_pixels(image: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Reads an image bilinearly at `(height, width, 2)` positions, clamped to it, as float32."""
    # TensorFlow takes seconds to import, which a flow that is only loaded should not wait for.
    from anchornet_tf.image import interpolate_bilinear

    last = np.subtract(image.shape[:2], 1).astype(np.float32)
    positions = np.clip(positions, 0, last)
    # Only the part that is looked at becomes float, four times the bytes of a photograph.
    top, left = np.floor(positions.min(axis=(0, 1))).astype(int)
    bottom, right = np.ceil(positions.max(axis=(0, 1))).astype(int)
    part = image[top : bottom + 1, left : right + 1].reshape(bottom + 1 - top, right + 1 - left, -1)
    too_short = [(0, int(side < 2)) for side in part.shape[:2]]
    part = np.pad(part.astype(np.float32), [*too_short, (0, 0)], "edge")
    points = (positions - np.float32([top, left])).reshape(1, -1, 2)
    read = interpolate_bilinear(part[np.newaxis], points).numpy()
    return read.reshape(*positions.shape[:2], *image.shape[2:])


def read_valid(values: DenseValues | GridValues, rows: np.ndarray, columns: np.ndarray):
    """Reads flows bilinearly at n positions inside the image; invalid pixels count as zero.

    Returns:
        `(n, 4)`: dy, dx and confidence of the valid pixels around, times their weight, and that
        weight.
    """
    height, width = values.size
    top, left = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    found = values.at(
        np.concatenate([top, top, bottom, bottom]), np.tile(np.concatenate([left, right]), 2)
    )
    weights = found.valid.astype(np.float32)[:, np.newaxis]
    vectors = np.concatenate([found.displacement, found.confidence[:, np.newaxis]], axis=-1)
    corners = np.concatenate([vectors * weights, weights], axis=-1)
    upper_left, upper_right, lower_left, lower_right = np.split(corners, 4)
    down, across = (rows - top)[:, np.newaxis], (columns - left)[:, np.newaxis]  # (n, 1)
    upper = upper_left * (1 - across) + upper_right * across
    lower = lower_left * (1 - across) + lower_right * across
    return upper * (1 - down) + lower * down
