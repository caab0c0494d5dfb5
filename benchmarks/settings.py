"""What a run of the benchmarks is."""

import dataclasses
import pathlib
from typing import TypeVar

_Size = TypeVar("_Size")
_MANIFEST = "labels.csv"


@dataclasses.dataclass(frozen=True)
class Settings:
    """How much to measure, on which images.

    Args:
        repeats: int. Rounds that count.
        quick: bool. Tiny sizes: everything runs, the figures say nothing.
        data: images with labels, as in `anchornet_tf.datasets.sources.open_source`.
    """

    repeats: int = 7
    quick: bool = False
    data: str = "parts_world"

    def __post_init__(self):
        if self.repeats < 1:
            raise ValueError(
                f"`repeats` must be a positive integer. Received: repeats={self.repeats}"
            )

    def choose(self, full: _Size, quick: _Size) -> _Size:
        """Returns the size of a proper run, or that of a quick one."""
        return quick if self.quick else full


def data_of(data_dir: str) -> str:
    """Returns the specification of the images that a user names.

    Args:
        data_dir: a folder with one sub-folder per class, a manifest (.csv), a folder with
            `labels.csv` in it, or nothing for the embedded set.

    Returns:
        str, as `anchornet_tf.datasets.sources.open_source` takes it.

    Raises:
        ValueError: If there is no such folder or file.
    """
    if not data_dir:
        return "parts_world"
    path = pathlib.Path(data_dir)
    if path.is_dir():
        manifest = path / _MANIFEST
        return f"manifest:{manifest}" if manifest.is_file() else f"folder:{path}"
    if path.is_file() and path.suffix == ".csv":
        return f"manifest:{path}"
    raise ValueError(
        "Expected a folder with one sub-folder per class, or a manifest (.csv). "
        f"Received: {data_dir}"
    )
