"""Run lengths of COCO: masks as the lengths of runs, down the columns, beginning with background.

The compressed form packs each length into characters from "0" on, five bits in each, the lowest
first; the sixth bit says that more follow. From the fourth on, a length is written as the
difference to the one before the last.
"""

import numpy as np

_FIRST = 48  # "0"
_BITS = 5
_MORE = 1 << _BITS
# Lengths of 35 bits are more than any image has pixels.
_MOST_CHARACTERS = 7


def encode(mask: np.ndarray) -> np.ndarray:
    """Returns the run lengths, int64, of a mask `(height, width)`."""
    pixels = np.asarray(mask, bool).ravel(order="F")
    changes = np.flatnonzero(pixels[1:] != pixels[:-1]) + 1
    # The first run is background, and has no pixels where the mask begins with foreground.
    first = [0, 0] if pixels.size and pixels[0] else [0]
    return np.diff(np.concatenate([first, changes, [pixels.size]]))


def decode(counts: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Returns the mask, bool `(height, width)`, of run lengths.

    Raises:
        ValueError: If the lengths are negative or do not add up to the size.
    """
    counts = np.asarray(counts, np.int64)
    height, width = size
    # Each is checked before the sum, which could overflow.
    if (counts < 0).any() or (counts > height * width).any() or counts.sum() != height * width:
        total = sum(counts.tolist())
        raise ValueError(
            f"Run lengths must be positive and add up to {height} x {width} = {height * width}. "
            f"Received: {len(counts)} lengths with the sum {total}"
        )
    foreground = np.arange(len(counts)) % 2 == 1
    return np.repeat(foreground, counts).reshape((height, width), order="F")


def compress(counts: np.ndarray) -> str:
    """Returns run lengths as the characters that pycocotools calls `counts`."""
    values = np.array(counts, np.int64)
    values[3:] -= np.asarray(counts, np.int64)[1:-2]
    # (values, characters): five bits each, the lowest first; the shift keeps the sign.
    shifts = _BITS * np.arange(_MOST_CHARACTERS)
    rest = values[:, None] >> shifts
    # A value ends with the first character whose own top bit already gives the sign of the rest.
    ends = (rest >= -(_MORE >> 1)) & (rest < _MORE >> 1)
    last = ends.argmax(axis=1)[:, None]
    place = np.arange(_MOST_CHARACTERS)
    characters = (rest & (_MORE - 1)) + np.where(place < last, _MORE, 0) + _FIRST
    return characters[place <= last].astype(np.uint8).tobytes().decode("ascii")


def expand(text: str) -> np.ndarray:
    """Returns the run lengths, int64, of a compressed text.

    Raises:
        ValueError: If the text is not such a text.
    """
    content = text.encode("ascii") if text.isascii() else b""
    characters = np.frombuffer(content, np.uint8).astype(np.int64) - _FIRST
    if characters.size == 0 or (characters < 0).any() or (characters >= 2 * _MORE).any():
        raise ValueError(
            "Compressed run lengths are written in the characters from `0` to `o`. "
            f"Received: {text[:40]!r}"
        )
    is_last = characters < _MORE
    ends = np.flatnonzero(is_last)
    starts = np.concatenate([[0], ends[:-1] + 1]) if ends.size else ends
    if not is_last[-1] or (ends - starts).max() >= _MOST_CHARACTERS:
        raise ValueError(
            "Each compressed run length must end, after few characters. "
            f"Received: ...{text[-40:]!r}"
        )
    within = np.arange(characters.size) - np.repeat(starts, ends - starts + 1)
    values = np.add.reduceat((characters & (_MORE - 1)) << (_BITS * within), starts)
    negative = (characters[ends] & (_MORE >> 1)) != 0
    values -= np.where(negative, 1 << (_BITS * (ends - starts + 1)), 0)
    # Undo the differences, which begin with the fourth: 1, 3, 5... and 2, 4, 6... add up.
    values[1::2] = np.cumsum(values[1::2])
    values[2::2] = np.cumsum(values[2::2])
    return values
