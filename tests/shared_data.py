"""Finds the reference data that tests compare with: golden files and real images.

The data keep their makers' terms and are not part of this repository. They are looked for in the
folder named by the environment variable `ANCHORNET_SHARED`, then in `../shared` beside the
repository.
"""

import os
import pathlib

import pytest

_REPOSITORY = pathlib.Path(__file__).resolve().parents[1]


def shared_root() -> pathlib.Path | None:
    """Returns the folder of reference data, or None where there is none."""
    named = os.environ.get("ANCHORNET_SHARED")
    candidates = [pathlib.Path(named)] if named else [_REPOSITORY.parent / "shared"]
    for candidate in candidates:
        if (candidate / "golden").is_dir() or (candidate / "data").is_dir():
            return candidate
    return None


def shared_path(relative: str) -> pathlib.Path:
    """Returns the path of one piece of reference data; skips the calling test without it."""
    root = shared_root()
    if root is None:
        pytest.skip("no reference data: set ANCHORNET_SHARED or put the folder at ../shared")
    path = root / relative
    if not path.exists():
        pytest.skip(f"reference data has no {relative}")
    return path
