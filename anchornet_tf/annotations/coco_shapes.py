"""Masks and boxes as COCO writes them, whose origin is the corner of the first pixel.

Points are no concern of this module: COCO's keypoints have pixel centres at whole numbers, as here.
"""

import numpy as np

from anchornet_tf.annotations import rle
from anchornet_tf.annotations.checks import MISSING, MOST_MASK_PIXELS, Checker, plain_number
from anchornet_tf.annotations.items import Region

# From the corner of a pixel to its centre.
HALF = 0.5


def read_segmentation(value, size, score, check: Checker, place: str) -> Region:
    """Returns a segmentation: a list of polygons, or run lengths in either form.

    Args:
        value: the segmentation.
        size: `(height, width)` of the image, or None.
        score: the region's score, or None.
        check: the file's checker.
        place: the segmentation's place in the file.

    Raises:
        ValueError: If it is none, or is of another size than its image.
    """
    fields = {"segmentation": value}
    if isinstance(value, list):
        polygons = tuple(
            _read_polygon(polygon, check, f"{place}[{index}]")
            for index, polygon in enumerate(value)
        )
        return Region("", "polygons", polygons=polygons, score=score, fields=fields)
    if not isinstance(value, dict):
        raise check.error(place, "a list of polygons or an object of run lengths", value)
    mask = _read_runs(value, size, check, place)
    return Region("", "mask", mask=mask, score=score, fields=fields)


def _read_polygon(value, check: Checker, place: str) -> np.ndarray:
    numbers = check.numbers(value, place)
    if len(numbers) < 6 or len(numbers) % 2:
        raise check.error(place, "x and y of at least three corners", value)
    return np.array(numbers).reshape(-1, 2) - HALF


def _read_runs(value: dict, size, check: Checker, place: str) -> np.ndarray:
    own = value.get("size", MISSING)
    if not isinstance(own, list) or len(own) != 2:
        raise check.error(f"{place}.size", "[height, width]", own)
    own = tuple(check.length(length, f"{place}.size[{k}]") for k, length in enumerate(own))
    if size is not None and own != size:
        raise check.error(f"{place}.size", f"its image's height and width, {list(size)}", list(own))
    if own[0] * own[1] > MOST_MASK_PIXELS:
        raise check.error(f"{place}.size", f"at most {MOST_MASK_PIXELS} pixels", list(own))
    counts = value.get("counts", MISSING)
    try:
        if isinstance(counts, str):
            return rle.decode(rle.expand(counts), own)
        if isinstance(counts, list) and set(map(type, counts)) <= {int}:
            return rle.decode(np.array(counts, np.int64), own)
    except ValueError as error:
        raise ValueError(f"{place}.counts of {check.file}: {error}") from None
    except OverflowError:  # A whole number beyond 64 bits.
        pass
    raise check.error(f"{place}.counts", "a list of run lengths, or text", counts)


def write_segmentation(region: Region) -> list | dict:
    """Returns a region as a segmentation; one that did not change is written as it was read."""
    original = region.fields.get("segmentation")
    if region.kind == "polygons":
        if isinstance(original, list) and _same_polygons(original, region.polygons):
            return original
        return [
            [plain_number(value) for value in (polygon + HALF).ravel().tolist()]
            for polygon in region.polygons
        ]
    counts = rle.encode(region.mask)
    size = list(region.mask.shape)
    if not isinstance(original, dict):
        return {"size": size, "counts": rle.compress(counts)}
    # What else stands beside the run lengths is kept.
    rest = {key: value for key, value in original.items() if key not in ("size", "counts")}
    if isinstance(original["counts"], str):
        written = rle.compress(counts)
    else:
        written = counts.tolist()
    # The same mask can be written in other ways, such as with runs of no pixels.
    if list(original["size"]) == size and written != original["counts"]:
        old = original["counts"]
        old = rle.expand(old) if isinstance(old, str) else np.array(old)
        if np.array_equal(rle.decode(old, tuple(size)), region.mask):
            return original
    return {"size": size, "counts": written, **rest}


def _same_polygons(original: list, polygons: tuple[np.ndarray, ...]) -> bool:
    return len(original) == len(polygons) and all(
        np.array_equal(np.array(one, np.float64).reshape(-1, 2) - HALF, other)
        for one, other in zip(original, polygons, strict=True)
    )


def read_box(value, score, check: Checker, place: str) -> Region:
    """Returns a box `[x, y, width, height]`.

    Raises:
        ValueError: If it is none.
    """
    numbers = check.numbers(value, place)
    if len(numbers) != 4 or min(numbers[2:]) < 0:
        raise check.error(place, "[x, y, width, height], the latter not negative", value)
    return Region("", "box", box=_edges(numbers), score=score, fields={"bbox": value})


def _edges(numbers: list) -> tuple[float, float, float, float]:
    x, y, width, height = numbers
    return x - HALF, y - HALF, x + width - HALF, y + height - HALF


def write_box(region: Region) -> list:
    """Returns a box as COCO has it; one that did not change is written as it was read."""
    original = region.fields.get("bbox")
    if original is not None and _edges(original) == tuple(region.box):
        return original
    return write_edges(*region.box)


def write_edges(left: float, top: float, right: float, bottom: float) -> list:
    """Returns `[x, y, width, height]` from a region's outer edges."""
    return [plain_number(v) for v in (left + HALF, top + HALF, right - left, bottom - top)]


def edges_and_area(region: Region) -> tuple[tuple[float, float, float, float], float]:
    """Returns the outer edges of polygons or a mask, and how many pixels they cover."""
    if region.kind == "polygons":
        corners = np.concatenate(region.polygons)
        areas = [
            abs(float(polygon[:, 0] @ (np.roll(polygon[:, 1], -1) - np.roll(polygon[:, 1], 1)))) / 2
            for polygon in region.polygons
        ]
        return (*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()), sum(areas)
    rows = np.flatnonzero(region.mask.any(axis=1))
    columns = np.flatnonzero(region.mask.any(axis=0))
    if rows.size == 0:
        return (-HALF,) * 4, 0
    edges = columns[0] - HALF, rows[0] - HALF, columns[-1] + HALF, rows[-1] + HALF
    return tuple(map(float, edges)), int(region.mask.sum())
