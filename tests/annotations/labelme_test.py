"""LabelMe files: round trips, coordinates, objects, and what LabelMe itself requires."""

import base64
import copy
import dataclasses
import io
import json

import numpy as np
import pytest
from PIL import Image

from anchornet_tf.annotations.formats import read_annotations, write_annotations
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
from anchornet_tf.annotations.regions import region_from_mask, region_mask


def _png(pixels) -> str:
    content = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(content, format="PNG")
    return base64.b64encode(content.getvalue()).decode()


def _shape(label, shape_type, points, group_id=None, **others):
    shape = {"label": label, "points": points, "group_id": group_id, "description": ""}
    return shape | {"shape_type": shape_type, "flags": {}, "mask": None} | others


def _document():
    return {
        "version": "5.4.1",
        "flags": {"checked": True},
        "shapes": [
            _shape("beak", "point", [[10.1, 11.3]], 1),
            _shape("scratch", "line", [[1, 2], [3, 4]]),
            _shape("beak", "point", [[20.0, 21.0]], 2, flags={"hidden": True}, note="own"),
            _shape("tail", "point", [[5.5, 6.5]], 1, description=None),
            _shape("bird", "polygon", [[1.2, 1.3], [9.9, 1.3], [9.9, 8.1]], 1),
            _shape("bird", "rectangle", [[30.0, 12.0], [20.0, 2.0]], 2),
            _shape("eye", "circle", [[12.3, 12.3], [15.1, 12.3]], 2),
            _shape("wing", "mask", [[4, 3], [6, 4]], 2, mask=_png([[1, 0, 1], [1, 1, 0]])),
            _shape("beak", "point", [[25.0, 26.0]], 1),
            _shape("path", "linestrip", [[1, 2], [3, 4], [5, 6]], 1),
            _shape("thin", "polygon", [[1, 2], [3, 4]]),
            _shape("turned", "oriented_rectangle", [[5, 5], [9, 7], [8, 9], [4, 7]]),
        ],
        "imagePath": "../bird.jpg",
        "imageData": None,
        "imageHeight": 30,
        "imageWidth": 40,
        "otherTool": {"kept": [1]},
    }


def _read(tmp_path, document):
    path = tmp_path / "in.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return read_annotations(path)


def _written(tmp_path, annotations):
    path = tmp_path / "out.json"
    write_annotations(path, annotations)
    return json.loads(path.read_text(encoding="utf-8"))


def _changed(annotations, change):
    (image,) = annotations.images
    image = dataclasses.replace(image, objects=tuple(map(change, image.objects)))
    return dataclasses.replace(annotations, images=(image,))


def test_groups_are_objects_and_labels_are_names(tmp_path):
    annotations = _read(tmp_path, _document())
    (image,) = annotations.images
    assert (annotations.format, image.name, image.size) == ("labelme", "../bird.jpg", (30, 40))
    first, second, other, loose = image.objects
    assert list(first.points) == ["beak", "tail"]
    assert second.points["beak"].visibility == HIDDEN
    assert [(region.name, region.kind) for region in first.regions] == [("bird", "polygons")]
    kinds = [(region.name, region.kind) for region in second.regions]
    assert kinds == [("bird", "box"), ("eye", "polygons"), ("wing", "mask")]
    # A second beak in the same group is another object.
    assert list(other.points) == ["beak"] and other.fields["group_id"] == 1
    assert [region.name for region in loose.regions] == ["turned"]


def test_coordinates_begin_at_the_corner_of_a_pixel(tmp_path):
    first, second, _, _ = _read(tmp_path, _document()).images[0].objects
    # The middle of the pixel (5, 6).
    assert (first.points["tail"].x, first.points["tail"].y) == (5, 6)
    box, circle, mask = second.regions
    assert box.box == (19.5, 1.5, 29.5, 11.5)
    assert region_mask(box, (30, 40))[2:12, 20:30].all()
    assert region_mask(box, (30, 40)).sum() == 100
    np.testing.assert_allclose(circle.polygons[0].mean(axis=0), [11.8, 11.8])
    np.testing.assert_allclose(np.hypot(*(circle.polygons[0] - 11.8).T), 2.8)
    expected = np.zeros((30, 40), bool)
    expected[3:5, 4:7] = [[1, 0, 1], [1, 1, 0]]
    np.testing.assert_array_equal(mask.mask, expected)


def test_a_file_is_written_as_it_was_read(tmp_path):
    assert _written(tmp_path, _read(tmp_path, _document())) == _document()


