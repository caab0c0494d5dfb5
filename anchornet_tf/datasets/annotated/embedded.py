"""The embedded set as a benchmark: drawn figures with parts and keypoints, nothing to download."""

import dataclasses
import functools
import itertools
import os

import numpy as np

from anchornet_tf.datasets import parts_world
from anchornet_tf.datasets.annotated import part_names
from anchornet_tf.datasets.annotated.annotation import (
    Annotation,
    Benchmark,
    Masks,
    Pair,
    Protocol,
)
from anchornet_tf.datasets.annotated.pair_drawing import draw_pairs
from anchornet_tf.datasets.voc_classes import BACKGROUND

NAME = "parts_world"
PROTOCOL = Protocol(
    measures=("pck", "parts", "regions"),
    normalize_by=("bbox", "image", "bbox_kp"),
    thresholds=(0.05, 0.1),
)
CROSS_PROTOCOL = dataclasses.replace(PROTOCOL, measures=("parts",), matrix=True)
# As in AnimalParts, whose families the animals stand for: eyes and feet, not told apart.
FAMILY_PROTOCOL = Protocol(
    measures=("pck",), normalize_by=("image", "bbox"), thresholds=(0.05, 0.1), matrix=True
)
FAMILIES = ("bird", "cat", "cow", "dog", "horse", "sheep")
FAMILY_POINTS = ("eye", "foot")
NUM_CROSS_PAIRS, NUM_FAMILY_PAIRS = 100, 40


def read(
    data_dir: str | os.PathLike | None = None,
    cross_category: bool = False,
    num_pairs: int | None = None,
    seed: int = 0,
    pictures: str = "test",
    animal_families: bool = False,
) -> Benchmark:
    """Reads a split of *parts_world*, drawing the set first where it is not on disk yet.

    Args:
        data_dir: folder of data sets, or None for the cache folder.
        cross_category: bool. Whether to match different classes, as for PASCAL Parts.
        num_pairs: int. How many random pairs to draw for each class, or for each source class and
            target class (100 by default, 40 of animals). None for all ordered pairs of a class.
        seed: int, for those.
        pictures: The split, "test" or "train". Figures are reported on "test".
        animal_families: bool. Whether to match eyes and feet of any two of the six animals, as
            AnimalParts does with families of animals.

    Returns:
        Benchmark.
    """
    source = parts_world.load(pictures, data_dir or None)
    classes: dict[str, list[Annotation]] = {}
    for index, label in enumerate(source.labels):
        if label != BACKGROUND:
            classes.setdefault(label, []).append(_annotation(source, index, cross_category))
    if animal_families:
        return _animals(classes, num_pairs or NUM_FAMILY_PAIRS, seed)
    if cross_category:
        pairs = [
            pair
            for number, (first, second) in enumerate(part_names.CLASS_PAIRS)
            for pair in draw_pairs(
                classes[first],
                classes[second],
                num_pairs or NUM_CROSS_PAIRS,
                f"{first}>{second}",
                (seed, number),
                share_points=False,
            )
        ]
        return Benchmark(f"{NAME} cross-category", tuple(pairs), CROSS_PROTOCOL)
    pairs = []
    for number, (label, images) in enumerate(classes.items()):
        if num_pairs:
            pairs += draw_pairs(images, images, num_pairs, label, (seed, number))
        else:
            pairs += [
                Pair(f"{label}/{first.name}>{second.name}", first, second, label)
                for first, second in itertools.permutations(images, 2)
            ]
    return Benchmark(NAME, tuple(pairs), PROTOCOL)


def _animals(classes, count, seed) -> Benchmark:
    animals = {name: [_eyes_and_feet(image) for image in classes[name]] for name in FAMILIES}
    pairs = [
        pair
        for row, first in enumerate(FAMILIES)
        for column, second in enumerate(FAMILIES)
        for pair in draw_pairs(
            animals[first], animals[second], count, f"{first}>{second}", (seed, row, column)
        )
    ]
    notes = (f"{len(FAMILIES)} animals in place of the 12 families of AnimalParts",)
    return Benchmark(f"{NAME} animals", tuple(pairs), FAMILY_PROTOCOL, notes)


def _eyes_and_feet(image: Annotation) -> Annotation:
    names = [part_names.merged_name(name) for name in image.point_names]
    kept = [name in FAMILY_POINTS for name in names]
    return dataclasses.replace(
        image,
        points=image.points[kept],
        point_names=tuple(name for name in names if name in FAMILY_POINTS),
        visible=image.visible[kept],
    )


def _annotation(source, index, merged) -> Annotation:
    example = source[index]
    keypoints = example["keypoints"]
    points = np.float64([values[:2] for values in keypoints.values()]).reshape(-1, 2)
    return Annotation(
        name=f"{index:04d}",
        image_key=f"{index:04d}",
        class_name=example["label"],
        load=functools.partial(_image, source, index),
        points=points,
        point_names=tuple(keypoints),
        visible=np.array([values[2] for values in keypoints.values()], bool),
        box=example["box"],
        read_masks=functools.partial(_masks, source, index, merged),
    )


def _image(source, index) -> np.ndarray:
    return source[index]["image"]


def _masks(source, index, merged) -> Masks:
    parts = source[index]["part_masks"]
    whole = functools.reduce(np.logical_or, parts.values())
    return Masks(whole, part_names.merge_parts(parts) if merged else parts)
