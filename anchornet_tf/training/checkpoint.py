"""The checkpoints of a run: the last one and the one before, each with a checksum of itself."""

import dataclasses
import hashlib
import os
import pathlib

import numpy as np

from anchornet_tf.utils import files
from anchornet_tf.utils.array_archive import reading

_LAST = "checkpoint.npz"
_PREVIOUS = "checkpoint.previous.npz"
_STEP = "__step__"
_DIGEST = "__digest__"


@dataclasses.dataclass(frozen=True, eq=False)
class Checkpoint:
    """What a file holds.

    Attributes:
        path: The file.
        step: int. After how many steps it was written.
        arrays: The state, by name.
        damage: What is wrong with the last checkpoint, where this is the one before.
    """

    path: pathlib.Path
    step: int
    arrays: dict[str, np.ndarray]
    damage: str = ""


def write(folder: pathlib.Path, step: int, arrays: dict[str, np.ndarray]) -> None:
    """Writes a checkpoint; the last one becomes the one before."""
    arrays = {**arrays, _STEP: np.asarray(step, np.int64)}
    with files.atomic_file(folder / _LAST) as temporary:
        np.savez(temporary, **arrays, **{_DIGEST: _digest(arrays)})
        # A process that is killed between this line and the next finds the one before.
        if (folder / _LAST).exists():
            os.replace(folder / _LAST, folder / _PREVIOUS)


def exists(folder: pathlib.Path) -> bool:
    """Tells whether there is a checkpoint, damaged or not."""
    return any((folder / name).exists() for name in (_LAST, _PREVIOUS))


def forget_last(folder: pathlib.Path) -> None:
    """Removes the last checkpoint, but not the one before."""
    (folder / _LAST).unlink(missing_ok=True)


def read_newest(folder: pathlib.Path) -> Checkpoint | None:
    """Returns the last whole checkpoint of a folder, or None where there is none.

    Raises:
        ValueError: where there are checkpoints, and all of them are damaged.
    """
    paths = [folder / name for name in (_LAST, _PREVIOUS)]
    paths = [path for path in paths if path.exists()]
    first: ValueError | None = None
    for path in paths:
        try:
            found = _read(path)
        except ValueError as error:
            first = first or error
        else:
            return dataclasses.replace(found, damage=str(first) if first else "")
    if first:
        raise first
    return None


def _read(path: pathlib.Path) -> Checkpoint:
    with reading(path, "Expected a whole checkpoint; remove it to start over") as archive:
        arrays = {name: archive[name] for name in archive.files}
        # Those of earlier versions have none.
        expected = arrays.pop(_DIGEST, None)
        if expected is not None and not np.array_equal(expected, _digest(arrays)):
            raise ValueError("its checksum differs")
        return Checkpoint(path, int(arrays.pop(_STEP)), arrays)


def _digest(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Returns the SHA-256 of named arrays."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name}\n{array.dtype.str}\n{array.shape}\n".encode())
        total.update(array)
    return np.frombuffer(total.digest(), np.uint8)
