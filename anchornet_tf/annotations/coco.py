"""COCO's JSON: images, categories with named keypoints, and annotations with masks and boxes.

What COCO says beyond points, regions, scores and names stays in `fields`, among it what a written
file repeats where nothing changed. On writing see `coco_writer`.
"""

import itertools
import os
from collections.abc import Collection, Iterator

from anchornet_tf.annotations.checks import MISSING, Checker
from anchornet_tf.annotations.coco_shapes import read_box, read_segmentation
from anchornet_tf.annotations.items import (
    HIDDEN,
    NOT_LABELLED,
    VISIBLE,
    AnnotatedObject,
    AnnotationSet,
    ImageAnnotations,
    Point,
    Region,
)

# Scores that COCO has no field for. `score`, the object's own, is what pycocotools reads.
POINT_SCORES, MASK_SCORE, BOX_SCORE = "keypoint_scores", "segmentation_score", "bbox_score"


def parse(document: dict, file: str | os.PathLike) -> AnnotationSet:
    """Returns the annotations of a COCO file.

    The `fields` of the set are the file's other parts (`categories`, `info`, `licenses`...), and
    `annotations`: the ids in the file's order where that is not the order of the images. Those of
    an object are what else its annotation holds, with `id` and `category_id`.

    Args:
        document: what the file's JSON holds.
        file: path of the file, for messages.

    Raises:
        ValueError: If something in the file is not as it must be.
    """
    check = Checker(file)
    document = check.mapping(document, "The content")
    categories = _read_categories(document, check)
    images = _read_images(document, check)
    objects = {identifier: [] for identifier in images}
    entries = check.sequence(document.get("annotations", MISSING), "annotations")
    ids = _annotation_ids(entries, check)
    for index, entry in enumerate(entries):
        place = f"annotations[{index}]"
        image_id = check.identifier(entry.get("image_id", MISSING), f"{place}.image_id")
        if image_id not in images:
            raise check.error(f"{place}.image_id", "the id of an image in `images`", image_id)
        category_id = check.identifier(entry.get("category_id", MISSING), f"{place}.category_id")
        if category_id not in categories:
            raise check.error(f"{place}.category_id", "an id in `categories`", category_id)
        name, keypoints = categories[category_id]
        image = images[image_id]
        points = _read_points(entry, keypoints, image, check, place)
        regions = _read_regions(entry, image.size, check, place)
        score = check.score(entry.get("score"), f"{place}.score")
        fields = _other_fields(entry, points, regions, score) | {"id": ids[index]}
        objects[image_id].append(AnnotatedObject(name, points, regions, score, fields))
    fields = {key: value for key, value in document.items() if key != "images"}
    del fields["annotations"]
    if [found.fields["id"] for group in objects.values() for found in group] != ids:
        fields["annotations"] = ids
    return AnnotationSet(
        format="coco",
        images=tuple(
            ImageAnnotations(image.name, image.size, tuple(objects[identifier]), image.fields)
            for identifier, image in images.items()
        ),
        fields=fields,
    )


def _read_categories(document: dict, check: Checker) -> dict:
    """Returns id -> (name, names of keypoints)."""
    categories = {}
    for index, entry in enumerate(check.sequence(document.get("categories", []), "categories")):
        place = f"categories[{index}]"
        identifier = check.identifier(check.mapping(entry, place).get("id", MISSING), f"{place}.id")
        if identifier in categories:
            raise check.error(
                f"{place}.id", "another id than that of a category before", identifier
            )
        keypoints = check.sequence(entry.get("keypoints", []), f"{place}.keypoints")
        for k, name in enumerate(keypoints):
            check.text(name, f"{place}.keypoints[{k}]")
        if len(set(keypoints)) < len(keypoints):
            raise check.error(f"{place}.keypoints", "names that differ", keypoints)
        categories[identifier] = check.text(entry.get("name", MISSING), f"{place}.name"), keypoints
    return categories


