"""What a run left behind: its files, and whether they are those of another run."""

import fnmatch
import hashlib
import os
import pathlib
from collections.abc import Sequence

# Files that are there to be locked, and hold nothing.
_LOCK = "*.lock"
_MOST = 5


def files_of(folder: pathlib.Path) -> dict[str, str]:
    """Returns the digest of every file below a folder, by its path; locks are left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not fnmatch.fnmatch(name, _LOCK):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def temporary(folder: pathlib.Path) -> list[str]:
    """Returns what is half-written below a folder: hidden files and folders that no run names."""
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob(".*"))
        if not fnmatch.fnmatch(path.name, _LOCK)
    ]


def newest_version(place: pathlib.Path) -> pathlib.Path:
    """Returns the folder of the newest version below `out`."""
    versions = [path for path in (place / "out").iterdir() if path.name.isdigit()]
    return max(versions, key=lambda path: int(path.name))


def difference(here: pathlib.Path, there: pathlib.Path, free: Sequence[str]) -> str:
    """Says how what is in two folders differs; an empty text where it does not.

    Args:
        here: A folder.
        there: The folder that it must equal.
        free: Patterns of files that need not be there nor be the same.
    """
    ours, theirs = files_of(here), files_of(there)
    differing = [
        name
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
        and not any(fnmatch.fnmatch(name, pattern) for pattern in free)
    ]
    return ", ".join(
        f"{name} ({'missing' if name not in ours else 'new' if name not in theirs else 'differs'})"
        for name in differing[:_MOST]
    )


def flip_bit(path: pathlib.Path, at: float) -> None:
    """Flips one bit of a file, at a share of its length."""
    raw = bytearray(path.read_bytes())
    raw[int(at * (len(raw) - 1))] ^= 1 << 3
    path.write_bytes(raw)


def halve(path: pathlib.Path) -> None:
    """Cuts a file in half."""
    os.truncate(path, path.stat().st_size // 2)
