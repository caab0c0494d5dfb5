"""One pass over all images of a set before training: which can be read, and what they are labelled.

A pass over many images takes a while, so its result is kept in the cache folder, under a name made
from what identifies the set.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from absl import logging
from tqdm import tqdm

from anchornet_tf.datasets.file_reader import READ_ERRORS, WITH_PILLOW, FileReader
from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.utils import files
from anchornet_tf.utils.image_formats import advice
from anchornet_tf.utils.image_io import LIMIT_VARIABLE, pixel_limit

GREATEST_UNREADABLE_SHARE = 0.05
# So many are skipped however small the set is.
FEW_UNREADABLE = 3
_CHUNK = 64
# Short passes show no bar.
_SECONDS_BEFORE_BAR = 3
_NAMES_SHOWN = 5


def can_read(read: Callable[[Any], np.ndarray], place: Any) -> bool:
    """Returns whether `read(place)` gives an image."""
    try:
        read(place)
    except READ_ERRORS:
        return False
    return True


def scan(examine: Callable[[int], object], count: int, identity: str, description: str) -> list:
    """Returns `[examine(0), ..., examine(count - 1)]`, from the cache when it is there.

    Args:
        examine: row -> something that JSON can hold; called from several threads.
        count: int, number of rows.
        identity: str, what the results depend on.
        description: str, shown with the progress bar.
    """
    # An image that is too large today may be read tomorrow, with another limit.
    what = f"3\n{count}\n{pixel_limit()}\n{identity}"
    name = hashlib.sha256(what.encode()).hexdigest()[:32]
    path = files.cache_folder() / "scans" / f"{name}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if len(found) == count:
            return found
    except (OSError, ValueError):
        # Absent or damaged: the pass is made again.
        pass
    found = _in_parallel(examine, count, description)
    try:
        with files.atomic_file(path) as temporary:
            temporary.write_text(json.dumps(found), encoding="utf-8")
    except OSError as error:
        logging.warning("The pass over %s could not be kept: %s", description, error)
    return found


def without_unreadable(source: ImageSource, readable: np.ndarray) -> ImageSource:
    """Leaves out the images that cannot be read, and says so.

    Args:
        source: the images.
        readable: bool `(images,)`.

    Returns:
        A source with the readable images, the names of the others in its `unreadable`.

    Raises:
        ValueError: more than 5 % of the images cannot be read.
    """
    readable = np.asarray(readable, bool)
    source = _with_ways_noted(source)
    if readable.all():
        return source
    missing = np.flatnonzero(~readable)
    unreadable = tuple(source.paths_or_keys[i] for i in missing)
    reasons = (
        f"damaged, or of more than {pixel_limit():,} pixels ({LIMIT_VARIABLE} raises the limit)"
        f"{_remedies(source, missing)}"
    )
    if len(unreadable) > max(FEW_UNREADABLE, GREATEST_UNREADABLE_SHARE * len(source)):
        raise ValueError(
            f"At most {GREATEST_UNREADABLE_SHARE:.0%} of the images of {source.spec} may be "
            f"unreadable, or {FEW_UNREADABLE} of a small set: {reasons}. "
            f"Received: {len(unreadable)} of {len(source)}, such as "
            f"{', '.join(unreadable[:_NAMES_SHOWN])}"
        )
    for name in unreadable:
        logging.warning("Skipped an image that cannot be read: %s (%s)", name, source.spec)
    logging.warning(
        "Skipped %d of %d images of %s in all: %s.",
        len(unreadable),
        len(source),
        source.spec,
        reasons,
    )
    kept = source.select(np.flatnonzero(readable))
    return dataclasses.replace(kept, unreadable=source.unreadable + unreadable)


def _with_ways_noted(source: ImageSource) -> ImageSource:
    """Notes in the contents of a source which images are turned, scaled down or the like.

    Cached taps are kept under the fingerprint of a source, which contains its contents. Those that
    an older version made of such an image, unturned, must not be taken for it.
    """
    if not isinstance(source.reader, FileReader):
        return source
    changed = source.reader.ways[source.rows] == WITH_PILLOW
    contents = (
        f"{content} read_scaled" if change else content
        for content, change in zip(source.contents, changed, strict=True)
    )
    return dataclasses.replace(source, contents=tuple(contents))


def _remedies(source: ImageSource, indices: np.ndarray) -> str:
    if not isinstance(source.reader, FileReader):
        return ""
    found = {advice(source.reader.paths[row]) for row in source.rows[indices]}
    return "".join(f"; {remedy}" for remedy in sorted(found - {""}))


def _in_parallel(examine: Callable[[int], object], count: int, description: str) -> list:
    def examine_chunk(start: int) -> list:
        return [examine(row) for row in range(start, min(start + _CHUNK, count))]

    found = []
    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        tqdm(total=count, desc=description, delay=_SECONDS_BEFORE_BAR, leave=False) as bar,
    ):
        for results in pool.map(examine_chunk, range(0, count, _CHUNK)):
            found.extend(results)
            bar.update(len(results))
    return found
