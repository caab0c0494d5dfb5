"""How tests are shared out when several processes run them (`make test`)."""

import pathlib

import pytest

# What these folders build once for all of their files takes minutes, so one process runs them.
_TOGETHER = ("export", "studio")


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in the same hook.
def pytest_collection_modifyitems(items):
    """Keeps a file's tests in one process, and those of files that share what they build."""
    here = pathlib.Path(__file__).parent
    for item in items:
        place = item.path.relative_to(here)
        name = place.parts[0] if place.parts[0] in _TOGETHER else place.as_posix()
        item.add_marker(pytest.mark.xdist_group(name))
