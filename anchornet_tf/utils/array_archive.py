"""Opens .npz archives from anywhere: plain arrays only, and no larger than they may be.

Nothing in such a file is ever run: objects, which NumPy would unpickle, are refused. Its sizes are
checked before memory is asked for.
"""

import contextlib
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

# The trunk with everything else in it takes a fortieth of this.
MOST_BYTES = 2**32
_ENDING = ".npy"
# What reading a damaged or foreign archive may raise, in `open_archive` or when an array is taken.
DAMAGE = (
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextlib.contextmanager
def reading(path: str | os.PathLike, expected: str) -> Iterator[np.lib.npyio.NpzFile]:
    """Opens an archive as `open_archive` does; whatever goes wrong in the block is one ValueError.

    Args:
        path: The file.
        expected: What it should be, such as "Expected a bank".

    Raises:
        ValueError: If the archive is damaged or is something else; the message names it.
    """
    try:
        with open_archive(path) as archive:
            yield archive
    except DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"{expected} ({reason}). Received: {os.fspath(path)}") from error


@contextlib.contextmanager
def open_archive(path: str | os.PathLike | BinaryIO) -> Iterator[np.lib.npyio.NpzFile]:
    """Opens an archive for reading.

    Args:
        path: The file, or its contents as a binary stream.

    Yields:
        The archive, a mapping of names to arrays.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is no archive of plain arrays, or says that it holds more than it does or
            may.
        zipfile.BadZipFile: If it is damaged.
    """
    found = np.load(path, allow_pickle=False)
    if not isinstance(found, np.lib.npyio.NpzFile):
        raise ValueError("it is no archive of arrays")
    with found as archive:
        _check(archive.zip)
        yield archive


def _check(archive: zipfile.ZipFile) -> None:
    total = 0
    for member in archive.infolist():
        total += member.file_size
        if total > MOST_BYTES:
            raise ValueError(f"it unpacks to more than {MOST_BYTES:,} bytes")
        if not member.filename.endswith(_ENDING):
            raise ValueError(f"it holds {member.filename!r}, which is no array")
        with archive.open(member) as file:
            name = member.filename.removesuffix(_ENDING)
            shape, kind, start = _header(file, name)
        if kind.hasobject:
            raise ValueError(f"{name!r} holds objects, not numbers")
        needed = math.prod(shape) * kind.itemsize + start
        if needed > member.file_size:
            raise ValueError(
                f"{name!r} says that it has the shape {shape}, which takes {needed:,} bytes, but "
                f"has {member.file_size:,}"
            )


def _header(file, name: str) -> tuple[tuple[int, ...], np.dtype, int]:
    """Reads how an array in a file says that it looks, and how many bytes that took."""
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"{name!r} is in version {version} of the format")
    try:
        shape, _, kind = readers[version](file)
    except MemoryError as error:
        # What Python's parser raises for thousands of signs in a row.
        raise ValueError(f"{name!r} has a header that cannot be read") from error
    return shape, kind, file.tell()
