"""LabelMe's shapes as regions and back.

LabelMe's coordinates begin at the corner of the first pixel. The two corners of a mask are
exceptions: they are its first and last pixel.
"""

import base64
import io
import math
import struct
import zlib

import numpy as np
from PIL import Image

from anchornet_tf.annotations.checks import MISSING, MOST_MASK_PIXELS, Checker, plain_number
from anchornet_tf.annotations.items import Region

# From the corner of a pixel to its centre.
HALF = 0.5
_CIRCLE_CORNERS = 12, 360
_UNREADABLE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)


def read_corners(shape: dict, check: Checker, place: str) -> np.ndarray:
    """Returns a shape's points, float64 `(n, 2)`, as LabelMe has them.

    Raises:
        ValueError: If they are not a list of `[x, y]`.
    """
    place = f"{place}.points"
    points = check.sequence(shape.get("points", MISSING), place)
    for k, point in enumerate(points):
        if not isinstance(point, list) or len(point) != 2:
            raise check.error(f"{place}[{k}]", "[x, y]", point)
    numbers = check.numbers([value for point in points for value in point], place)
    return np.array(numbers).reshape(-1, 2)


def read_region(shape: dict, size, check: Checker, place: str) -> Region | None:
    """Returns the region that a shape encloses, or None if it encloses none.

    Args:
        shape: the shape.
        size: `(height, width)` of the image, or None.
        check: the file's checker.
        place: the shape's place in the file.

    Raises:
        ValueError: If the shape is not as LabelMe writes it.
    """
    kind = shape.get("shape_type") or "polygon"
    if kind not in ("polygon", "rectangle", "oriented_rectangle", "circle", "mask"):
        return None
    corners = read_corners(shape, check, place)
    name = shape["label"]
    if kind in ("circle", "mask") and len(corners) != 2:
        raise check.error(f"{place}.points", f"two points of a {kind}", shape["points"])
    if kind == "mask":
        return Region(name, "mask", mask=_read_mask(shape, corners, size, check, place))
    if kind == "rectangle" and len(corners) == 2:
        edges = np.concatenate([corners.min(axis=0), corners.max(axis=0)]) - HALF
        return Region(name, "box", box=tuple(edges.tolist()))
    if kind == "circle":
        corners = _circle(*corners)
    # LabelMe lets its user remove the corners of a polygon until two are left.
    return Region(name, "polygons", polygons=(corners - HALF,)) if len(corners) >= 3 else None


def _circle(centre: np.ndarray, border: np.ndarray) -> np.ndarray:
    radius = float(np.hypot(*(border - centre)))
    fewest, most = _CIRCLE_CORNERS
    count = min(max(math.ceil(2 * math.pi * radius), fewest), most)
    angles = np.arange(count) * (2 * math.pi / count)
    return centre + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _read_mask(shape, corners, size, check: Checker, place: str) -> np.ndarray:
    if size is None or size[0] * size[1] > MOST_MASK_PIXELS:
        raise check.error(
            place, f"in an image of known size, of at most {MOST_MASK_PIXELS} pixels", size
        )
    place = f"{place}.mask"
    text = check.text(shape.get("mask", MISSING), place)
    try:
        with Image.open(io.BytesIO(base64.b64decode(text, validate=True))) as picture:
            # Decoded only when it is no larger than a picture of the image can be.
            small = picture.width * picture.height <= MOST_MASK_PIXELS
            pixels = np.asarray(picture) if small else None
    except _UNREADABLE:
        raise check.error(place, "a PNG picture in base64", text) from None
    if pixels is None or pixels.ndim != 2:
        raise check.error(place, "a picture of one channel, no larger than its image", text)
    left, top = np.round(corners[0]).astype(int).tolist()
    mask = np.zeros(size, bool)
    # The part of the picture that is inside the image.
    pixels = pixels[max(-top, 0) :, max(-left, 0) :]
    target = mask[max(top, 0) :, max(left, 0) :][: pixels.shape[0], : pixels.shape[1]]
    target[:] = pixels[: target.shape[0], : target.shape[1]] != 0
    return mask


def same_region(one: Region, other: Region) -> bool:
    """Returns whether two regions are the same part of the image, described in the same way."""
    return (
        one.kind == other.kind
        and one.box == other.box
        and len(one.polygons) == len(other.polygons)
        and all(map(np.array_equal, one.polygons, other.polygons))
        and (one.mask is None or np.array_equal(one.mask, other.mask))
    )


def write_region(region: Region) -> list[dict]:
    """Returns a region as shapes: `shape_type`, `points` and `mask`. Each polygon is a shape."""
    if region.kind == "polygons":
        return [
            {"shape_type": "polygon", "points": _written(polygon + HALF), "mask": None}
            for polygon in region.polygons
        ]
    if region.kind == "box":
        corners = np.array(region.box).reshape(2, 2) + HALF
        return [{"shape_type": "rectangle", "points": _written(corners), "mask": None}]
    rows, columns = np.flatnonzero(region.mask.any(axis=1)), np.flatnonzero(region.mask.any(axis=0))
    if rows.size == 0:
        return []
    top, bottom, left, right = rows[0], rows[-1], columns[0], columns[-1]
    picture = Image.fromarray(region.mask[top : bottom + 1, left : right + 1].astype(np.uint8))
    content = io.BytesIO()
    picture.save(content, format="PNG")
    return [
        {
            "shape_type": "mask",
            "points": _written(np.array([[left, top], [right, bottom]])),
            "mask": base64.b64encode(content.getvalue()).decode("ascii"),
        }
    ]


def _written(points: np.ndarray) -> list:
    return [[plain_number(x), plain_number(y)] for x, y in points.tolist()]
