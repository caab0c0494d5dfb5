"""COCO files: round trips, coordinates, and agreement with pycocotools."""

import contextlib
import dataclasses
import io
import json

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from anchornet_tf.annotations import rle
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

MASK = np.zeros((48, 64), bool)
MASK[10:20, 30:41] = True


def _document():
    return {
        "info": {"description": "Birds", "year": 2024, "version": "1.0"},
        "licenses": [{"id": 1, "name": "CC BY 4.0", "url": "http://example.org"}],
        "extra": {"kept": [1, None, "ü"]},
        "images": [
            {"id": 7, "file_name": "a.jpg", "height": 48, "width": 64, "license": 1},
            {"id": 3, "file_name": "../b.jpg", "height": 48, "width": 64, "coco_url": "http://x"},
            {"id": 9, "file_name": "empty.jpg"},
        ],
        "annotations": [
            {
                "id": 101,
                "image_id": 3,
                "category_id": 2,
                "keypoints": [10, 11.3, 2, 0, 0, 0, 12, 13, 1],
                "num_keypoints": 2,
                "segmentation": [[5.1, 5.2, 20.7, 5.3, 20.9, 30.1], [1, 1, 4, 1, 4, 4, 1, 4]],
                "area": 201.7,
                "bbox": [1.0, 1.0, 19.9, 29.1],
                "iscrowd": 0,
                "track_id": "x",
            },
            {
                "id": 100,
                "image_id": 7,
                "category_id": 5,
                "segmentation": {"size": [48, 64], "counts": rle.encode(MASK).tolist()},
                "area": 110,
                "bbox": [30, 10, 11, 10],
                "iscrowd": 1,
                "num_keypoints": 0,
            },
            {
                "id": 102,
                "image_id": 3,
                "category_id": 5,
                "segmentation": {"size": [48, 64], "counts": rle.compress(rle.encode(MASK))},
                "area": 110,
                "bbox": [30, 10, 11, 10],
                "iscrowd": 0,
                "score": 0.75,
                "num_keypoints": 0,
            },
            {
                "id": 4,
                "image_id": 7,
                "category_id": 2,
                "keypoints": [0, 0, 0, 1, 2, 2, 0, 0, 0],
                "keypoint_scores": [None, 0.5, None],
                "num_keypoints": 1,
                "segmentation": [],
                "area": 3,
                "bbox": [0.3, 0.1, 7.77, 3.3],
                "iscrowd": 0,
            },
        ],
        "categories": [
            {
                "id": 2,
                "name": "bird",
                "supercategory": "animal",
                "keypoints": ["beak", "left wing", "tail"],
                "skeleton": [[1, 2], [2, 3]],
            },
            {"id": 5, "name": "nest", "supercategory": "thing", "colour": "brown"},
        ],
    }


def _read(tmp_path, document):
    path = tmp_path / "in.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return read_annotations(path)


def _written(tmp_path, annotations):
    path = tmp_path / "out.json"
    write_annotations(path, annotations)
    return json.loads(path.read_text(encoding="utf-8"))


def _load(path) -> COCO:
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(str(path))


def test_reads_points_regions_and_fields(tmp_path):
    annotations = _read(tmp_path, _document())
    assert annotations.format == "coco"
    assert [image.name for image in annotations.images] == ["a.jpg", "../b.jpg", "empty.jpg"]
    assert [image.size for image in annotations.images] == [(48, 64), (48, 64), None]
    bird, nest = annotations.images[1].objects
    assert bird.category == "bird" and bird.fields["track_id"] == "x"
    assert bird.points == {
        "beak": Point(10, 11.3, VISIBLE),
        "left wing": Point(0, 0, NOT_LABELLED),
        "tail": Point(12, 13, HIDDEN),
    }
    assert nest.score == 0.75
    assert annotations.images[0].objects[1].points["left wing"].score == 0.5
    assert annotations.fields["info"]["year"] == 2024
    assert annotations.images[2].objects == ()


def test_masks_and_boxes_move_by_half_a_pixel(tmp_path):
    bird, nest = _read(tmp_path, _document()).images[1].objects
    polygons, box = bird.regions
    np.testing.assert_allclose(
        polygons.polygons[1], [[0.5, 0.5], [3.5, 0.5], [3.5, 3.5], [0.5, 3.5]]
    )
    assert region_mask(polygons, (48, 64))[1:4, 1:4].all()
    assert box.box == pytest.approx((0.5, 0.5, 20.4, 29.6))
    runs, box = nest.regions
    np.testing.assert_array_equal(runs.mask, MASK)
    # The box around a mask is where its pixels are.
    np.testing.assert_array_equal(region_mask(box, (48, 64)), MASK)


def test_a_file_is_written_as_it_was_read(tmp_path):
    assert _written(tmp_path, _read(tmp_path, _document())) == _document()


