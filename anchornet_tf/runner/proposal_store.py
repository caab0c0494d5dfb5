"""Box proposals, found once an image and kept on disk."""

import concurrent.futures
import hashlib
import os
import pathlib
from collections.abc import Iterable

import numpy as np
import tqdm

from anchornet_tf.features import proposals
from anchornet_tf.utils import files


class ProposalStore:
    """Proposes boxes and remembers them in files that are named after the image's pixels.

    Args:
        folder: where to keep them, or None for the cache folder.
        num_boxes: int. Boxes an image at most.
        method: see `anchornet_tf.features.proposals.propose_boxes`.
    """

    def __init__(
        self, folder: str | os.PathLike | None = None, num_boxes: int = 1000, method: str = "auto"
    ):
        self._folder = pathlib.Path(folder) if folder else files.cache_folder() / "boxes"
        self._num_boxes = num_boxes
        self._method = method

    def boxes(self, image: np.ndarray) -> np.ndarray:
        """Returns `(n, 4)` boxes of a uint8 `(height, width, 3)` image."""
        path = self._path(image)
        if not path.is_file():
            self._keep(path, proposals.propose_boxes(image, self._num_boxes, self._method))
        return np.load(path)

    def prepare(self, images: Iterable[np.ndarray], pool, total: int, progress: bool = True):
        """Finds the boxes of many images.

        Args:
            images: uint8 images.
            pool: executor to run on, or None for this process.
            total: int, their number.
            progress: bool. Whether to show a bar where there is something to do.
        """
        waiting: dict[concurrent.futures.Future, pathlib.Path] = {}
        bar = None
        for image in images:
            path = self._path(image)
            if path.is_file():
                continue
            bar = bar or tqdm.tqdm(total=total, desc="boxes", unit="image", disable=not progress)
            if pool is None:
                self.boxes(image)
                bar.update()
            elif path not in waiting.values():
                future = pool.submit(proposals.propose_boxes, image, self._num_boxes, self._method)
                waiting[future] = path
        for future in concurrent.futures.as_completed(waiting):
            self._keep(waiting[future], future.result())
            bar.update()
        if bar is not None:
            bar.close()

    def _path(self, image: np.ndarray) -> pathlib.Path:
        digest = hashlib.blake2b(np.ascontiguousarray(image), digest_size=12).hexdigest()
        height, width = image.shape[:2]
        return self._folder / f"{digest}-{height}x{width}-{self._method}-{self._num_boxes}.npy"

    @staticmethod
    def _keep(path: pathlib.Path, boxes: np.ndarray) -> None:
        with files.atomic_file(path) as temporary:
            np.save(temporary, boxes)
