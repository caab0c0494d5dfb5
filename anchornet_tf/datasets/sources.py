"""Opens the images that a user names: `parts_world`, `folder:...`, `manifest:...` or `tfds:...`."""

import hashlib
import os
import re
from collections.abc import Mapping

import numpy as np

from anchornet_tf.datasets.file_sources import list_folder, list_manifest
from anchornet_tf.datasets.image_scan import without_unreadable
from anchornet_tf.datasets.image_source import ImageSource, join
from anchornet_tf.datasets.listing import Listing
from anchornet_tf.datasets.record_sources import list_parts_world, list_tfds
from anchornet_tf.datasets.voc_classes import BACKGROUND, VOC_CLASSES, map_label_names

SPLITS = ("train", "heldout")
_KINDS = "`parts_world`, `folder:DIR`, `manifest:FILE.csv` or `tfds:NAME`"
_JOINT = re.compile(r"\+(?=parts_world(?:\+|$)|folder:|manifest:|tfds:)")


def open_source(
    spec: str,
    split: str = "train",
    *,
    data_dir: str | os.PathLike | None = None,
    label_names: Mapping[str, str] | None = None,
    heldout_fraction: float = 0.1,
    seed: int = 0,
) -> ImageSource:
    """Opens a set of images with image-level labels.

    | spec | images |
    |---|---|
    | `parts_world` | the embedded set, drawn when it is first used |
    | `folder:DIR` | `DIR/<class>/*.jpg` or `DIR/<split>/<class>/*.jpg`, with a class `background` |
    | `manifest:FILE.csv` | header `path,labels`; labels separated by `;`, or `background` |
    | `tfds:NAME` | a set of tensorflow-datasets, such as `imagenet2012` |

    Several are joined by `+`: `tfds:voc/2012+folder:backgrounds` gives VOC, of which every image
    has an object, the background images that training needs.

    A set with a held-out split of its own uses that; of any other, a fraction is held out by a hash
    of each image's name: an image stays on its side when others come or go. Images that cannot be
    decoded are left out, with a warning.

    Args:
        spec: str, see above.
        split: `train`, or `heldout` for the images that are never trained on.
        data_dir: folder of the prepared set, for `parts_world` and `tfds:`.
        label_names: the set's own label names -> classes; see `voc_classes.map_label_names`.
        heldout_fraction: share of the images held out, at least 0 and below 1.
        seed: int, chooses which images are held out.

    Returns:
        The images of the split.

    Raises:
        ValueError: If something is wrong with the arguments, the set or its labels; there is no
            background image; or more than 5 % of the images cannot be read.

    Example:

    ```python
    import numpy as np
    from anchornet_tf.datasets.sources import open_source

    source = open_source("parts_world")
    (bird,) = source.require_classes("bird")
    image = source.read(np.flatnonzero(source.labels[:, bird])[0])  # (height, width, 3)
    ```
    """
    if split not in SPLITS:
        raise ValueError(f"`split` must be one of {', '.join(SPLITS)}. Received: split={split!r}")
    if not 0 <= heldout_fraction < 1:
        raise ValueError(
            "`heldout_fraction` must be at least 0 and below 1. "
            f"Received: heldout_fraction={heldout_fraction}"
        )
    parts = []
    for part in _JOINT.split(spec):
        listing = _list(part, split, data_dir, label_names)
        source = _with_classes(part, listing, label_names)
        kept = np.ones(len(source), bool)
        if not listing.has_own_split:
            fractions = np.array([_fraction(key, seed) for key in listing.keys])
            kept = (fractions < heldout_fraction) == (split == "heldout")
        parts.append((source, listing, np.flatnonzero(kept)))

    _check_background(spec, [source for source, _, _ in parts])
    if not any(len(kept) for _, _, kept in parts):
        raise ValueError(
            f"The split must hold at least one image. Received: split={split!r} of {spec} with "
            f"heldout_fraction={heldout_fraction}"
        )
    return join(
        [
            without_unreadable(source.select(kept), listing.find_readable()[kept])
            for source, listing, kept in parts
        ]
    )


def _list(
    spec: str, split: str, data_dir: str | os.PathLike | None, label_names: Mapping[str, str] | None
) -> Listing:
    kind, _, argument = spec.partition(":")
    if spec == "parts_world":
        return list_parts_world(split, data_dir)
    if argument and kind == "folder":
        return list_folder(argument, split)
    if argument and kind == "manifest":
        return list_manifest(argument)
    if argument and kind == "tfds":
        return list_tfds(argument, split, data_dir, label_names)
    raise ValueError(f"A set of images must be given as {_KINDS}. Received: {spec!r}")


def _with_classes(
    spec: str, listing: Listing, label_names: Mapping[str, str] | None
) -> ImageSource:
    distinct = {name for names in listing.label_names for name in names}
    try:
        mapped = map_label_names(distinct, label_names)
    except ValueError as error:
        raise ValueError(f"{error} (in {spec})") from error
    columns = {name: column for column, name in enumerate(VOC_CLASSES)}
    labels = np.zeros((len(listing.keys), len(VOC_CLASSES)), bool)
    for row, names in enumerate(listing.label_names):
        for name in names:
            if mapped[name] != BACKGROUND:
                labels[row, columns[mapped[name]]] = True
    return ImageSource(
        spec=spec,
        paths_or_keys=tuple(listing.keys),
        labels=labels,
        contents=tuple(listing.contents),
        reader=listing.reader,
    )


def _check_background(spec: str, sources: list[ImageSource]) -> None:
    if any(source.is_background.any() for source in sources):
        return
    raise ValueError(
        f"There must be background images: a sub-folder or label `{BACKGROUND}`, or another set "
        f"joined by `+`, such as `{spec}+folder:DIR` with DIR/{BACKGROUND}. Received: {spec} with "
        f"{sum(map(len, sources))} images, none of background"
    )


def _fraction(key: str, seed: int) -> float:
    digest = hashlib.sha256(f"{seed}\n{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
