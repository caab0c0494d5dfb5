"""Box proposals, found once per image and kept on disk."""

import concurrent.futures
import hashlib
import os
import pathlib
from collections.abc import Iterable

import numpy as np
import tqdm
from absl import logging

from anchornet_tf.matchers.proposal_flow import ProposalFlowMatcher
from anchornet_tf.utils import files


class ProposalStore:
    """Keeps the boxes that matchers propose, in files named after a hash of the image's pixels.

    Args:
        folder: Where to keep the files, or None for the cache folder.
    """

    def __init__(self, folder: str | os.PathLike | None = None):
        self._folder = pathlib.Path(folder) if folder else files.cache_folder() / "boxes"

    def boxes(self, image: np.ndarray, matcher: ProposalFlowMatcher) -> np.ndarray:
        """Returns `(n, 4)` boxes of an image.

        Args:
            image: uint8 `(height, width, 3)`.
            matcher: Proposes the boxes; matchers with the same `proposal_options` share them.
        """
        path = self._path(image, matcher)
        if path.is_file():
            try:
                return _read(path)
            except (ValueError, EOFError) as error:
                logging.warning("Boxes are proposed anew: %s is damaged (%s).", path, error)
        boxes = matcher.propose(image)
        self._keep(path, boxes)
        return boxes

    def prepare(
        self,
        images: Iterable[np.ndarray],
        matcher: ProposalFlowMatcher,
        pool: concurrent.futures.Executor | None,
        total: int,
        progress: bool = True,
    ) -> None:
        """Finds the boxes of many images.

        Args:
            images: uint8 images.
            matcher: Proposes the boxes.
            pool: Executor to run on, or None to run in this process.
            total: int. The number of images.
            progress: bool. Whether to show a progress bar if there is something to do.
        """
        waiting: dict[concurrent.futures.Future, pathlib.Path] = {}
        bar = None
        for image in images:
            path = self._path(image, matcher)
            if path.is_file():
                continue
            bar = bar or tqdm.tqdm(total=total, desc="boxes", unit="image", disable=not progress)
            if pool is None:
                self.boxes(image, matcher)
                bar.update()
            elif path not in waiting.values():
                waiting[pool.submit(matcher.propose, image)] = path
        for future in concurrent.futures.as_completed(waiting):
            self._keep(waiting[future], future.result())
            bar.update()
        if bar is not None:
            bar.close()

    def _path(self, image: np.ndarray, matcher: ProposalFlowMatcher) -> pathlib.Path:
        digest = hashlib.blake2b(np.ascontiguousarray(image), digest_size=12).hexdigest()
        height, width = image.shape[:2]
        method, number = matcher.proposal_options
        return self._folder / f"{digest}-{height}x{width}-{method}-{number}.npy"

    @staticmethod
    def _keep(path: pathlib.Path, boxes: np.ndarray) -> None:
        with files.atomic_file(path) as temporary:
            np.save(temporary, boxes)


def _read(path: pathlib.Path) -> np.ndarray:
    boxes = np.load(path, allow_pickle=False)
    if not isinstance(boxes, np.ndarray) or boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError("it holds no boxes")
    return boxes
