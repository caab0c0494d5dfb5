"""Confidences that come with the package for descriptors that are no models.

Each is a JSON file that `trainers.fit_confidence` wrote, named after the descriptor. A model has
its own in its folder.
"""

import functools
import json
import pathlib

_FOLDER = pathlib.Path(__file__).with_name("confidence")


@functools.cache
def shipped_confidence(name: str) -> dict | None:
    """Returns the contents of a descriptor's file, or None where there is none."""
    path = _FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.is_file() else None
