"""Which format a file has, and refusals of files that are not as they must be."""

import copy
import json
import os

import numpy as np
import pytest

from anchornet_tf.annotations.formats import read_annotations, write_annotations
from anchornet_tf.annotations.items import AnnotatedObject, AnnotationSet, ImageAnnotations, Point

COCO = {
    "images": [{"id": 1, "file_name": "a.jpg", "height": 10, "width": 20}],
    "annotations": [
        {
            "id": 1,
            "image_id": 1,
            "category_id": 1,
            "keypoints": [1, 2, 2, 3, 4, 1],
            "keypoint_scores": [0.5, None],
            "segmentation": [[1, 1, 5, 1, 5, 5]],
            "bbox": [1, 1, 4, 4],
            "score": 0.5,
        }
    ],
    "categories": [{"id": 1, "name": "bird", "keypoints": ["beak", "tail"]}],
}
POINT = {"label": "beak", "points": [[1, 2]], "shape_type": "point", "group_id": None, "flags": {}}
LABELME = {
    "version": "5.5.0",
    "flags": {},
    "shapes": [
        POINT,
        {"label": "a", "points": [[1, 2], [3, 4], [5, 2]], "shape_type": "polygon"},
    ],
    "imagePath": "a.jpg",
    "imageData": None,
    "imageHeight": 10,
    "imageWidth": 20,
}
REMOVED = object()
NAN, INF = float("nan"), float("inf")
RUNS = "annotations", 0, "segmentation"


def _with(document, path, value):
    document = copy.deepcopy(document)
    target = document
    for key in path[:-1]:
        target = target[key]
    if value is REMOVED:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return document


def _refusal(path) -> str:
    with pytest.raises(ValueError) as refusal:
        read_annotations(path)
    message = str(refusal.value)
    assert "\n" not in message and "Received: " in message and len(message) < 600
    assert path.name in message
    return message


def _refused(tmp_path, document) -> str:
    path = tmp_path / "in.json"
    path.write_text(json.dumps(document))
    return _refusal(path)


def test_formats_are_recognised_by_content(tmp_path):
    for name, document in (("coco", COCO), ("labelme", LABELME)):
        path = tmp_path / "any.name"
        path.write_text(json.dumps(document))
        assert read_annotations(path).format == name
        path.write_text("\ufeff" + json.dumps(document), encoding="utf-8")
        assert read_annotations(os.fspath(path)).format == name
    (tmp_path / "a.CSV").write_text("image,name,x,y\n")
    assert read_annotations(tmp_path / "a.CSV").format == "csv"


