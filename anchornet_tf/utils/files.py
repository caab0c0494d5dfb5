"""Files that are complete or absent: atomic writes, locks between processes, the cache folder."""

import contextlib
import hashlib
import os
import pathlib
import sys
from collections.abc import Iterator

from anchornet_tf.utils.unfinished import unfinished_file, unfinished_folder

CACHE_VARIABLE = "ANCHORNET_CACHE"
# The system has no way to read it but to change it, which other threads would notice.
_UMASK = os.umask(0o077)
os.umask(_UMASK)


def cache_folder() -> pathlib.Path:
    """Returns the folder for downloads: `$ANCHORNET_CACHE`, else `~/.cache/anchornet_tf`."""
    named = os.environ.get(CACHE_VARIABLE)
    return pathlib.Path(named) if named else pathlib.Path.home() / ".cache" / "anchornet_tf"


def make_folder(folder: str | os.PathLike) -> pathlib.Path:
    """Creates a folder and its parents, unless it exists, and returns its path.

    Raises:
        OSError: If the folder cannot be created or is a file; the message names it.
    """
    folder = pathlib.Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"Expected a folder that can be created and written to ({error.strerror}). "
            f"Received: {folder}"
        ) from error
    return folder


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike) -> Iterator[pathlib.Path]:
    """Yields a temporary path in the same folder that becomes `path` when the block succeeds.

    A reader sees the old file or the new one, never a part of one. A failed block leaves nothing
    behind. What a killed process left in the folder is cleared away by the next one.
    """
    path = pathlib.Path(path)
    make_folder(path.parent)
    # The suffix is kept, because NumPy, Pillow and matplotlib choose the format by it.
    with unfinished_file(path.parent, path.stem, path.suffix) as temporary:
        yield temporary
        # A temporary file is private; a published one gets the mode that `open` would have given.
        temporary.chmod(0o666 & ~_UMASK)
        os.replace(temporary, path)


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike) -> Iterator[pathlib.Path]:
    """Yields a temporary folder that becomes `path` when the block succeeds.

    Raises:
        FileExistsError: If `path` exists and is not an empty folder.
    """
    path = pathlib.Path(path)
    make_folder(path.parent)
    with unfinished_folder(path.parent, path.name) as temporary:
        yield temporary
        publish_folder(temporary, path)


def publish_folder(temporary: pathlib.Path, path: pathlib.Path) -> None:
    """Gives an `unfinished_folder` its name, with the mode that `mkdir` would have given.

    Raises:
        FileExistsError: If `path` exists and is not an empty folder.
    """
    temporary.chmod(0o777 & ~_UMASK)
    try:
        os.rename(temporary, path)
    except OSError as error:
        raise FileExistsError(
            f"Expected a folder that does not exist yet. Received: {path}"
        ) from error


@contextlib.contextmanager
def locked(path: str | os.PathLike, waiting: str = "") -> Iterator[None]:
    """Holds an exclusive lock on `path` + ".lock", so that only one process does the work.

    The system releases the lock when the process ends, even if it is killed.

    Args:
        path: What is worked on.
        waiting: What to say, on the standard error, where another process has to be waited for.
    """
    path = pathlib.Path(path)
    make_folder(path.parent)
    with open(path.with_name(path.name + ".lock"), "w") as handle:
        try:
            import fcntl
        except ImportError:  # Windows has no such lock; renaming still keeps files complete.
            yield
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting:
                print(waiting, file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def sha256_of(path: str | os.PathLike) -> str:
    """Returns the SHA-256 of a file's bytes in hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
