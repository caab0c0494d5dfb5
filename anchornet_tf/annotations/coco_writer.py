"""Writes annotations as COCO's JSON, such that a file that was read is written as it was.

What another program wrote is repeated where it still says the same. What was derived from points,
masks or boxes that changed since is derived again: `bbox`, `area` and `num_keypoints`.
"""

from anchornet_tf.annotations.checks import plain_number, shown
from anchornet_tf.annotations.coco import BOX_SCORE, MASK_SCORE, POINT_SCORES, new_ids
from anchornet_tf.annotations.coco_shapes import (
    edges_and_area,
    write_box,
    write_edges,
    write_segmentation,
)
from anchornet_tf.annotations.items import (
    NOT_LABELLED,
    AnnotatedObject,
    AnnotationSet,
    ImageAnnotations,
)


def document(annotations: AnnotationSet) -> dict:
    """Returns what a COCO file of these annotations holds.

    Ids are kept where they are known and no other image or annotation has them. Categories that the
    set does not have are added, with the names of their keypoints in order of appearance.

    Raises:
        ValueError: If an object has more regions than COCO has room for: one of polygons or a mask,
            and one box, both without a name.
    """
    categories, category_of = _categories(annotations)
    image_ids = _unique_ids([image.fields.get("id") for image in annotations.images])
    pairs = [
        (image, image_id, found)
        for image, image_id in zip(annotations.images, image_ids, strict=True)
        for found in image.objects
    ]
    ids = _unique_ids([found.fields.get("id") for _, _, found in pairs])
    entries = [
        _annotation(found, identifier, image_id, category_of(found), image)
        for (image, image_id, found), identifier in zip(pairs, ids, strict=True)
    ]
    order = {
        identifier: k for k, identifier in enumerate(annotations.fields.get("annotations", []))
    }
    entries.sort(key=lambda entry: order.get(entry["id"], len(order)))
    others = {
        key: value
        for key, value in annotations.fields.items()
        if key not in ("annotations", "categories")
    }
    return {
        **others,
        "images": [
            _image(image, identifier)
            for image, identifier in zip(annotations.images, image_ids, strict=True)
        ],
        "annotations": entries,
        "categories": categories,
    }


def _unique_ids(wanted: list) -> list:
    """Returns the wanted ids; None and those that are taken become new ones."""
    taken, ids = set(), []
    for identifier in wanted:
        free = identifier is not None and identifier not in taken
        ids.append(identifier if free else None)
        if free:
            taken.add(identifier)
    following = new_ids(taken)
    return [next(following) if identifier is None else identifier for identifier in ids]


def _categories(annotations: AnnotationSet):
    """Returns COCO's categories, and the function from an object to the one that it has."""
    categories = [dict(category) for category in annotations.fields.get("categories", [])]
    by_id = {category["id"]: category for category in categories}
    by_name = {category["name"]: category for category in reversed(categories)}
    following = new_ids(by_id)

    def category_of(found: AnnotatedObject) -> dict:
        # Two categories may have the same name.
        own = by_id.get(found.fields.get("category_id"))
        if own is not None and own["name"] == found.category:
            return own
        return by_name[found.category]

    for image in annotations.images:
        for found in image.objects:
            if found.category not in by_name:
                category = {"id": next(following), "name": found.category, "supercategory": ""}
                by_name[found.category] = category
                categories.append(category)
            category = category_of(found)
            known = category.get("keypoints", [])
            if not found.points.keys() <= set(known):
                added = [name for name in found.points if name not in known]
                category["keypoints"] = [*known, *added]
                category.setdefault("skeleton", [])
    return categories, category_of


def _image(image: ImageAnnotations, identifier) -> dict:
    entry = {"id": identifier, "file_name": image.name}
    if image.size is not None:
        height, width = image.size
        entry |= {"height": int(height), "width": int(width)}
    return {**image.fields, **entry}


