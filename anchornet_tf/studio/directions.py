"""Descriptors in fewer directions: small enough to send, close enough to see what is alike."""

import pathlib
import zipfile
from collections.abc import Callable

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap, resize_bilinear
from anchornet_tf.studio.packing import pack, quantized
from anchornet_tf.utils.array_archive import open_archive
from anchornet_tf.utils.files import atomic_file

# Of the preset's 256. By 128 of them, eight bits each, the best cell is the same for 73 % of all
# cells and within two cells for 89 %; by 64 for 51 % and 77 %.
COUNT = 128
# Cells along the long side of what is sent: more than that no page shows.
_MOST_CELLS = 64
_FITTED_TO = 24
_SMALLEST = 1e-12


def unit_vectors(values: np.ndarray) -> np.ndarray:
    """Returns vectors of length one along the last axis; those without a length stay zero."""
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    return values / np.maximum(lengths, _SMALLEST)


def fit(describe: Callable[[list[np.ndarray]], list[FeatureMap]]) -> np.ndarray:
    """Finds the directions in which the unit vectors of a descriptor are largest.

    The mean is not taken out, as dot products have to stay what they are.

    Args:
        describe: The descriptor. It is called with drawn images.

    Returns:
        float32 `(depth, at most COUNT)`, orthonormal columns.
    """
    from anchornet_tf.datasets import parts_world

    moments = None
    for start in range(0, _FITTED_TO, 8):
        images = [
            parts_world.draw(parts_world.CLASSES[number % len(parts_world.CLASSES)], number).image
            for number in range(start, start + 8)
        ]
        for features in describe(images):
            if features.depth <= COUNT:
                return np.eye(features.depth, dtype=np.float32)
            cells = unit_vectors(features.values.reshape(-1, features.depth).astype(np.float64))
            moments = cells.T @ cells + (0 if moments is None else moments)
    # Ascending eigenvalues: the last are the largest.
    return np.linalg.eigh(moments)[1][:, : -COUNT - 1 : -1].astype(np.float32)


def kept(path: pathlib.Path | None, make: Callable[[], np.ndarray]) -> np.ndarray:
    """Returns directions from a file, or makes them and keeps them there.

    Args:
        path: The file, or None to keep nothing.
        make: Makes them.
    """
    if path is not None and path.is_file():
        try:
            with open_archive(path) as archive:
                return archive["directions"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            pass  # Damaged: made again.
    made = make()
    if path is not None:
        try:
            with atomic_file(path) as temporary:
                np.savez(temporary, directions=made)
        except OSError:
            pass  # A cache that cannot be written is only slower.
    return made


def projected(features: FeatureMap, directions: np.ndarray) -> np.ndarray:
    """Returns unit vectors `(rows, columns, directions)` whose dot products are similarities."""
    grid = features.grid_size
    values = unit_vectors(features.values)
    if max(grid) > _MOST_CELLS:
        size = [max(1, round(side * _MOST_CELLS / max(grid))) for side in grid]
        values = unit_vectors(resize_bilinear(values, tuple(size), antialias=True))
    return unit_vectors(values @ directions)


def packed(features: FeatureMap, directions: np.ndarray) -> bytes:
    """Returns the features of an image as the page takes them."""
    values, scale = quantized(projected(features, directions), np.int8)
    rows, columns, depth = values.shape
    return pack({"rows": rows, "columns": columns, "depth": depth, "scale": scale}, values)
