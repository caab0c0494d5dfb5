"""Files that are complete or absent: atomic writes, locks between processes, the cache folder."""

import contextlib
import hashlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

CACHE_VARIABLE = "ANCHORNET_CACHE"


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
    behind.
    """
    path = pathlib.Path(path)
    make_folder(path.parent)
    # The suffix is kept, because NumPy, Pillow and matplotlib choose the format by it.
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = pathlib.Path(name)
    try:
        yield temporary
        # mkstemp makes files private; a published file gets the mode that `open` would have given.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike) -> Iterator[pathlib.Path]:
    """Yields a temporary folder that becomes `path` when the block succeeds.

    Raises:
        FileExistsError: If `path` exists and is not an empty folder.
    """
    path = pathlib.Path(path)
    make_folder(path.parent)
    temporary = pathlib.Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)
        try:
            os.rename(temporary, path)
        except OSError as error:
            raise FileExistsError(
                f"Expected a folder that does not exist yet. Received: {path}"
            ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def locked(path: str | os.PathLike) -> Iterator[None]:
    """Holds an exclusive lock on `path` + ".lock", so that only one process does the work.

    The system releases the lock when the process ends, even if it is killed.
    """
    path = pathlib.Path(path)
    make_folder(path.parent)
    with open(path.with_name(path.name + ".lock"), "w") as handle:
        try:
            import fcntl
        except ImportError:  # Windows has no such lock; renaming still keeps files complete.
            yield
            return
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def sha256_of(path: str | os.PathLike) -> str:
    """Returns the SHA-256 of a file's bytes in hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