@pytest.mark.parametrize(
    ("keys", "value", "place"),
    [
        (("images",), {}, "images"),
        (("images", 0), 7, "images[0]"),
        (("images", 0, "id"), REMOVED, "images[0].id"),
        (("images", 0, "id"), [1], "images[0].id"),
        (("images", 0, "id"), True, "images[0].id"),
        (("images", 0, "file_name"), REMOVED, "images[0].file_name"),
        (("images", 0, "file_name"), 3, "images[0].file_name"),
        (("images", 0, "height"), -10, "images[0].height"),
        (("images", 0, "height"), "10", "images[0].height"),
        (("images", 0, "width"), 0, "images[0].width"),
        (("images", 0, "width"), 2.5, "images[0].width"),
        (("images", 0, "width"), INF, "images[0].width"),
        (("images", 0, "width"), None, "images[0].width"),
        (("images", 0, "width"), 10**300, "images[0].width"),
        (("images",), COCO["images"] * 2, "images[1].id"),
        (("categories",), None, "categories"),
        (("categories",), COCO["categories"] * 2, "categories[1].id"),
        (("categories", 0), "bird", "categories[0]"),
        (("categories", 0, "name"), None, "categories[0].name"),
        (("categories", 0, "keypoints"), "beak", "categories[0].keypoints"),
        (("categories", 0, "keypoints"), ["beak", 1], "categories[0].keypoints[1]"),
        (("categories", 0, "keypoints"), ["beak", "beak"], "categories[0].keypoints"),
        (("categories", 0, "keypoints"), ["beak"], "annotations[0].keypoints"),
        (("annotations",), "x", "annotations"),
        (("annotations", 0), None, "annotations[0]"),
        (("annotations",), COCO["annotations"] * 2, "annotations[1].id"),
        (("annotations", 0, "id"), {}, "annotations[0].id"),
        (("annotations", 0, "image_id"), REMOVED, "annotations[0].image_id"),
        (("annotations", 0, "image_id"), 2, "annotations[0].image_id"),
        (("annotations", 0, "image_id"), [], "annotations[0].image_id"),
        (("annotations", 0, "category_id"), 2, "annotations[0].category_id"),
        (("annotations", 0, "category_id"), None, "annotations[0].category_id"),
        (("annotations", 0, "keypoints"), "1", "annotations[0].keypoints"),
        (("annotations", 0, "keypoints"), [1, 2, 2], "annotations[0].keypoints"),
        (("annotations", 0, "keypoints", 1), NAN, "annotations[0].keypoints[1]"),
        (("annotations", 0, "keypoints", 3), -INF, "annotations[0].keypoints[3]"),
        (("annotations", 0, "keypoints", 3), "3", "annotations[0].keypoints[3]"),
        (("annotations", 0, "keypoints", 3), True, "annotations[0].keypoints[3]"),
        (("annotations", 0, "keypoints", 3), 10**400, "annotations[0].keypoints[3]"),
        (("annotations", 0, "keypoints", 5), 3, "annotations[0].keypoints[5]"),
        (("annotations", 0, "keypoints", 0), 21, "annotations[0].keypoints"),
        (("annotations", 0, "keypoints", 1), -1.6, "annotations[0].keypoints"),
        (("annotations", 0, "keypoint_scores"), [1], "annotations[0].keypoint_scores"),
        (("annotations", 0, "keypoint_scores", 0), "1", "annotations[0].keypoint_scores[0]"),
        (("annotations", 0, "score"), "high", "annotations[0].score"),
        (("annotations", 0, "score"), NAN, "annotations[0].score"),
        (("annotations", 0, "bbox"), [1, 2, 3], "annotations[0].bbox"),
        (("annotations", 0, "bbox"), {"x": 1}, "annotations[0].bbox"),
        (("annotations", 0, "bbox", 2), -1, "annotations[0].bbox"),
        (("annotations", 0, "bbox", 0), NAN, "annotations[0].bbox[0]"),
        (RUNS, "x", "annotations[0].segmentation"),
        (RUNS, [[1, 2, 3, 4]], "annotations[0].segmentation[0]"),
        (RUNS, [[1, 2, 3, 4, 5, 6, 7]], "annotations[0].segmentation[0]"),
        (RUNS, [1, 2, 3, 4, 5, 6], "annotations[0].segmentation[0]"),
        (RUNS, [[1, 2, 3, 4, 5, NAN]], "annotations[0].segmentation[0][5]"),
        (RUNS, {"counts": [200]}, "annotations[0].segmentation.size"),
        (RUNS, {"size": [20, 10], "counts": [200]}, "annotations[0].segmentation.size"),
        (RUNS, {"size": [10, "20"], "counts": [200]}, "annotations[0].segmentation.size[1]"),
        (RUNS, {"size": [10, 20]}, "annotations[0].segmentation.counts"),
        (RUNS, {"size": [10, 20], "counts": [199]}, "annotations[0].segmentation.counts"),
        (RUNS, {"size": [10, 20], "counts": [-1, 201]}, "annotations[0].segmentation.counts"),
        (RUNS, {"size": [10, 20], "counts": [200.0]}, "annotations[0].segmentation.counts"),
        (RUNS, {"size": [10, 20], "counts": [10**30]}, "annotations[0].segmentation.counts"),
        (RUNS, {"size": [10, 20], "counts": "ab c"}, "annotations[0].segmentation.counts"),
        (RUNS, {"size": [10, 20], "counts": "é"}, "annotations[0].segmentation.counts"),
        (RUNS, {"size": [10, 20], "counts": "00"}, "annotations[0].segmentation.counts"),
    ],
)
def test_refuses_coco(tmp_path, keys, value, place):
    assert _refused(tmp_path, _with(COCO, keys, value)).startswith(f"{place} of ")