def test_random_files_are_written_as_they_were_read(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(20):
        document = _document()
        for annotation in document["annotations"]:
            if isinstance(annotation.get("segmentation"), list):
                corners = (rng.random((2, 8)) * 40).tolist()
                annotation["segmentation"] = corners
            annotation["bbox"] = (rng.random(4) * 30).tolist()
            annotation["area"] = float(rng.random())
            if "keypoints" in annotation:
                points = np.c_[rng.random((3, 2)) * 40, rng.integers(0, 3, 3)]
                annotation["keypoints"] = points.ravel().tolist()
        rng.shuffle(document["annotations"])
        rng.shuffle(document["images"])
        assert _written(tmp_path, _read(tmp_path, document)) == document


def test_what_is_derived_is_added_where_it_was_absent(tmp_path):
    document = _document()
    for annotation in document["annotations"]:
        for key in ("area", "bbox", "num_keypoints", "iscrowd", "id"):
            annotation.pop(key, None)
    written = _written(tmp_path, _read(tmp_path, document))
    by_image = [(a["image_id"], a["category_id"]) for a in written["annotations"]]
    assert by_image == [(3, 2), (7, 5), (3, 5), (7, 2)]
    assert len({a["id"] for a in written["annotations"]}) == 4
    first, crowd, runs, points = written["annotations"]
    assert first["num_keypoints"] == 2
    assert first["bbox"] == pytest.approx([1, 1, 19.9, 29.1])
    assert crowd["bbox"] == runs["bbox"] == [30, 10, 11, 10]
    assert crowd["area"] == runs["area"] == 110
    assert points["num_keypoints"] == 1
    # The pixel that holds the only point.
    assert points["bbox"] == [1, 2, 1, 1]


def test_pycocotools_reads_what_is_written(tmp_path):
    write_annotations(tmp_path / "out.json", _read(tmp_path, _document()))
    coco = _load(tmp_path / "out.json")
    assert sorted(coco.getAnnIds()) == [4, 100, 101, 102]
    np.testing.assert_array_equal(coco.annToMask(coco.anns[102]), MASK)
    np.testing.assert_array_equal(coco.annToMask(coco.anns[100]), MASK)
    # pycocotools draws borders in another way.
    bird = _read(tmp_path, _document()).images[1].objects[0].regions[0]
    other = coco.annToMask(coco.anns[101]).astype(bool)
    ours = region_mask(bird, (48, 64))
    assert (other != ours).sum() <= 0.1 * ours.sum()


def test_areas_agree_with_pycocotools(tmp_path):
    y, x = np.mgrid[:48, :64]
    mask = np.hypot(y - 20, x - 30) < 15
    mask &= np.hypot(y - 20, x - 30) > 6
    region = region_from_mask(mask, Region("", "polygons"))
    image = ImageAnnotations("a.png", (48, 64), (AnnotatedObject("ring", {}, (region,)),))
    write_annotations(tmp_path / "out.json", AnnotationSet("coco", (image,)))
    coco = _load(tmp_path / "out.json")
    (annotation,) = coco.anns.values()
    assert annotation["area"] == mask.sum() == coco.annToMask(annotation).sum()


def test_changed_points_change_what_is_derived_from_them(tmp_path):
    annotations = _read(tmp_path, _document())
    image = annotations.images[0]
    bird = image.objects[1]
    points = {"left wing": Point(20, 21, VISIBLE, 0.5), "crest": Point(24, 25, HIDDEN, 0.25)}
    bird = dataclasses.replace(bird, points=points, regions=(), score=0.375)
    image = dataclasses.replace(image, objects=(image.objects[0], bird))
    changed = dataclasses.replace(annotations, images=(image, *annotations.images[1:]))
    written = _written(tmp_path, changed)
    annotation = written["annotations"][-1]
    assert annotation["keypoints"] == [0, 0, 0, 20, 21, 2, 0, 0, 0, 24, 25, 1]
    assert annotation["keypoint_scores"] == [None, 0.5, None, 0.25]
    assert annotation["bbox"] == [20, 21, 5, 5] and annotation["area"] == 25
    assert annotation["num_keypoints"] == 2 and annotation["score"] == 0.375
    assert written["categories"][0]["keypoints"] == ["beak", "left wing", "tail", "crest"]
    # The other bird has a keypoint more, which is not labelled.
    assert written["annotations"][0]["keypoints"] == [10, 11.3, 2, 0, 0, 0, 12, 13, 1, 0, 0, 0]
    assert written["annotations"][0]["area"] == 201.7
    again = read_annotations(tmp_path / "out.json").images[0].objects[1]
    assert again.points["crest"] == Point(24, 25, HIDDEN, 0.25)


def test_changed_regions_keep_their_form_and_scores(tmp_path):
    annotations = _read(tmp_path, _document())
    mask = np.roll(MASK, 5, axis=1)

    def moved(found):
        regions = [region_from_mask(mask, region, 0.5) for region in found.regions]
        return dataclasses.replace(found, regions=tuple(regions))

    images = tuple(
        dataclasses.replace(image, objects=tuple(map(moved, image.objects)))
        for image in annotations.images
    )
    written = _written(tmp_path, dataclasses.replace(annotations, images=images))
    bird, crowd, runs, _ = written["annotations"]
    assert bird["segmentation"] == [[35, 10, 46, 10, 46, 20, 35, 20]]
    assert crowd["segmentation"]["counts"] == rle.encode(mask).tolist()
    assert runs["segmentation"]["counts"] == rle.compress(rle.encode(mask))
    for annotation in (bird, crowd, runs):
        assert annotation["bbox"] == [35, 10, 11, 10] and annotation["area"] == 110
        assert annotation["segmentation_score"] == annotation["bbox_score"] == 0.5
    again = read_annotations(tmp_path / "out.json").images[1].objects[0]
    assert [region.score for region in again.regions] == [0.5, 0.5]


def test_new_images_and_objects_get_ids_of_their_own(tmp_path):
    annotations = _read(tmp_path, _document())
    copy = dataclasses.replace(annotations.images[1], name="copy.jpg")
    new = ImageAnnotations(
        "new.jpg", (48, 64), (AnnotatedObject("fish", {"fin": Point(np.float32(1.5), 2)}),)
    )
    images = (*annotations.images, copy, new)
    written = _written(tmp_path, dataclasses.replace(annotations, images=images))
    assert [image["id"] for image in written["images"]] == [7, 3, 9, 10, 11]
    ids = [annotation["id"] for annotation in written["annotations"]]
    assert ids == [101, 100, 102, 4, 103, 104, 105]
    fish = written["categories"][-1]
    assert (fish["id"], fish["name"], fish["keypoints"]) == (6, "fish", ["fin"])
    assert written["annotations"][-1]["keypoints"] == [1.5, 2, 2]
    assert len(read_annotations(tmp_path / "out.json").images) == 5


def test_results_load_and_evaluate_in_pycocotools(tmp_path):
    def annotations(score):
        points = {f"p{k}": Point(5 + 3 * k, 7 + 2 * k, VISIBLE, score) for k in range(17)}
        found = AnnotatedObject("person", points, (Region("", "mask", mask=MASK),), score)
        return AnnotationSet("coco", (ImageAnnotations("a.jpg", (48, 64), (found,)),))

    write_annotations(tmp_path / "truth.json", annotations(None))
    results = _written(tmp_path, annotations(0.875))["annotations"]
    truth = _load(tmp_path / "truth.json")
    with contextlib.redirect_stdout(io.StringIO()):
        for kind in ("segm", "bbox", "keypoints"):
            drop = {"segm": (), "bbox": ("segmentation",), "keypoints": ("segmentation", "bbox")}
            kept = [{k: v for k, v in a.items() if k not in drop[kind]} for a in results]
            evaluation = COCOeval(truth, truth.loadRes(kept), kind)
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
            assert evaluation.stats[0] == pytest.approx(1)


def test_the_same_annotations_give_the_same_bytes(tmp_path):
    for name in ("one.json", "two.json"):
        write_annotations(tmp_path / name, _read(tmp_path, _document()))
    one = (tmp_path / "one.json").read_bytes()
    assert one == (tmp_path / "two.json").read_bytes()
    write_annotations(tmp_path / "three.json", read_annotations(tmp_path / "one.json"))
    assert one == (tmp_path / "three.json").read_bytes()


@pytest.mark.parametrize(
    "regions",
    [
        (Region("wing", "mask", mask=MASK),),
        (Region("", "mask", mask=MASK), Region("", "polygons", polygons=(np.zeros((3, 2)),))),
        (Region("", "box", box=(0, 0, 1, 1)), Region("", "box", box=(0, 0, 1, 1))),
    ],
)
def test_refuses_regions_that_coco_has_no_room_for(tmp_path, regions):
    image = ImageAnnotations("a.jpg", (48, 64), (AnnotatedObject("bird", {}, regions),))
    with pytest.raises(ValueError, match="at most one mask and one box.*Received: "):
        write_annotations(tmp_path / "out.json", AnnotationSet("coco", (image,)))
    assert not (tmp_path / "out.json").exists()


def test_refuses_to_write_what_is_not_finite(tmp_path):
    found = AnnotatedObject("bird", {"beak": Point(float("nan"), 1)})
    image = ImageAnnotations("a.jpg", (48, 64), (found,))
    with pytest.raises(ValueError, match="finite numbers. Received: nan"):
        write_annotations(tmp_path / "out.json", AnnotationSet("coco", (image,)))
