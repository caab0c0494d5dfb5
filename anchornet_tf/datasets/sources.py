"""Opens the images that a user names: `parts_world`, `folder:...`, `manifest:...` or `tfds:...`."""

import hashlib
import os
import re
from collections.abc import Sequence

import numpy as np

from anchornet_tf.datasets import label_map as label_maps
from anchornet_tf.datasets.file_sources import list_folder, list_manifest
from anchornet_tf.datasets.image_scan import without_unreadable
from anchornet_tf.datasets.image_source import ImageSource, join
from anchornet_tf.datasets.label_map import BACKGROUND, LabelMap
from anchornet_tf.datasets.listing import Listing
from anchornet_tf.datasets.record_sources import list_parts_world, list_tfds

SPLITS = ("train", "heldout")
_KINDS = "`parts_world`, `folder:DIR`, `manifest:FILE.csv` or `tfds:NAME`"
_JOINT = re.compile(r"\+(?=parts_world(?:\+|$)|folder:|manifest:|tfds:)")


def open_source(
    spec: str,
    split: str = "train",
    *,
    background: str | None = None,
    classes: Sequence[str] | None = None,
    label_map: label_maps.Given = None,
    data_dir: str | os.PathLike | None = None,
    heldout_fraction: float = 0.1,
    seed: int = 0,
) -> ImageSource:
    """Opens a set of images with image-level labels. Any label is a class.

    | spec | images |
    |---|---|
    | `parts_world` | the embedded set, drawn when it is first used |
    | `folder:DIR` | `DIR/<class>/*.jpg` or `DIR/<split>/<class>/*.jpg` |
    | `folder:DIR` | `DIR/*.jpg`, without sub-folders: the class is DIR's name |
    | `manifest:FILE.csv` | header `path,labels`; labels separated by `;` |
    | `tfds:NAME` | a set of tensorflow-datasets, such as `imagenet2012` |

    Images labelled `background` show none of the classes. Several sets are joined by `+`:
    `tfds:voc/2012+folder:backgrounds`.

    A set with a held-out split of its own uses that; of any other, a fraction is held out by a hash
    of each image's name: an image stays on its side when others come or go. Of a small class, at
    least one image is held out and at least one is not. Images that cannot be decoded are left out,
    with a warning.

    Args:
        spec: str, see above.
        split: `train`, or `heldout` for the images that are never trained on.
        background: str, another set, whose images are added as background: those labelled
            `background` if it has any, else all that show none of `classes`.
        classes: the classes that images of background must not show; all of the set by default.
        label_map: what becomes of the labels, see `label_map.find`; by default each is a class.
        data_dir: folder of the prepared set, for `parts_world` and `tfds:`.
        heldout_fraction: share of the images held out, at least 0 and below 1.
        seed: int, chooses which images are held out.

    Returns:
        The images of the split.

    Raises:
        ValueError: If something is wrong with the arguments, the set or its labels; or more than
            5 % of the images cannot be read.

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
    common = (split, data_dir, heldout_fraction, seed)
    source = join([_open(part, label_map, *common) for part in _JOINT.split(spec)])
    label_maps.check_distinct(source.class_names)
    if background:
        others = join([_open(part, None, *common) for part in _JOINT.split(background)])
        source = join([source, _as_background(others, classes or source.class_names)])
    if not len(source):
        raise ValueError(
            "Expected a class of two images or more, so that one can be held out, and a "
            f"`heldout_fraction` above 0. Received: no {split} image of {spec} with "
            f"heldout_fraction={heldout_fraction}"
        )
    return source


def _open(
    spec: str,
    label_map: label_maps.Given,
    split: str,
    data_dir: str | os.PathLike | None,
    heldout_fraction: float,
    seed: int,
) -> ImageSource:
    """Opens one set."""
    kind, _, argument = spec.partition(":")
    mapping = label_maps.find(label_map, argument if kind == "tfds" else "")
    if spec == "parts_world":
        listing = list_parts_world(split, data_dir)
    elif argument and kind == "folder":
        listing = list_folder(argument, split)
    elif argument and kind == "manifest":
        listing = list_manifest(argument)
    elif argument and kind == "tfds":
        listing = list_tfds(argument, split, data_dir, mapping)
    else:
        raise ValueError(f"A set of images must be given as {_KINDS}. Received: {spec!r}")
    source = _with_classes(spec, listing, mapping)
    kept = np.ones(len(source), bool)
    if not listing.has_own_split:
        kept = _held_out(source, heldout_fraction, seed) == (split == "heldout")
    kept = np.flatnonzero(kept)
    return without_unreadable(source.select(kept), listing.find_readable()[kept])


def _with_classes(spec: str, listing: Listing, mapping: LabelMap) -> ImageSource:
    try:
        mapped = mapping.apply({name for names in listing.label_names for name in names})
    except ValueError as error:
        raise ValueError(f"{error} (in {spec})") from error
    classes = [name for name in mapped.values() if name != BACKGROUND]
    if listing.class_order and set(classes).issubset(listing.class_order):
        classes = listing.class_order
    else:
        classes = mapping.order(classes)
    columns = {name: column for column, name in enumerate(classes)}
    labels = np.zeros((len(listing.keys), len(classes)), bool)
    for row, names in enumerate(listing.label_names):
        for name in names:
            if mapped[name] != BACKGROUND:
                labels[row, columns[mapped[name]]] = True
    return ImageSource(
        spec=spec,
        class_names=tuple(classes),
        paths_or_keys=tuple(listing.keys),
        labels=labels,
        contents=tuple(listing.contents),
        reader=listing.reader,
    )


def _as_background(source: ImageSource, classes: Sequence[str]) -> ImageSource:
    """Returns the images of a set that can serve as background of classes, without labels."""
    chosen = source.is_background
    if not chosen.any():
        shared = [name in set(classes) for name in source.class_names]
        chosen = ~source.labels[:, shared].any(axis=1)
    if len(source) and not chosen.any():
        raise ValueError(
            "Expected background images that show none of the classes. "
            f"Received: {source.spec}, all of whose images are labelled "
            f"{', '.join(source.images_per_class())}"
        )
    return source.select(np.flatnonzero(chosen)).without_labels()


def _held_out(source: ImageSource, share: float, seed: int) -> np.ndarray:
    """Returns which images are held out, bool `(images,)`."""
    fractions = np.array([_fraction(key, seed) for key in source.paths_or_keys])
    held_out = fractions < share
    if not share:
        return held_out
    # By chance alone, a class of a few images might have none on one of the sides.
    for members in (*source.labels.T, source.is_background):
        members = np.flatnonzero(members)
        ranked = members[np.argsort(fractions[members])]
        if len(ranked) > 1 and not held_out[ranked].any():
            held_out[ranked[0]] = True
        if len(ranked) and held_out[ranked].all():
            held_out[ranked[-1]] = False
    return held_out


def _fraction(key: str, seed: int) -> float:
    digest = hashlib.sha256(f"{seed}\n{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
