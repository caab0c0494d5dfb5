"""How much memory this process holds, and the most that a piece of work needs beside it."""

import ctypes
import gc
import pathlib
from collections.abc import Callable

_STATUS = pathlib.Path("/proc/self/status")
_CLEAR = pathlib.Path("/proc/self/clear_refs")
_FORGET_THE_PEAK = "5"

MEGABYTE = 2**20


def resident_bytes() -> int:
    """Returns the resident memory of this process (Linux)."""
    return _status("VmRSS")


def peak_growth(work: Callable[[], object]) -> int:
    """Returns the bytes by which resident memory grows at most while a work is done (Linux)."""
    before = _forget()
    work()
    return max(_status("VmHWM") - before, 0)


def peak_bytes(work: Callable[[], object]) -> int:
    """Returns the most resident memory of this process while a work is done (Linux)."""
    _forget()
    work()
    return _status("VmHWM")


def _forget() -> int:
    """Forgets the peak so far; returns what is resident now."""
    gc.collect()
    # What earlier works gave back stays with the allocator, and this one would live on it unseen.
    ctypes.CDLL(None).malloc_trim(0)
    _CLEAR.write_text(_FORGET_THE_PEAK)
    return resident_bytes()


def _status(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"Expected {name} in {_STATUS}. Received: a status without it")