def _read_images(document: dict, check: Checker) -> dict[int | str, ImageAnnotations]:
    images = {}
    for index, entry in enumerate(check.sequence(document.get("images", MISSING), "images")):
        place = f"images[{index}]"
        identifier = check.identifier(check.mapping(entry, place).get("id", MISSING), f"{place}.id")
        if identifier in images:
            raise check.error(f"{place}.id", "an id that no image before it has", identifier)
        size = check.size(entry, ("height", "width"), f"{place}.")
        carried = ("file_name",) if size is None else ("file_name", "height", "width")
        images[identifier] = ImageAnnotations(
            name=check.text(entry.get("file_name", MISSING), f"{place}.file_name"),
            size=size,
            fields={key: value for key, value in entry.items() if key not in carried},
        )
    return images


def _annotation_ids(entries: list, check: Checker) -> list:
    """Returns the ids of the annotations. Those without any, as in a file of results, get one."""
    ids, known = [], set()
    for index, entry in enumerate(entries):
        place = f"annotations[{index}]"
        identifier = check.mapping(entry, place).get("id")
        if identifier is not None:
            check.identifier(identifier, f"{place}.id")
            if identifier in known:
                raise check.error(
                    f"{place}.id", "an id that no annotation before it has", identifier
                )
            known.add(identifier)
        ids.append(identifier)
    following = new_ids(known)
    return [next(following) if identifier is None else identifier for identifier in ids]


def new_ids(known: Collection) -> Iterator[int]:
    """Returns whole numbers, from 1 on, that are greater than all known ids."""
    numbers = [identifier for identifier in known if isinstance(identifier, int)]
    return itertools.count(max([0, *numbers]) + 1)


def _read_points(entry, names, image: ImageAnnotations, check: Checker, place: str) -> dict:
    values = entry.get("keypoints")
    if values is None:
        return {}
    place = f"{place}.keypoints"
    numbers = check.numbers(values, place)
    if len(numbers) != 3 * len(names):
        raise check.error(
            place,
            f"x, y and v of each of the {len(names)} keypoints of its category",
            f"{len(numbers)} numbers",
        )
    scores = _read_point_scores(entry, names, check, place.removesuffix("keypoints") + POINT_SCORES)
    points = {}
    triples = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
    for name, (x, y, v), score in zip(names, triples, scores, strict=True):
        if v not in (NOT_LABELLED, HIDDEN, VISIBLE):
            raise check.error(f"{place}[{3 * len(points) + 2}]", "v, which is 0, 1 or 2", v)
        if v != NOT_LABELLED:
            check.inside(x, y, name, image.name, image.size, place)
        points[name] = Point(x, y, int(v), score)
    return points


def _read_point_scores(entry, names, check: Checker, place: str) -> list:
    scores = entry.get(POINT_SCORES)
    if scores is None:
        return [None] * len(names)
    if len(check.sequence(scores, place)) != len(names):
        raise check.error(place, f"one score for each of {len(names)} keypoints", scores)
    return [check.score(score, f"{place}[{k}]") for k, score in enumerate(scores)]


def _read_regions(entry, size, check: Checker, place: str) -> tuple[Region, ...]:
    regions = []
    # Both are commonly left empty where only the points are marked.
    if entry.get("segmentation") not in (None, []):
        score = check.score(entry.get(MASK_SCORE), f"{place}.{MASK_SCORE}")
        place_of_mask = f"{place}.segmentation"
        regions.append(read_segmentation(entry["segmentation"], size, score, check, place_of_mask))
    if entry.get("bbox") not in (None, []):
        score = check.score(entry.get(BOX_SCORE), f"{place}.{BOX_SCORE}")
        regions.append(read_box(entry["bbox"], score, check, f"{place}.bbox"))
    return tuple(regions)


def _other_fields(entry: dict, points: dict, regions: tuple, score: float | None) -> dict:
    """Returns what of an annotation is not in the object.

    The `keypoints` are among it: they tell whether the points changed since they were read, and
    with them numbers that others derived from them, such as the area.
    """
    carried = {"image_id"}
    if any(point.score is not None for point in points.values()):
        carried.add(POINT_SCORES)
    if score is not None:
        carried.add("score")
    for region in regions:
        is_box = region.kind == "box"
        carried |= {"bbox", BOX_SCORE} if is_box else {"segmentation", MASK_SCORE}
    return {key: value for key, value in entry.items() if key not in carried}