def _annotation(
    found: AnnotatedObject, identifier, image_id, category: dict, image: ImageAnnotations
) -> dict:
    outline, box = _regions(found, image)
    entry = {"id": identifier, "image_id": image_id, "category_id": category["id"]}
    if outline is not None:
        entry["segmentation"] = write_segmentation(outline)
    entry["bbox"] = _bbox(found, outline, box)
    if found.points:
        entry["keypoints"] = _keypoints(found, category)
    entry |= _derived(found, outline, box, entry)
    entry |= _scores(found, outline, box, category)
    # pycocotools evaluates only annotations that have it.
    entry["iscrowd"] = found.fields.get("iscrowd", 0)
    # Others' keys follow, so that a file that is read and written again has the same order.
    others = {key: value for key, value in found.fields.items() if key not in entry}
    if others.get("keypoints"):
        del others["keypoints"]  # The object had points and lost them.
    return entry | others


def _regions(found: AnnotatedObject, image: ImageAnnotations):
    """Returns the region that becomes the segmentation and the one that becomes the box."""
    outlines = [region for region in found.regions if region.kind != "box"]
    boxes = [region for region in found.regions if region.kind == "box"]
    names = [region.name for region in found.regions if region.name]
    if len(outlines) > 1 or len(boxes) > 1 or names:
        raise ValueError(
            "An object in a COCO file has at most one mask and one box, without names. Received: "
            f"{len(outlines)} masks and {len(boxes)} boxes with the names {shown(names)} "
            f"in {shown(image.name)}"
        )
    return (outlines or [None])[0], (boxes or [None])[0]


def _bbox(found: AnnotatedObject, outline, box) -> list:
    if box is not None:
        return write_box(box)
    if outline is not None:
        return write_edges(*edges_and_area(outline)[0])
    points = [point for point in found.points.values() if point.visibility != NOT_LABELLED]
    if not points:
        return [0, 0, 0, 0]
    x, y = [point.x for point in points], [point.y for point in points]
    # The outer edges of the pixels that hold the points: one point alone has an area too.
    return write_edges(min(x) - 0.5, min(y) - 0.5, max(x) + 0.5, max(y) + 0.5)


def _keypoints(found: AnnotatedObject, category: dict) -> list:
    values = []
    for name in category["keypoints"]:
        point = found.points.get(name)
        if point is None:
            values += [0, 0, NOT_LABELLED]
        else:
            values += [plain_number(point.x), plain_number(point.y), int(point.visibility)]
    return values


def _derived(found: AnnotatedObject, outline, box, entry: dict) -> dict:
    """Returns `area` and `num_keypoints`, as they were read where nothing changed since."""
    fields = found.fields
    same_points = entry.get("keypoints", []) == (fields.get("keypoints") or [])
    if outline is not None:
        same_area = entry["segmentation"] == outline.fields.get("segmentation")
    else:
        same_area = same_points and (box is None or entry["bbox"] == box.fields.get("bbox"))
    if same_area and fields.get("area") is not None:
        area = fields["area"]
    elif outline is not None:
        area = plain_number(edges_and_area(outline)[1])
    else:
        area = plain_number(entry["bbox"][2] * entry["bbox"][3])
    if same_points and fields.get("num_keypoints") is not None:
        count = fields["num_keypoints"]
    else:
        count = sum(point.visibility != NOT_LABELLED for point in found.points.values())
    return {"area": area, "num_keypoints": count}


def _scores(found: AnnotatedObject, outline, box, category: dict) -> dict:
    scores = {}
    if found.score is not None:
        scores["score"] = plain_number(found.score)
    if outline is not None and outline.score is not None:
        scores[MASK_SCORE] = plain_number(outline.score)
    if box is not None and box.score is not None:
        scores[BOX_SCORE] = plain_number(box.score)
    scored = any(point.score is not None for point in found.points.values())
    if scored or (found.points and POINT_SCORES in found.fields):
        points = [found.points.get(name) for name in category["keypoints"]]
        scores[POINT_SCORES] = [
            None if point is None or point.score is None else plain_number(point.score)
            for point in points
        ]
    return scores
