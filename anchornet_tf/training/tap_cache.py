"""Projected taps of images on disk: with a frozen trunk, no image passes through it twice."""

import hashlib
import json
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable

import numpy as np
from tqdm import tqdm

from anchornet_tf.trunks import registry
from anchornet_tf.trunks.description import TrunkDescription
from anchornet_tf.trunks.pca import DIMENSIONS
from anchornet_tf.utils import files
from anchornet_tf.utils.safe_names import safe_name


def tap_shapes(
    image_size: int,
    dimensions: int = DIMENSIONS,
    trunk: TrunkDescription | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Returns the (height, width, dimensions) of each projected tap for square images.

    Args:
        image_size: int. Side of the images.
        dimensions: int. Channels kept of each tap, or all where it has fewer.
        trunk: The trunk; None for the paper's.
    """
    trunk = trunk or registry.find(registry.DEFAULT)
    grids = trunk.grids(image_size, image_size)
    depths = trunk.depths(dimensions)
    return tuple((*grid, depth) for grid, depth in zip(grids, depths, strict=True))


def cache_key(**identity) -> str:
    """Returns a folder name that changes with anything that the cached numbers depend on."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]


class TapCache:
    """Rows of float16 taps in memory-mapped files, written once and kept for later runs.

    The files are sparse: rows that were never computed take no room on the disk. A row counts only
    after all of it was written, so an interrupted run goes on where it stopped.

    Args:
        folder: where the files are; made when missing. One folder per `cache_key`.
        num_rows: int. Rows in all.
        image_size: int. Side of the images that the taps come from.
        dimensions: int. Channels of each tap after the PCA, at most.
        trunk: The trunk that they are taps of; None for the paper's.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        num_rows: int,
        image_size: int,
        dimensions: int = DIMENSIONS,
        trunk: TrunkDescription | None = None,
    ):
        self.folder = files.make_folder(folder)
        self.num_rows = num_rows
        trunk = trunk or registry.find(registry.DEFAULT)
        self.shapes = tap_shapes(image_size, dimensions, trunk)
        with files.locked(self.folder / "tap_cache"):
            self._taps = [
                self._open(safe_name(name), np.float16, (num_rows, *shape))
                for name, shape in zip(trunk.tap_names, self.shapes, strict=True)
            ]
            self._done = self._open("done", np.uint8, (num_rows,))

    def _open(self, name: str, dtype, shape) -> np.memmap:
        path = self.folder / f"{name}.{np.dtype(dtype).name}"
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if not path.exists():
            with open(path, "wb") as handle:
                handle.truncate(size)
        if path.stat().st_size != size:
            raise ValueError(
                f"Expected a cache file of {size} bytes; remove the folder to start over. "
                f"Received: {path} of {path.stat().st_size} bytes"
            )
        return np.memmap(path, dtype, "r+", shape=shape)

    @property
    def bytes_per_row(self) -> int:
        """Bytes that one computed row takes on the disk."""
        return sum(int(np.prod(shape)) for shape in self.shapes) * 2

    def missing(self, rows: np.ndarray) -> np.ndarray:
        """Returns those of `rows`, sorted and once each, that were not computed yet."""
        rows = np.unique(rows)
        return rows[self._done[rows] == 0]

    def fill(self, rows: np.ndarray, compute: Callable[[np.ndarray], Iterable]) -> int:
        """Computes the rows that are missing.

        Args:
            rows: `(n,)` rows that are wanted.
            compute: given the missing rows, yields `(some of them, their taps)` until all have
                come.

        Returns:
            the number of rows computed.

        Raises:
            OSError: where the disk has not enough room.
        """
        missing = self.missing(rows)
        self._check_room(len(missing))
        if len(missing):
            with tqdm(total=len(missing), desc="Caching taps", unit=" images") as bar:
                for some, taps in compute(missing):
                    for stored, tap in zip(self._taps, taps, strict=True):
                        stored[some] = tap
                    self._done[some] = 1
                    bar.update(len(some))
        return len(missing)

    def _check_room(self, num_rows: int) -> None:
        # Writing past a full disk through a memory map ends the process without a word.
        needed, free = num_rows * self.bytes_per_row, shutil.disk_usage(self.folder).free
        if needed > 0.95 * free:
            raise OSError(
                f"Expected {needed / 1e9:.1f} GB of free disk to cache the taps of {num_rows} "
                "images; name another folder with --cache_dir, or train with --nocache_features. "
                f"Received: {free / 1e9:.1f} GB free in {self.folder}"
            )

    def read(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Returns the taps of `rows`, `(n, h, w, dimensions)` float16 each."""
        if not self._done[rows].all():
            raise ValueError(
                f"Expected rows that were computed. Received: {self.missing(rows)[:5]}"
            )
        return tuple(np.asarray(stored[rows]) for stored in self._taps)


def default_folder() -> pathlib.Path:
    """Returns where caches go when no folder is named."""
    return files.cache_folder() / "taps"
