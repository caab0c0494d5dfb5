"""PF-WILLOW: ten sets of ten images with ten keypoints each; all ordered pairs of a set."""

import itertools
import os
import pathlib

import numpy as np

from anchornet_tf.datasets.annotated import reading
from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Pair, Protocol
from anchornet_tf.datasets.annotated.mat_files import read_mat
from anchornet_tf.utils import files

NAME = "pf_willow"
CONTENTS = (
    "the folders of PF-WILLOW, car(G) to winebottle(woC): 10 sets of 10 images, "
    "100 .png files each with its .mat"
)
INSTRUCTIONS = (
    "Get PF-dataset.zip of Proposal Flow (https://www.di.ens.fr/willow/research/proposalflow) and "
    "name the folder that holds the sets."
)
PROTOCOL = Protocol(
    measures=("regions", "pck"),
    normalize_by=("bbox_kp", "image", "bbox_kp_padded"),
    thresholds=(0.05, 0.1, 0.2),
)
SUBSETS = ("all", "tune", "report")
# The PASCAL VOC class that each set shows.
CLASSES = {"car": "car", "duck": "bird", "motorbike": "motorbike", "winebottle": "bottle"}
_NUM_SETS, _SET_SIZE = 10, 10


def read(data_dir: str | os.PathLike | None, subset: str = "all") -> Benchmark:
    """Reads PF-WILLOW.

    Args:
        data_dir: folder of the sets.
        subset: `"all"` (900 pairs), or a fixed half to tune on (`"tune"`) or to report on
            (`"report"`). Images are dealt to the halves, and a half has the pairs whose images are
            both its own, so that nothing that was tuned has seen an image that is reported on.

    Raises:
        DataMissing: If there are no such folders, or an image lacks its .mat.
        ValueError: If an annotation is malformed or `subset` is unknown.
    """
    if subset not in SUBSETS:
        raise ValueError(f"`subset` must be one of {SUBSETS}. Received: subset={subset!r}")
    sets = read_sets(data_dir)
    half = halves({name: [image.image_key for image in images] for name, images in sets.items()})
    pairs = [
        Pair(f"{name}/{source.name}>{target.name}", source, target, name)
        for name, images in sets.items()
        for source, target in itertools.permutations(images, 2)
        if subset == "all" or half[source.image_key] == half[target.image_key] == subset
    ]
    notes = []
    if len(sets) != _NUM_SETS or any(len(images) != _SET_SIZE for images in sets.values()):
        counts = ", ".join(f"{name} {len(images)}" for name, images in sets.items())
        notes.append(f"not the whole of PF-WILLOW (10 sets of 10 images), but {counts}")
    if subset != "all":
        notes.append(f"subset={subset}: {len(pairs)} pairs whose images are both in that half")
    return Benchmark(NAME, tuple(pairs), PROTOCOL, tuple(notes))


def read_sets(data_dir: str | os.PathLike) -> dict[str, list[Annotation]]:
    """Returns the annotated images of each set, sets and images in the order of their names."""
    folder = reading.data_folder(data_dir, CONTENTS, INSTRUCTIONS)
    sets: dict[str, list[Annotation]] = {}
    for path in sorted(folder.glob("*/*.png")):
        if path.parent.name.split("(")[0] in CLASSES:
            sets.setdefault(path.parent.name, []).append(_annotation(path))
    if not sets:
        raise reading.missing(CONTENTS, INSTRUCTIONS, folder)
    return sets


def _annotation(path: pathlib.Path) -> Annotation:
    annotation = reading.existing(path.with_suffix(".mat"))
    try:
        # Rows are x and y, counted from one.
        points = np.asarray(read_mat(annotation)["pts_coord"], np.float64)[:2].T - 1
    except (ValueError, LookupError, TypeError, OSError) as error:
        raise ValueError(
            f"Expected a .mat file with `pts_coord`. Received: {annotation} ({error!r})"
        ) from error
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
        raise ValueError(
            f"Expected at least three keypoints. Received: shape {points.shape} in {annotation}"
        )
    if not np.isfinite(points).all():
        raise ValueError(f"Expected finite keypoints. Received: others in {annotation}")
    reading.points_within(points, reading.size_of(path), str(annotation))
    return Annotation(
        name=path.stem,
        # Sets share images: the same bytes are the same image.
        image_key=f"{path.stem}-{files.sha256_of(path)[:8]}",
        class_name=CLASSES[path.parent.name.split("(")[0]],
        path=path,
        points=points,
        point_names=tuple(str(number) for number in range(len(points))),
        visible=np.ones(len(points), bool),
    )


def halves(sets: dict[str, list[str]]) -> dict[str, str]:
    """Deals images to "tune" and "report".

    Each set in turn gives its images, in order, to the half that has fewer of that set so far;
    images that an earlier set has dealt stay where they are.

    Args:
        sets: image keys of each set.

    Returns:
        dict of image key to half.
    """
    half: dict[str, str] = {}
    for keys in sets.values():
        counts = {name: sum(half.get(key) == name for key in keys) for name in SUBSETS[1:]}
        for key in keys:
            if key not in half:
                half[key] = min(counts, key=counts.get)
                counts[half[key]] += 1
    return half
