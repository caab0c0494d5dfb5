"""What holds for all tests: how processes share them (`make test`), memory, and Ctrl-C."""

import gc
import pathlib
import signal

import pytest

# What these folders build once for all of their files takes minutes, so one process runs them.
_TOGETHER = ("export", "studio")
# Networks that a file of tests has left behind are cleared away once they take so much: Python
# waits until there are millions of objects, and a network is few objects and much memory.
_TOO_MUCH = 500 * 1024**2
_PAGES = pathlib.Path("/proc/self/statm")


def pytest_configure():
    """Lets programs be stopped by Ctrl-C: a shell that starts tests in the background forbids it.

    Processes inherit what is forbidden, and tests stop programs.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Memory:
    """How much the process held when it was last cleared."""

    cleared = 0

    @classmethod
    def clear(cls):
        """Clears away what nobody refers to, if the process has grown."""
        if cls._held() > cls.cleared + _TOO_MUCH:
            gc.collect()
            cls.cleared = cls._held()

    @staticmethod
    def _held():
        if not _PAGES.exists():  # Not Linux.
            return 0
        return int(_PAGES.read_text().split()[1]) * 4096


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Clears memory away after the last test of a file."""
    if nextitem is None or nextitem.path != item.path:
        _Memory.clear()


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in the same hook.
def pytest_collection_modifyitems(items):
    """Keeps a file's tests in one process, and those of files that share what they build."""
    here = pathlib.Path(__file__).parent
    for item in items:
        place = item.path.relative_to(here)
        name = place.parts[0] if place.parts[0] in _TOGETHER else place.as_posix()
        item.add_marker(pytest.mark.xdist_group(name))
