"""Random access to *parts_world* on disk, drawn on first use."""

import contextlib
import logging as python_logging
import os
import pathlib
from collections.abc import Iterator

import tqdm
from absl import logging

from anchornet_tf.datasets.parts_world.layout import LABELS, SIZES, VERSION, members
from anchornet_tf.utils import files
from anchornet_tf.utils.unfinished import unfinished_folder

NAME = "parts_world"


class PartsWorldSource:
    """A split of *parts_world* as a sequence of dictionaries.

    An item holds `image` (uint8 `(224, 224, 3)`), `label` (str), `keypoints` (name -> (x, y,
    visible) in pixels), `part_masks` (name -> bool `(224, 224)`) and `box` ((left, top, right,
    bottom) in pixels, or None for a background).

    Args:
        records: the TFDS data source of the split.
        split: str. Its name.

    Attributes:
        labels: tuple of str. The label of every picture, known without reading it.

    Raises:
        ValueError: If the records are not those of this version of the set.
    """

    def __init__(self, records, split: str):
        self._records = records
        self.split = split
        self.labels = tuple(label for label, _ in members(split))
        if len(records) != len(self.labels):
            raise ValueError(
                f"The split {split!r} of {NAME} {VERSION} must hold {len(self.labels)} pictures; "
                f"remove its folder to have it drawn again. Received: {len(records)} pictures"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict:
        index = range(len(self))[index]
        record = self._records[index]
        part_map = record["part_map"][..., 0]
        names = [name.decode() for name in record["part_names"]]
        points = zip(record["keypoints"].tolist(), record["keypoint_visible"], strict=True)
        keypoints = [(x, y, bool(visible)) for (x, y), visible in points]
        keypoint_names = [name.decode() for name in record["keypoint_names"]]
        box = tuple(record["box"].tolist())
        return {
            "image": record["image"],
            "label": LABELS[int(record["label"])],
            "keypoints": dict(zip(keypoint_names, keypoints, strict=True)),
            "part_masks": {name: part_map == i for i, name in enumerate(names, start=1)},
            "box": box if box[0] >= 0 else None,
        }

    def __iter__(self) -> Iterator[dict]:
        return (self[index] for index in range(len(self)))


def load(split: str, data_dir: str | os.PathLike | None = None) -> PartsWorldSource:
    """Opens a split of *parts_world*; draws the set first where it is not on disk yet.

    Args:
        split: str. "train" or "test".
        data_dir: folder of data sets; the set lies in its sub-folder `parts_world`. By default
            `$ANCHORNET_CACHE`, else `~/.cache/anchornet_tf`.

    Returns:
        PartsWorldSource.

    Raises:
        ValueError: If there is no such split.
        OSError: If the folder cannot be written.

    Example:

    ```python
    source = load("test")
    source.labels[0], source[0]["image"].shape
    ```
    """
    members(split)
    import tensorflow_datasets as tfds

    folder = prepare(data_dir)
    python_logging.getLogger("absl").addFilter(_says_more_than_that_opencv_is_missing)
    return PartsWorldSource(tfds.builder_from_directory(folder).as_data_source(split), split)


def prepare(data_dir: str | os.PathLike | None = None) -> pathlib.Path:
    """Draws the set into its folder unless it is there.

    Of several processes one draws and the others wait; a process that is killed leaves nothing that
    looks like the set.

    Args:
        data_dir: as for `load`.

    Returns:
        The folder of the set.
    """
    root = pathlib.Path(data_dir) if data_dir is not None else files.cache_folder()
    folder = root / NAME / VERSION
    if folder.is_dir():
        return folder
    with files.locked(folder):
        if not folder.is_dir():
            with unfinished_folder(folder.parent, VERSION) as scratch:
                os.rename(_build(str(scratch)), folder)
    return folder


def _build(data_dir: str) -> pathlib.Path:
    """Draws the set below `data_dir` with a progress bar; returns its folder."""
    from anchornet_tf.datasets.parts_world.builder import PartsWorld

    total = sum(len(members(split)) for split in SIZES)
    with _quiet_tfds(), tqdm.tqdm(total=total, desc=f"Drawing {NAME}", unit="image") as bar:
        builder = PartsWorld(data_dir=data_dir)
        builder.on_example = bar.update
        builder.download_and_prepare()
    return pathlib.Path(builder.data_path)


def _says_more_than_that_opencv_is_missing(record: python_logging.LogRecord) -> bool:
    """Tells the warnings of TFDS that matter from its advice to install OpenCV for speed."""
    return not str(record.msg).startswith("OpenCV is not installed")


@contextlib.contextmanager
def _quiet_tfds() -> Iterator[None]:
    """Leaves one progress bar, ours, in place of those of TFDS."""
    from tensorflow_datasets.core.utils import tqdm_utils

    bars, verbosity = tqdm_utils._active, logging.get_verbosity()
    tqdm_utils.display_progress_bar(False)
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        tqdm_utils.display_progress_bar(bars)
        logging.set_verbosity(verbosity)
