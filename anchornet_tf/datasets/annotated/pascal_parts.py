"""PASCAL Parts as FlowWeb publishes it: folders of small images with masks, parts and keypoints."""

import dataclasses
import functools
import itertools
import os
import pathlib

import numpy as np

from anchornet_tf.datasets.annotated import part_names, reading
from anchornet_tf.datasets.annotated.annotation import (
    Annotation,
    Benchmark,
    Masks,
    Pair,
    Protocol,
)
from anchornet_tf.datasets.annotated.mat_files import read_mat
from anchornet_tf.datasets.annotated.pair_drawing import draw_pairs
from anchornet_tf.datasets.voc_classes import VOC_CLASSES

NAME = "pascal_parts"
CONTENTS = (
    "one folder per set, named after its PASCAL VOC class (car_set_1), of .jpg files each with a "
    ".mat (mask, parts, keypts, keypts_status)"
)
INSTRUCTIONS = (
    "Get the PASCAL data of FlowWeb (https://github.com/tinghuiz/flowweb) and name the folder of "
    "the sets, or one set."
)
PROTOCOL = Protocol(
    measures=("parts", "pck"),
    normalize_by=("image", "bbox_kp"),
    thresholds=(0.05, 0.1),
    inclusive=True,
    length_of="source",
)
CROSS_PROTOCOL = dataclasses.replace(PROTOCOL, measures=("parts",), matrix=True)
NUM_CROSS_PAIRS = 100
_REMEMBERED = 256  # images whose masks stay in memory
_SHORT_NAMES = {
    "plane": "aeroplane",
    "bike": "bicycle",
    "motor": "motorbike",
    "table": "diningtable",
    "plant": "pottedplant",
    "tv": "tvmonitor",
}


def read(
    data_dir: str | os.PathLike | None,
    cross_category: bool = False,
    num_pairs: int | None = None,
    seed: int = 0,
) -> Benchmark:
    """Reads PASCAL Parts.

    Args:
        data_dir: folder of class sets, or one of them.
        cross_category: bool. Whether to match images of different classes, see
            `part_names.CLASS_PAIRS`, in place of all ordered pairs within each set.
        num_pairs: int. How many random pairs to draw for each source class and target class.
        seed: int, for those.

    Returns:
        Benchmark.

    Raises:
        DataMissing: If there are no sets, or an image lacks its .mat.
        ValueError: If an annotation is malformed, or there is no pair of classes to match.
    """
    sets = read_sets(data_dir)
    if cross_category:
        pairs = _cross_pairs(sets, num_pairs or NUM_CROSS_PAIRS, seed)
        return Benchmark(
            f"{NAME} cross-category",
            tuple(pairs),
            CROSS_PROTOCOL,
            notes=(part_names.CLASS_PAIRS_NOTE,),
        )
    pairs = [
        Pair(f"{name}/{source.name}>{target.name}", source, target, source.class_name)
        for name, images in sets.items()
        for source, target in itertools.permutations(images, 2)
    ]
    pairs.sort(key=lambda pair: pair.group)
    return Benchmark(NAME, tuple(pairs), PROTOCOL)


def read_sets(data_dir: str | os.PathLike) -> dict[str, list[Annotation]]:
    """Returns the annotated images of each set, by the set's folder."""
    root = reading.data_folder(data_dir, CONTENTS, INSTRUCTIONS)
    sets: dict[str, list[Annotation]] = {}
    for path in sorted(root.rglob("*.jpg")):
        name = path.parent.relative_to(root).as_posix()
        name = path.parent.name if name == "." else name
        sets.setdefault(name, []).append(_annotation(path, name, _class_of(name, root)))
    if not sets:
        raise reading.missing(CONTENTS, INSTRUCTIONS, root)
    return sets


def _class_of(name: str, root: pathlib.Path) -> str:
    for text in (name.lower(), root.name.lower()):
        for word, class_name in [
            *zip(VOC_CLASSES, VOC_CLASSES, strict=True),
            *_SHORT_NAMES.items(),
        ]:
            if word in text:
                return class_name
    raise ValueError(
        f"Expected a folder named after a class of {', '.join(VOC_CLASSES)}. "
        f"Received: {root / name}"
    )


def _annotation(path: pathlib.Path, set_name: str, class_name: str) -> Annotation:
    annotation = reading.existing(path.with_suffix(".mat"))
    size = reading.size_of(path)
    contents = _contents(annotation)
    points = np.asarray(contents.get("keypts", np.zeros((2, 0))), np.float64)
    points = points.reshape(2, -1).T - 1  # counted from one in the file
    status = np.atleast_1d(contents.get("keypts_status", np.zeros(0))).astype(bool)
    if len(status) != len(points):
        raise ValueError(
            "Expected a status for each keypoint. "
            f"Received: {len(points)} keypoints and {len(status)} in {annotation}"
        )
    # The protocol leaves out keypoints at the border or beyond.
    inside = ((points > 0) & (points < [size[1] - 1, size[0] - 1])).all(axis=1)
    _masks(annotation, size)  # A damaged file is found now, not after an hour.
    return Annotation(
        name=path.stem,
        image_key=f"{set_name}/{path.name}",
        class_name=class_name,
        path=path,
        points=points,
        point_names=tuple(f"{class_name} {number}" for number in range(len(points))),
        visible=status & inside,
        read_masks=functools.partial(_masks, annotation, size),
    )


def _contents(path: pathlib.Path) -> dict:
    contents = read_mat(path, squeeze_me=True, struct_as_record=False)
    if "mask" not in contents:
        raise ValueError(f"Expected `mask` in the annotation. Received: {path} without")
    return contents


@functools.lru_cache(maxsize=_REMEMBERED)
def _masks(path: pathlib.Path, size: tuple[int, int]) -> Masks:
    contents = _contents(path)
    parts: dict[str, np.ndarray] = {}
    for part in np.atleast_1d(contents.get("parts", [])):
        name, mask = str(part.part_name), _mask(part.mask, size, path)
        parts[name] = parts[name] | mask if name in parts else mask
    return Masks(_mask(contents["mask"], size, path), parts)


def _mask(values, size, path) -> np.ndarray:
    mask = np.asarray(values) > 0
    if mask.shape != size:
        raise ValueError(
            f"Expected masks of the image's size {size}. Received: {mask.shape} in {path}"
        )
    return mask


def _cross_pairs(sets, count, seed) -> list[Pair]:
    by_class: dict[str, list[Annotation]] = {}
    for name, images in sets.items():
        for image in images:
            merged = dataclasses.replace(
                image,
                name=f"{name}/{image.name}",
                read_masks=functools.partial(_merged_masks, image.read_masks),
            )
            by_class.setdefault(image.class_name, []).append(merged)
    pairs = []
    for number, (first, second) in enumerate(part_names.CLASS_PAIRS):
        if first in by_class and second in by_class:
            pairs += draw_pairs(
                by_class[first],
                by_class[second],
                count,
                f"{first}>{second}",
                (seed, number),
                share_points=False,
            )
    if not pairs:
        wanted = ", ".join(">".join(pair) for pair in part_names.CLASS_PAIRS)
        raise ValueError(
            f"Expected sets of two classes of {wanted}. Received: {', '.join(by_class)}"
        )
    return pairs


def _merged_masks(read_masks) -> Masks:
    masks = read_masks()
    return Masks(masks.whole, part_names.merge_parts(masks.parts))
