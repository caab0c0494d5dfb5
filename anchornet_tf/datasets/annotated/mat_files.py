"""Reads .mat files of others: SciPy's reader ends the process for some that are damaged.

Its compiled code trusts the types and sizes that a file states. They are checked here first.
"""

import pathlib
import struct
import zlib

import scipy.io

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
# The types of numbers and text that version 5 of the format knows, with their bytes.
_ITEM_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8, 16: 1, 17: 2, 18: 4}
_CLASSES = range(1, 18)
_DEEPEST = 20
_MOST_BYTES = 2**28


def read_mat(path: pathlib.Path, **options) -> dict:
    """Returns the variables of a .mat file, as `scipy.io.loadmat` does.

    Raises:
        ValueError: If it is damaged; the message names it.
    """
    try:
        raw = path.read_bytes()
        # Older and newer versions have other headers; SciPy reads or refuses them in Python.
        if len(raw) > _HEADER and raw[124:128] == b"\x00\x01IM":
            _check(raw[_HEADER:], 0)
        elif raw[126:128] in (b"MI", b"IM") and len(raw) > _HEADER:
            raise ValueError(f"its version is {raw[124:126].hex()}")
        return scipy.io.loadmat(path, **options)
    # SciPy raises nearly anything for damaged files.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"Expected a readable .mat file. Received: {path} ({reason})") from error


def _check(raw: bytes, depth: int) -> None:
    """Checks the elements that follow each other in some bytes."""
    if depth > _DEEPEST:
        raise ValueError("its variables are nested too deeply")
    at = 0
    while at < len(raw):
        kind, content, at = _element(raw, at)
        if kind == _COMPRESSED:
            _check(_unpacked(content), depth + 1)
        elif kind == _MATRIX:
            _check_matrix(content, depth + 1)
        elif len(content) % _ITEM_SIZES[kind]:
            raise ValueError(f"{len(content)} bytes do not make numbers of type {kind}")


def _element(raw: bytes, at: int) -> tuple[int, bytes, int]:
    """Returns the type and the content of an element, and where the next one begins."""
    if at + 8 > len(raw):
        raise ValueError("it is cut short")
    first, size = struct.unpack_from("<II", raw, at)
    start, after = at + 8, at + 8 + size
    if first >> 16:  # Up to four bytes are kept in the tag itself.
        first, size = first & 0xFFFF, first >> 16
        start, after = at + 4, at + 8
        if size > 4:
            raise ValueError(f"a small element has {size} bytes")
    elif first != _COMPRESSED:
        after += -size % 8
    if first not in _ITEM_SIZES and first not in (_MATRIX, _COMPRESSED):
        raise ValueError(f"it holds an element of type {first}")
    if start + size > len(raw):
        raise ValueError("it is cut short")
    return first, raw[start : start + size], after


def _check_matrix(raw: bytes, depth: int) -> None:
    if not raw:
        return
    kind, flags, at = _element(raw, 0)
    if kind != 6 or len(flags) != 8 or flags[0] not in _CLASSES:
        raise ValueError("a variable is of an unknown kind")
    kind, sizes, at = _element(raw, at)
    if kind != 5 or len(sizes) % 4 or not 8 <= len(sizes) <= 128:
        raise ValueError("a variable has no sizes")
    total = 1
    for side in struct.unpack(f"<{len(sizes) // 4}i", sizes):
        total *= side
        if side < 0 or total > _MOST_BYTES:
            raise ValueError("a variable is too large")
    kind, _, at = _element(raw, at)
    if kind not in (1, 2, 16):
        raise ValueError("a variable has no name")
    _check(raw[at:], depth)


def _unpacked(content: bytes) -> bytes:
    reader = zlib.decompressobj()
    raw = reader.decompress(content, _MOST_BYTES)
    if not reader.eof:
        raise ValueError("a variable is cut short or too large")
    return raw
