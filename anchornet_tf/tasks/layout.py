"""How alike two images are as wholes: what is where, coarsely."""

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap, resize_bilinear

_GRID = 7
# An object need not be in the middle: layouts are compared under shifts of so many cells.
_SHIFT = 2
_SMALLEST = 1e-6


def layout_of(features: FeatureMap) -> np.ndarray:
    """Returns the descriptors of an image on a coarse grid, `(7, 7, depth)`.

    Their mean over the image is removed, so that they say what is where.
    """
    values = features.values
    values = values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), _SMALLEST)
    return resize_bilinear(values, (_GRID, _GRID), antialias=True)


def layout_similarity(first: np.ndarray, second: np.ndarray) -> float:
    """Returns how alike two layouts are under the best shift, at most 1.

    Args:
        first: As `layout_of` returns it.
        second: Another, of the same depth.
    """
    products = np.einsum("abd,ijd->abij", first, second)
    lengths = np.linalg.norm(first) * np.linalg.norm(second) + _SMALLEST
    best = -np.inf
    for down in range(-_SHIFT, _SHIFT + 1):
        for across in range(-_SHIFT, _SHIFT + 1):
            rows = np.arange(max(0, -down), min(_GRID, _GRID - down))
            columns = np.arange(max(0, -across), min(_GRID, _GRID - across))
            a, b = np.meshgrid(rows, columns, indexing="ij")
            best = max(best, products[a, b, a + down, b + across].sum())
    return float(best / lengths)
