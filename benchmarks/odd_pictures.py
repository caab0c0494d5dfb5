"""Pairs of images that nobody expects: too small, too large, empty, narrow, not of numbers."""

import numpy as np

from benchmarks.pictures import drawn_image

# What must be refused; all others must be matched.
REFUSED = ("NaN", "infinity")
LARGE = "24 megapixels"
USUAL = "usual"
IDENTICAL = "identical"
NAMES = (
    USUAL,
    *REFUSED,
    IDENTICAL,
    "constant",
    "constant, then usual",
    "one pixel",
    "32 pixels",
    "33 x 700",
    LARGE,
)
_SIZE = (375, 500)


def pair(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the two images of a pair of `NAMES`, `(height, width, 3)`."""
    if name in REFUSED:
        image = drawn_image(0, _SIZE).astype(np.float32)
        image[200, 300, 1] = {"NaN": np.nan, "infinity": np.inf}[name]
        return image, drawn_image(1, _SIZE)
    if name == IDENTICAL:
        return (drawn_image(0, _SIZE),) * 2
    if name.startswith("constant"):
        flat = np.full((*_SIZE, 3), 77, np.uint8)
        return flat, drawn_image(1, _SIZE) if name != "constant" else flat[:, :300] + np.uint8(60)
    if name == "one pixel":
        return _dot(100, 120), _dot(300, 400)
    if name == "33 x 700":
        return drawn_image(0, (33, 700)), drawn_image(1, _SIZE)
    size = {USUAL: _SIZE, "32 pixels": (32, 32), LARGE: (4000, 6000)}[name]
    return drawn_image(0, size), drawn_image(1, size)


def _dot(row: int, column: int) -> np.ndarray:
    """Returns a black image whose object is one white pixel."""
    image = np.zeros((*_SIZE, 3), np.uint8)
    image[row, column] = 255
    return image
