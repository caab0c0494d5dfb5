"""Regions as masks, and masks as regions of the kind that an annotation file holds."""

import dataclasses

import numpy as np

from anchornet_tf.annotations.checks import LARGEST_COORDINATE
from anchornet_tf.annotations.items import Region
from anchornet_tf.annotations.outlines import trace


def region_mask(region: Region, size: tuple[int, int]) -> np.ndarray:
    """Returns the pixels of a region: those whose centres are inside.

    Args:
        region: the region.
        size: `(height, width)` of its image.

    Returns:
        bool `(height, width)`.

    Raises:
        ValueError: If the region has a mask of another size, or is of no known kind.
    """
    height, width = size
    if region.kind == "mask":
        if region.mask is None or region.mask.shape != (height, width):
            raise ValueError(
                f"A mask must have the size of its image, {(height, width)}. "
                f"Received: {None if region.mask is None else region.mask.shape}"
            )
        return region.mask.astype(bool)
    mask = np.zeros((height, width), bool)
    if region.kind == "polygons":
        # Polygons of one region may overlap.
        for polygon in region.polygons:
            _add_polygon(mask, polygon)
    elif region.kind == "box":
        left, top, right, bottom = np.ceil(np.clip(region.box, 0, max(size))).astype(int)
        mask[top:bottom, left:right] = True
    else:
        raise ValueError(f"A region is a mask, polygons or a box. Received: kind={region.kind!r}")
    return mask


def region_from_mask(
    mask: np.ndarray, like: Region, score: float | None = None, tolerance: float = 0.0
) -> Region | None:
    """Returns a mask as a region of the name and kind of another one.

    Polygons follow the borders of the pixels, so that `region_mask` gives the same mask back. Each
    connected part becomes one polygon; a hole is joined to its border by a cut without width. A box
    is the smallest that holds the mask.

    Args:
        mask: bool `(height, width)`.
        like: a region whose name, kind and fields the new one gets.
        score: float, the mean probability over the region.
        tolerance: float, pixels by which polygons may leave the border to have fewer corners.

    Returns:
        The region, or None if the mask is empty.
    """
    mask = np.asarray(mask, bool)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if rows.size == 0:
        return None
    region = dataclasses.replace(like, polygons=(), mask=None, box=None, score=score)
    if like.kind == "mask":
        return dataclasses.replace(region, mask=mask)
    if like.kind == "box":
        box = columns[0] - 0.5, rows[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5
        return dataclasses.replace(region, box=tuple(map(float, box)))
    return dataclasses.replace(region, polygons=tuple(trace(mask, tolerance)))


def _add_polygon(mask: np.ndarray, polygon: np.ndarray) -> None:
    """Sets the pixels whose centres are inside a polygon, of those that cross it an odd number.

    A centre on the border is inside at the left and upper border only, so that neighbours that
    share a border share no pixel.
    """
    corners = np.clip(np.asarray(polygon, np.float64), -LARGEST_COORDINATE, LARGEST_COORDINATE)
    if len(corners) < 3:
        return
    # The part of the image that the polygon can reach.
    low = np.clip(np.ceil(corners.min(axis=0)), 0, mask.shape[::-1]).astype(int)
    high = np.clip(np.ceil(corners.max(axis=0)), 0, mask.shape[::-1]).astype(int)
    (left, top), (right, bottom) = low, high
    if left >= right or top >= bottom:
        return
    start, end = corners, np.roll(corners, -1, axis=0)
    swapped = start[:, 1] > end[:, 1]
    start, end = np.where(swapped[:, None], [end, start], [start, end])
    # The rows whose centre line each edge crosses.
    first = np.clip(np.ceil(start[:, 1]), top, bottom).astype(np.int64)
    lengths = np.clip(np.ceil(end[:, 1]), top, bottom).astype(np.int64) - first
    start, end, first, lengths = (array[lengths > 0] for array in (start, end, first, lengths))
    slope = (end[:, 0] - start[:, 0]) / (end[:, 1] - start[:, 1])
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(first, lengths) + within
    x = np.repeat(start[:, 0], lengths) + (rows - np.repeat(start[:, 1], lengths)) * np.repeat(
        slope, lengths
    )
    columns = np.clip(np.ceil(x), left, right).astype(np.int64)
    # Each crossing turns all pixels to its right over; one column more takes those beyond.
    width = right - left + 1
    turns = np.zeros((bottom - top) * width, np.uint8)
    np.add.at(turns, (rows - top) * width + columns - left, 1)
    inside = np.bitwise_xor.accumulate(turns.reshape(-1, width) & 1, axis=1)[:, :-1]
    mask[top:bottom, left:right] |= inside.astype(bool)