def test_refuses_masks_of_any_size_that_a_file_may_claim(tmp_path):
    runs = {"size": [10**6, 10**6], "counts": [10**12]}
    document = _with(_with(COCO, RUNS, runs), ("images", 0), {"id": 1, "file_name": "a.jpg"})
    assert "pixels" in _refused(tmp_path, document)


def test_names_the_point_that_is_outside(tmp_path):
    message = _refused(tmp_path, _with(COCO, ("annotations", 0, "keypoints", 3), 99))
    assert "'tail'" in message and "'a.jpg'" in message and "Received: (99, 4)" in message


def test_points_at_the_edge_or_not_labelled_are_no_errors(tmp_path):
    path = tmp_path / "in.json"
    for values in ([20.5, 10.5, 2, -1.5, -1.5, 1], [99, 99, 0, -50, 3, 0]):
        path.write_text(json.dumps(_with(COCO, ("annotations", 0, "keypoints"), values)))
        assert len(read_annotations(path).images[0].objects[0].points) == 2
    # Without a size nobody can say.
    document = _with(COCO, ("annotations", 0, "keypoints", 0), 99)
    document["images"] = [{"id": 1, "file_name": "a.jpg"}]
    path.write_text(json.dumps(document))
    assert read_annotations(path).images[0].objects[0].points["beak"].x == 99


@pytest.mark.parametrize(
    ("keys", "value", "place"),
    [
        (("imagePath",), REMOVED, "imagePath"),
        (("imagePath",), None, "imagePath"),
        (("imageHeight",), -1, "imageHeight"),
        (("imageWidth",), "20", "imageWidth"),
        (("imageData",), 5, "imageData"),
        (("flags",), [1], "flags"),
        (("shapes",), {}, "shapes"),
        (("shapes", 0), "x", "shapes[0]"),
        (("shapes", 0, "label"), REMOVED, "shapes[0].label"),
        (("shapes", 0, "label"), 4, "shapes[0].label"),
        (("shapes", 0, "shape_type"), 4, "shapes[0].shape_type"),
        (("shapes", 0, "group_id"), "1", "shapes[0].group_id"),
        (("shapes", 0, "group_id"), True, "shapes[0].group_id"),
        (("shapes", 0, "flags"), 4, "shapes[0].flags"),
        (("shapes", 0, "score"), "4", "shapes[0].score"),
        (("shapes", 0, "points"), REMOVED, "shapes[0].points"),
        (("shapes", 0, "points"), [], "shapes[0].points"),
        (("shapes", 0, "points"), [[1, 2], [3, 4]], "shapes[0].points"),
        (("shapes", 0, "points"), [[1, 2, 3]], "shapes[0].points[0]"),
        (("shapes", 0, "points"), [[1, NAN]], "shapes[0].points[0][1]"),
        (("shapes", 0, "points"), [[1, None]], "shapes[0].points[0][1]"),
        (("shapes", 0, "points"), [[22, 3]], "shapes[0]"),
        (("shapes", 1, "points"), None, "shapes[1].points"),
        (("shapes", 1, "points", 1), [1], "shapes[1].points[1]"),
        (("shapes", 1, "points", 1), [1, INF], "shapes[1].points"),
        (("shapes", 1, "shape_type"), "circle", "shapes[1].points"),
        (("shapes", 1, "shape_type"), "mask", "shapes[1].points"),
        (("shapes", 1), LABELME["shapes"][1] | {"score": NAN}, "shapes[1].score"),
    ],
)
def test_refuses_labelme(tmp_path, keys, value, place):
    assert _refused(tmp_path, _with(LABELME, keys, value)).startswith(place)