def test_image_data_and_unknown_sizes_are_kept(tmp_path):
    document = _document() | {"imageData": "bm90IGFuIGltYWdl", "imageHeight": None}
    document["imageWidth"] = None
    document["shapes"] = document["shapes"][:7]
    assert _written(tmp_path, _read(tmp_path, document)) == document


def test_old_files_are_completed(tmp_path):
    document = {
        "shapes": [{"label": "a", "points": [[1, 2], [3, 4], [5, 2]]}],
        "imagePath": "a.png",
    }
    written = _written(tmp_path, _read(tmp_path, document))
    keys = {"version", "flags", "shapes", "imagePath", "imageData", "imageHeight", "imageWidth"}
    assert written.keys() == keys
    assert written["shapes"] == [_shape("a", "polygon", [[1, 2], [3, 4], [5, 2]])]


def test_random_files_are_written_as_they_were_read(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(20):
        document = _document()
        for shape in document["shapes"]:
            if shape["shape_type"] != "mask":
                shape["points"] = (rng.random((len(shape["points"]), 2)) * 30).tolist()
        rng.shuffle(document["shapes"])
        assert _written(tmp_path, _read(tmp_path, document)) == document


def test_moved_points_have_scores_and_flags(tmp_path):
    document = _document()
    document["shapes"][3]["description"] = "by Ann"

    def change(found):
        points = {
            name: dataclasses.replace(point, x=7.0, y=8.0, visibility=visibility, score=0.8734)
            for (name, point), visibility in zip(
                found.points.items(), (HIDDEN, VISIBLE), strict=False
            )
        }
        return dataclasses.replace(found, points=points, score=0.5)

    written = _written(tmp_path, _changed(_read(tmp_path, document), change))
    shapes = {k: s for k, s in enumerate(written["shapes"]) if s["shape_type"] == "point"}
    assert list(shapes) == [0, 2, 3, 8]
    assert all(shape["points"] == [[7.5, 8.5]] for shape in shapes.values())
    assert [shape["flags"] for shape in shapes.values()] == [{"hidden": True}] * 2 + [{}] + [
        {"hidden": True}
    ]
    assert [shape["description"] for shape in shapes.values()] == [
        "score=0.873",
        "score=0.873",
        "by Ann",
        "score=0.873",
    ]
    assert shapes[2]["note"] == "own"
    assert {shape["object_score"] for shape in shapes.values()} == {0.5}
    again = read_annotations(tmp_path / "out.json").images[0].objects
    assert again[0].points["beak"].score == 0.8734 and again[0].score == 0.5

    # A person who looks at it removes the score, and its text with it.
    def settle(found):
        points = {name: dataclasses.replace(p, score=None) for name, p in found.points.items()}
        return dataclasses.replace(found, points=points, score=None)

    settled = _written(tmp_path, _changed(read_annotations(tmp_path / "out.json"), settle))
    assert "score" not in settled["shapes"][0] and settled["shapes"][0]["description"] == ""
    assert not any("object_score" in shape for shape in settled["shapes"])


def test_a_hidden_point_can_become_visible(tmp_path):
    def change(found):
        points = {k: dataclasses.replace(p, visibility=VISIBLE) for k, p in found.points.items()}
        return dataclasses.replace(found, points=points)

    written = _written(tmp_path, _changed(_read(tmp_path, _document()), change))
    assert written["shapes"][2]["flags"] == {"hidden": False}


def test_points_that_are_not_labelled_are_no_shapes(tmp_path):
    found = AnnotatedObject("", {"a": Point(1, 2), "b": Point(0, 0, NOT_LABELLED)})
    image = ImageAnnotations("a.png", (30, 40), (found,))
    written = _written(tmp_path, AnnotationSet("labelme", (image,)))
    assert written["shapes"] == [_shape("a", "point", [[1.5, 2.5]])]


def test_changed_regions_are_written_in_their_kind(tmp_path):
    mask = np.zeros((30, 40), bool)
    mask[3:5, 4:10] = mask[20:22, 30:33] = True

    def change(found):
        regions = tuple(region_from_mask(mask, region, 0.25) for region in found.regions)
        return dataclasses.replace(found, regions=regions)

    written = _written(tmp_path, _changed(_read(tmp_path, _document()), change))
    shapes = [shape for shape in written["shapes"] if shape.get("score") == 0.25]
    kinds = [(shape["label"], shape["shape_type"]) for shape in shapes]
    assert kinds == [
        ("bird", "polygon"),
        ("bird", "polygon"),
        ("bird", "rectangle"),
        ("eye", "polygon"),
        ("eye", "polygon"),
        ("wing", "mask"),
        ("turned", "polygon"),
        ("turned", "polygon"),
    ]
    assert shapes[0]["points"] == [[4, 3], [10, 3], [10, 5], [4, 5]]
    assert shapes[2]["points"] == [[4, 3], [33, 22]]
    # The corners of a mask are its first and last pixel.
    assert shapes[5]["points"] == [[4, 3], [32, 21]]
    again = read_annotations(tmp_path / "out.json").images[0].objects[1].regions
    np.testing.assert_array_equal(again[-1].mask, mask)
    assert again[-1].score == 0.25


def test_new_objects_get_groups_of_their_own(tmp_path):
    objects = tuple(AnnotatedObject("", {"a": Point(k, k)}) for k in range(3))
    known = AnnotatedObject("", {"b": Point(1, 1)}, fields={"group_id": 4})
    image = ImageAnnotations("a.png", (30, 40), (*objects, known))
    written = _written(tmp_path, AnnotationSet("labelme", (image,)))
    assert [shape["group_id"] for shape in written["shapes"]] == [5, 6, 7, 4]


def test_written_files_satisfy_labelme(tmp_path):
    """What LabelMe 5 and 6 check when they open a file."""
    mask = np.zeros((30, 40), bool)
    mask[3:5, 4:10] = True
    regions = tuple(
        region_from_mask(mask, Region("part", kind), 0.5) for kind in ("polygons", "mask", "box")
    )
    found = AnnotatedObject("", {"a": Point(np.float32(1.25), 2, HIDDEN, 0.5)}, regions, 0.5)
    image = ImageAnnotations("a.png", (30, 40), (found,))
    written = _written(tmp_path, AnnotationSet("labelme", (image,)))
    counts = {"point": 1, "rectangle": 2, "mask": 2}
    for shape in written["shapes"]:
        assert isinstance(shape["label"], str) and isinstance(shape["description"], str)
        assert shape["group_id"] is None or type(shape["group_id"]) is int
        assert all(type(value) is bool for value in shape["flags"].values())
        assert len(shape["points"]) == counts.get(shape["shape_type"], len(shape["points"]))
        assert (shape["mask"] is None) == (shape["shape_type"] != "mask")
    picture = Image.open(io.BytesIO(base64.b64decode(written["shapes"][2]["mask"])))
    (x0, y0), (x1, y1) = written["shapes"][2]["points"]
    assert picture.mode == "L" and picture.size == (x1 - x0 + 1, y1 - y0 + 1)


def test_masks_that_leave_the_image_are_cut(tmp_path):
    document = _document()
    pixels = _png(np.ones((4, 5)))
    document["shapes"] = [
        _shape("a", "mask", [[-2, -1], [2, 2]], mask=pixels),
        _shape("b", "mask", [[38.4, 28.4], [42, 31]], mask=pixels),
        _shape("c", "mask", [[400, 300], [404, 303]], mask=pixels),
    ]
    a, b, c = (region.mask for region in _read(tmp_path, document).images[0].objects[0].regions)
    assert a.sum() == a[:3, :3].sum() == 9
    assert b.sum() == b[28:, 38:].sum() == 4
    assert not c.any()
    assert _written(tmp_path, _read(tmp_path, document)) == document


def test_a_folder_is_read_and_written(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    documents = {}
    for name in ("b.json", "a.json", "c.JSON"):
        documents[name] = copy.deepcopy(_document()) | {"imagePath": f"{name}.jpg"}
        (folder / name).write_text(json.dumps(documents[name]))
    (folder / "a.jpg").write_bytes(b"no JSON")
    annotations = read_annotations(folder)
    assert [image.name for image in annotations.images] == [
        "a.json.jpg",
        "b.json.jpg",
        "c.JSON.jpg",
    ]
    write_annotations(tmp_path / "out", annotations)
    written = {path.name: json.loads(path.read_text()) for path in (tmp_path / "out").iterdir()}
    assert written == documents
    # Once more into the same folder, with the same bytes.
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    write_annotations(tmp_path / "out", annotations)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}


def test_files_of_new_images_are_named_after_them(tmp_path):
    names = ["x/a.jpg", "/abs/a.png", "../A.gif", "C:\\photos\\b:1.jpg", "..", "", "a-2.jpg"]
    images = tuple(ImageAnnotations(name, (30, 40)) for name in names)
    write_annotations(tmp_path / "out", AnnotationSet("labelme", images))
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(files) == len(names) and "a.json" in files and "b_1.json" in files
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert sorted(image.name for image in read_annotations(tmp_path / "out").images) == sorted(
        names
    )


def test_several_images_are_no_file(tmp_path):
    images = tuple(ImageAnnotations(name) for name in "ab")
    with pytest.raises(ValueError, match="Received: 2 images"):
        write_annotations(tmp_path / "out.json", AnnotationSet("labelme", images))
