"""Temporary files and folders that are cleared away even if the process that made them was killed.

Each is locked as long as it is worked on. The system releases the lock when the process ends,
however it ends, so that whoever comes next can tell what is still worked on from what is left over.
"""

import contextlib
import os
import pathlib
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # Windows has no such lock: there, nothing is taken for left over.
    fcntl = None

_MARK = "-unfinished-"
# What tempfile puts behind the mark, and the suffix of the file.
_NAME = re.compile(rf"\..*{_MARK}[a-z0-9_]{{8}}(?:\.[^.]+)?", re.DOTALL)
_swept: set[str] = set()
_sweeping = threading.Lock()


@contextlib.contextmanager
def unfinished_file(folder: pathlib.Path, stem: str, suffix: str) -> Iterator[pathlib.Path]:
    """Yields the path of an empty file in a folder; it is removed unless it was renamed."""
    _sweep_once(folder)

    def make():
        handle, name = tempfile.mkstemp(prefix=f".{stem}{_MARK}", suffix=suffix, dir=folder)
        return handle, name

    handle, path = _claimed(make)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


@contextlib.contextmanager
def unfinished_folder(folder: str | os.PathLike, stem: str) -> Iterator[pathlib.Path]:
    """Yields the path of an empty folder in a folder; it is removed unless it was renamed."""
    folder = pathlib.Path(folder)
    _sweep_once(folder)

    def make():
        name = tempfile.mkdtemp(prefix=f".{stem}{_MARK}", dir=folder)
        try:
            return os.open(name, os.O_RDONLY), name
        except OSError:  # Windows does not open folders; elsewhere it was swept away already.
            return None, name

    handle, path = _claimed(make)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if handle is not None:
            os.close(handle)


class ScratchFolder:
    """A folder among the system's temporary ones, as `tempfile.TemporaryDirectory` makes them.

    Args:
        stem: What its name begins with.

    Attributes:
        path: The folder.
    """

    def __init__(self, stem: str):
        stack = contextlib.ExitStack()
        self.path = stack.enter_context(unfinished_folder(tempfile.gettempdir(), stem))
        self._end = weakref.finalize(self, stack.close)

    def cleanup(self) -> None:
        """Removes the folder."""
        self._end()

    def __enter__(self) -> pathlib.Path:
        return self.path

    def __exit__(self, *_) -> None:
        self.cleanup()


def sweep(folder: str | os.PathLike) -> list[str]:
    """Removes what killed processes left unfinished in a folder; returns the names."""
    removed = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and _remove_if_left(entry):
                removed.append(entry.name)
    return removed


def _sweep_once(folder: pathlib.Path) -> None:
    # Once per process: a folder may hold very many files.
    name = os.path.abspath(folder)
    with _sweeping:
        if name in _swept:
            return
        _swept.add(name)
    sweep(folder)


def _remove_if_left(entry: os.DirEntry) -> bool:
    """Removes a file or folder that nobody works on."""
    if fcntl is None or entry.is_symlink():
        return False
    try:
        handle = os.open(entry.path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
        return True
    except OSError:  # Somebody works on it, or it belongs to another user.
        return False
    finally:
        os.close(handle)


def _claimed(make) -> tuple[int | None, pathlib.Path]:
    """Makes something and locks it; makes another where it was swept away in between."""
    while True:
        handle, name = make()
        if handle is None:
            if fcntl is None:
                return None, pathlib.Path(name)
            continue
        if fcntl is None:
            return handle, pathlib.Path(name)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.stat(name).st_ino == os.fstat(handle).st_ino:
                return handle, pathlib.Path(name)
        os.close(handle)