@pytest.mark.parametrize("mask", [REMOVED, None, 5, "", "&", "bm8gUE5H", "iVBORw0KGgo="])
def test_refuses_masks_that_are_no_pictures(tmp_path, mask):
    shape = {"label": "a", "points": [[1, 2], [3, 4]], "shape_type": "mask"}
    if mask is not REMOVED:
        shape["mask"] = mask
    document = _with(LABELME, ("shapes", 1), shape)
    assert _refused(tmp_path, document).startswith("shapes[1].mask of ")
    document |= {"imageHeight": None, "imageWidth": None}
    assert "known size" in _refused(tmp_path, document)


@pytest.mark.parametrize(
    ("content", "received"),
    [
        (b"", "an empty file"),
        (b"\xef\xbb\xbf \n", "an empty file"),
        (b"{", "line 1"),
        (b'{"a": 1}', "{'a': 1}"),
        (b'{"images": []}', "{'images': []}"),
        (b"[]", "[]"),
        (b"null", "None"),
        (b'{"a":\n"\xe9"}', "the byte 0xe9 in line 2"),
        (json.dumps(COCO).encode("utf-16"), "the byte 0xff in line 1"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[" + b"1" * 10_000 + b"]", "thousands of digits"),
        (b"image,name,x,y\n", "line 1"),
        (json.dumps(["x" * 100_000] * 100).encode(), "xxx"),
    ],
    ids=range(14),
)
def test_refuses_files_that_are_no_annotations(tmp_path, content, received):
    path = tmp_path / "in.json"
    path.write_bytes(content)
    assert received in _refusal(path)


def test_refuses_folders_without_labelme_files(tmp_path):
    (tmp_path / "folder").mkdir()
    assert "without any" in _refusal(tmp_path / "folder")
    (tmp_path / "folder" / "coco.json").write_text(json.dumps(COCO))
    with pytest.raises(ValueError, match="coco.json.*Received: nothing"):
        read_annotations(tmp_path / "folder")


@pytest.mark.parametrize("name", ["none.json", "none.csv", "none"])
def test_missing_files(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=f"Received: .*{name}"):
        read_annotations(tmp_path / name)


def test_names_of_images_are_only_text(tmp_path):
    path = tmp_path / "in.json"
    for name in ("/etc/passwd", "../../x", "a\nb\0c", "\ud800", ""):
        path.write_text(json.dumps(_with(COCO, ("images", 0, "file_name"), name)))
        annotations = read_annotations(path)
        assert annotations.images[0].name == name
        write_annotations(tmp_path / "out.json", annotations)
        assert read_annotations(tmp_path / "out.json").images[0].name == name


def test_refuses_unknown_formats_and_fields_that_json_cannot_hold(tmp_path):
    with pytest.raises(ValueError, match="Received: format='xml'"):
        write_annotations(tmp_path / "out", AnnotationSet("xml", ()))
    annotations = AnnotationSet("coco", (), {"info": np.zeros(2)})
    with pytest.raises(ValueError, match="Received: Object of type ndarray"):
        write_annotations(tmp_path / "out", annotations)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "format_and_suffix", [("coco", ".json"), ("labelme", ".json"), ("csv", ".csv")]
)
def test_many_points(tmp_path, format_and_suffix):
    name, suffix = format_and_suffix
    objects = tuple(
        AnnotatedObject("", {f"p{k}": Point(k, j % 7) for k in range(20)}) for j in range(1000)
    )
    path = tmp_path / f"many{suffix}"
    write_annotations(path, AnnotationSet(name, (ImageAnnotations("a.jpg", (30, 40), objects),)))
    (image,) = read_annotations(path).images
    assert len(image.objects) == 1000
    assert image.objects[999].points["p19"].x == 19 and image.objects[999].points["p19"].y == 5
