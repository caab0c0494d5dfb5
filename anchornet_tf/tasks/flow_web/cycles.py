"""Which flows agree with others: back and forth between two images, and around three.

A set of hubs is a row of bits, so that a set of N images takes N^3 / 8 bytes for each pixel, and
the number of hubs on which two sets agree is one operation on 64 of them.
"""

import concurrent.futures
import os
from collections.abc import Callable

import numpy as np

from anchornet_tf.tasks.flow_web.web import (
    FREE_BITS,
    NOWHERE,
    Web,
    pixel_numbers,
    pixel_places,
)

# Numbers that are worked on at a time: what is in use fits into the cache of a core.
CHUNK = 2**15
_WORD = np.dtype("<u8")


def for_each_image(work: Callable[[int], object], num_images: int) -> list:
    """Calls `work(image)` for all images, on all cores: NumPy runs outside Python's lock."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, range(num_images)))


def consistent_positions(web: Web, tolerance: float) -> list[np.ndarray]:
    """Checks 2-cycles: where flows land, if the way back ends near where they started.

    Args:
        web: The flows.
        tolerance: float. How far, in pixels along each axis, a cycle may end from its start.

    Returns:
        For each image a uint32 array `(pixels + 1, neighbours)` of packed places; `NOWHERE` for a
        flow that leaves the image or does not come back. So is the last row, the place after the
        last pixel.
    """
    height, width = web.size
    y, x = np.ascontiguousarray(pixel_places(web.size).T)
    reach = int(tolerance)

    def work(image: int) -> np.ndarray:
        own = web.links.neighbors[image]
        found = np.full((web.num_pixels + 1, len(own)), NOWHERE)
        # Pair by pair, pixels lie side by side.
        flows = np.ascontiguousarray(web.flows[image].swapaxes(0, 1))
        for column, (flow, other) in enumerate(zip(flows, own, strict=True)):
            down, across = y + flow[:, 0], x + flow[:, 1]
            valid = (down >= 0) & (down < height) & (across >= 0) & (across < width)
            there = np.where(valid, across * height + down, 0).astype(np.intp)
            back = web.flows[other][:, web.links.column(other, image)]
            # The way out and the way back cancel, to within the tolerance.
            off = np.abs(flow + np.take(_joined(back), there).view(np.int16).reshape(-1, 2))
            valid &= (off[:, 0] <= reach) & (off[:, 1] <= reach)
            places = down.astype(np.uint32) << np.uint32(16) | across.astype(np.uint32)
            found[:-1, column] = np.where(valid, places, NOWHERE)
        return found

    return for_each_image(work, len(web))


def hub_sets(
    web: Web, positions: list[np.ndarray], tolerance: float, chunk: int = CHUNK
) -> list[np.ndarray]:
    """Checks 3-cycles: the hubs through which a pixel lands where it lands directly.

    Args:
        web: The flows.
        positions: Of `consistent_positions`.
        tolerance: As in `consistent_positions`.
        chunk: int. Numbers that are worked on at a time.

    Returns:
        For each image a uint64 array `(words, pixels + 1, neighbours)`: bit b of all words is set
        where the hub `b` of `web.links.bits` agrees. The last row is empty.
    """
    bits = web.links.bits
    num_words = int(bits.max()) // 64 + 1
    reach = np.uint32(int(tolerance) * 0x10001)

    def work(image: int) -> np.ndarray:
        own = web.links.neighbors[image]
        direct = positions[image]
        found = np.zeros((num_words, *direct.shape), _WORD)
        as_bytes = found.view(np.uint8).reshape(*found.shape, 8)
        hubs = {int(bits[hub]): int(hub) for hub in own if hub != image}
        test = _AgreementTest(direct[:-1], reach, chunk)
        for byte in range(8 * num_words):
            group = [hubs.get(8 * byte + bit) for bit in range(8)]
            if group == [None] * 8:
                continue
            plane = np.zeros((web.num_pixels, len(own)), np.uint8)
            for hub in reversed(group):
                np.add(plane, plane, out=plane)
                if hub is not None:
                    column = web.links.column(image, hub)
                    landing = pixel_numbers(direct[:-1, column], web.size)
                    test.add(plane, aligned(web, positions[hub], hub, image, NOWHERE), landing)
            as_bytes[byte // 8, :-1, :, byte % 8] = plane
        found[:, :-1][:, direct[:-1] == NOWHERE] = 0
        _clear_own_bits(found, own, image, bits)
        return found

    return for_each_image(work, len(web))


def hub_counts(hubs: np.ndarray) -> np.ndarray:
    """Returns the number of hubs in sets `(words, ...)`, as uint8 or wider."""
    counts = np.bitwise_count(hubs)
    return counts[0] if len(counts) == 1 else counts.sum(axis=0, dtype=np.uint16)


def aligned(web: Web, values: np.ndarray, image: int, other: int, missing) -> np.ndarray:
    """Returns columns for the neighbours of `image` in the order of those of `other`.

    Args:
        web: The flows.
        values: Array `(..., neighbours of image)`.
        image: int.
        other: int.
        missing: The value for neighbours of `other` that `image` does not have.
    """
    if web.links.is_complete:
        return values
    columns, there = web.links.columns(image, web.links.neighbors[other])
    values = np.take(values, columns, axis=-1)
    values[..., ~there] = missing
    return values


def _joined(flow: np.ndarray) -> np.ndarray:
    """Returns int16 vectors `(n, 2)` as single numbers `(n,)`, which are looked up at once."""
    return np.ascontiguousarray(flow).view(np.int32)[:, 0]


class _AgreementTest:
    """Compares where pixels land directly and through a hub, a chunk at a time."""

    def __init__(self, direct: np.ndarray, reach: np.uint32, chunk: int):
        self._direct = direct
        self._limit = reach + FREE_BITS
        self._rows = max(1, chunk // direct.shape[1])
        shape = min(self._rows, len(direct)), direct.shape[1]
        self._through, self._below = (np.empty(shape, np.uint32) for _ in range(2))
        self._agree = np.empty(shape, bool)

    def add(self, plane: np.ndarray, hub_positions: np.ndarray, landing: np.ndarray) -> None:
        """Sets the lowest bit of `plane` where the way through a hub lands near the direct way."""
        for start in range(0, len(landing), self._rows):
            part = slice(start, min(start + self._rows, len(landing)))
            size = part.stop - part.start
            through, below, agree = self._through[:size], self._below[:size], self._agree[:size]
            np.take(hub_positions, landing[part], axis=0, out=through, mode="clip")
            # The free bits survive the subtractions where neither axis is beyond the limit.
            np.subtract(through, self._direct[part], out=through)
            np.add(through, self._limit, out=below)
            np.subtract(self._limit, through, out=through)
            np.bitwise_and(below, through, out=below)
            np.bitwise_and(below, FREE_BITS, out=below)
            np.equal(below, FREE_BITS, out=agree)
            np.bitwise_or(plane[part], agree.view(np.uint8), out=plane[part])


def _clear_own_bits(found: np.ndarray, own: np.ndarray, image: int, bits: np.ndarray) -> None:
    """Neither end of a pair is a hub of it, and an image has no flow to itself."""
    for column, other in enumerate(own):
        if other == image:
            found[:, :, column] = 0
            continue
        word, bit = divmod(int(bits[other]), 64)
        found[word, :, column] &= ~np.uint64(1 << bit)
