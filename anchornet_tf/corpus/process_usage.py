"""What a process and all that it has started use: memory and the time of processors."""

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

_LOOK_EVERY = 0.5


class Usage(NamedTuple):
    """What processes use: when it was looked at, resident bytes, seconds of processors so far."""

    when: float
    resident: int
    seconds: float


@contextlib.contextmanager
def watched(process: subprocess.Popen) -> Iterator[list[Usage]]:
    """Yields a list that grows while a process is alive, by what it and its descendants use.

    Args:
        process: One that ends within the block.
    """
    seen: list[Usage] = []
    watcher = threading.Thread(target=_watch, args=(process, seen))
    watcher.start()
    try:
        yield seen
    except BaseException:
        process.terminate()  # Nobody would wait for it, and it would not be heard of again.
        raise
    finally:
        watcher.join()


def usage(root: int) -> Usage:
    """Returns what a process and its descendants use; nothing where /proc is not there.

    Args:
        root: int. Number of the process.
    """
    ours = [root, *descendants(root)]
    resident, seconds = 0, 0.0
    for each in ours:
        try:
            with open(f"/proc/{each}/statm") as file:
                size = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            continue  # It ended meanwhile, or there is no /proc.
        fields = _stat(each)
        if fields is not None:
            resident += size
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return Usage(time.time(), resident, seconds)


def descendants(root: int) -> list[int]:
    """Returns the processes that a process has started, and those that they have.

    Args:
        root: int. Number of the process.
    """
    parents = {each: int(fields[1]) for each, fields in _processes()}
    found = []
    for own in parents:
        ancestor = parents[own]
        while ancestor in parents and ancestor != root:
            ancestor = parents[ancestor]
        found += [own] if ancestor == root else []
    return found


def of_session(session: int) -> list[int]:
    """Returns the processes of a session that are alive."""
    return [each for each, fields in _processes() if fields[0] != "Z" and int(fields[3]) == session]


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Yields the number and the state of each process; nothing where /proc is not there."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        fields = _stat(name) if name.isdigit() else None
        if fields is not None:
            yield int(name), fields


def _stat(process: int | str) -> list[str] | None:
    """Returns what follows the name of a process in its line of states; None if it has ended."""
    try:
        # A name may be cut within a letter.
        with open(f"/proc/{process}/stat", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def _watch(process: subprocess.Popen, seen: list[Usage]) -> None:
    while process.poll() is None:
        now = usage(process.pid)
        if now.resident:
            seen.append(now)
        time.sleep(_LOOK_EVERY)
