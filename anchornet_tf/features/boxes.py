"""Boxes: axis-parallel rectangles of pixels, the unit of region matching.

A set of boxes is an `(n, 4)` array of `(x1, y1, x2, y2)`: 0-based pixel coordinates of the first
and the last pixel, both inside the box, so that a box of one pixel has `x1 == x2` and `y1 == y2`.
"""

from typing import NamedTuple

import numpy as np


def check_boxes(boxes: np.ndarray, name: str = "boxes") -> np.ndarray:
    """Returns `boxes` as a float64 array `(n, 4)`; n may be zero.

    Raises:
        ValueError: If the shape is another, a coordinate is not finite or a box is inside out.
    """
    boxes = np.asarray(boxes, np.float64)
    if boxes.size == 0:
        boxes = boxes.reshape(0, 4)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(
            f"`{name}` must have shape (n, 4): x1, y1, x2, y2. Received: {name}.shape={boxes.shape}"
        )
    wrong = ~np.isfinite(boxes).all(axis=1) | (boxes[:, 2:] < boxes[:, :2]).any(axis=1)
    if wrong.any():
        raise ValueError(
            f"`{name}` must be finite with x1 <= x2 and y1 <= y2. "
            f"Received: {boxes[wrong][:3].tolist()}"
        )
    return boxes


class BoxFrames(NamedTuple):
    """Centres and half sizes of boxes, each an array `(n,)`."""

    center_x: np.ndarray
    center_y: np.ndarray
    half_width: np.ndarray
    half_height: np.ndarray


def box_frames(boxes: np.ndarray) -> BoxFrames:
    """Returns the centres and half sizes `(x2 - x1) / 2`, `(y2 - y1) / 2` of `(n, 4)` boxes."""
    x1, y1, x2, y2 = boxes.T
    return BoxFrames((x1 + x2) / 2, (y1 + y2) / 2, (x2 - x1) / 2, (y2 - y1) / 2)


def intersection_areas(boxes_a: np.ndarray, boxes_b: np.ndarray) -> np.ndarray:
    """Returns `(n_a, n_b)`: the number of pixels that each pair of boxes shares."""
    a, b = boxes_a[:, np.newaxis], boxes_b[np.newaxis]
    width = np.minimum(a[..., 2], b[..., 2]) - np.maximum(a[..., 0], b[..., 0]) + 1
    height = np.minimum(a[..., 3], b[..., 3]) - np.maximum(a[..., 1], b[..., 1]) + 1
    return np.maximum(width, 0) * np.maximum(height, 0)


def intersection_over_union(boxes_a: np.ndarray, boxes_b: np.ndarray) -> np.ndarray:
    """Returns `(n_a, n_b)`: shared pixels over pixels of either box."""
    shared = intersection_areas(boxes_a, boxes_b)
    return shared / (box_areas(boxes_a)[:, np.newaxis] + box_areas(boxes_b) - shared)


def box_areas(boxes: np.ndarray) -> np.ndarray:
    """Returns `(n,)`: the number of pixels of each box."""
    return (boxes[:, 2] - boxes[:, 0] + 1) * (boxes[:, 3] - boxes[:, 1] + 1)


def whole_image_box(image_size: tuple[int, int]) -> np.ndarray:
    """Returns `(1, 4)`: the box of all pixels of an image of `(height, width)`."""
    height, width = image_size
    return np.array([[0, 0, width - 1, height - 1]], np.float64)
