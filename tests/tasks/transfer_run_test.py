"""Whole transfers, with a descriptor that sees colours: formats, journal, names, videos."""

import csv
import json
import os

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.annotations import rle
from anchornet_tf.annotations.formats import read_annotations
from anchornet_tf.annotations.items import (
    NOT_LABELLED,
    VISIBLE,
    AnnotatedObject,
    ImageAnnotations,
    Point,
)
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.tasks import transfer_run
from anchornet_tf.tasks.transfer_config import TransferConfig
from tests.tasks import colored

PLACES = [(10, 10), (40, 30), (5, 50), (30, 12), (20, 40), (44, 50), (8, 22), (36, 6), (25, 25)]
PLACES += [(12, 44), (48, 18), (2, 2)]


class Descriptor(colored.ColorDescriptor):
    """Counts the images that it describes, and fails after so many."""

    def __init__(self, most=None):
        super().__init__()
        self._most = most

    def __call__(self, images):
        if self._most is not None and sum(self.calls) + len(images) > self._most:
            raise KeyboardInterrupt
        maps = super().__call__(images)
        # So that it is less sure of some.
        for image, features in zip(images, maps, strict=True):
            rng = np.random.default_rng(int(image.sum()))
            features.values[...] += rng.normal(0, 0.02, features.values.shape)
        return maps


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Twelve pictures, and a function that runs a transfer and returns its result and calls."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    points = {}
    for number, place in enumerate(PLACES):
        name = f"{number}.png"
        points[name] = colored.save(tmp_path / "photos", name, *place)

    def run(most=None, **options):
        descriptor = Descriptor(most)
        monkeypatch.setattr(
            transfer_run, "Matcher", lambda *_, **__: Matcher(descriptor, "nearest")
        )
        options = {"images": "photos", "mirror": False, "report": False, **options}
        result = transfer_run.run(TransferConfig(**options), progress=False)
        return result, sum(descriptor.calls)

    return run, points, tmp_path


def _write_csv(path, marks):
    with open(path, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["image", "name", "x", "y"])
        for image, points in marks.items():
            table.writerows([image, name, x, y] for name, (x, y) in points.items())


def _coco(points, file_name="0.png", number=0, segmentation=True):
    image, _ = colored.picture(*PLACES[number])
    mask = (image == (255, 0, 0)).all(axis=-1)
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    left, top, right, bottom = columns[0], rows[0], columns[-1] + 1, rows[-1] + 1
    names = list(colored.PARTS)
    entry = {
        "id": 41,
        "image_id": 7,
        "category_id": 3,
        "segmentation": [list(map(int, [left, top, right, top, right, bottom, left, bottom]))],
        "bbox": list(map(int, [left, top, right - left, bottom - top])),
        "keypoints": [value for name in names for value in (*points[name], 2)],
        "area": 121,
        "num_keypoints": 4,
        "iscrowd": 0,
        "attributes": {"kept": True},
    }
    if segmentation == "rle":
        entry["segmentation"] = {"size": [112, 112], "counts": rle.compress(rle.encode(mask))}
    return {
        "info": {"year": 2020},
        "images": [{"id": 7, "file_name": file_name, "height": 112, "width": 112, "license": 1}],
        "annotations": [entry],
        "categories": [{"id": 3, "name": "toy", "keypoints": names, "skeleton": [[1, 2]]}],
    }


def _far(found, truth):
    return max(np.hypot(found[k].x - x, found[k].y - y) for k, (x, y) in truth.items())


@pytest.mark.parametrize("segmentation", ["polygons", "rle"])
def test_coco_in_and_out(world, segmentation):
    run, points, folder = world
    given = _coco(points["0.png"], segmentation=segmentation)
    (folder / "annotations.json").write_text(json.dumps(given))
    result, _ = run(references="annotations.json", threshold=0.0)
    written = json.loads((folder / "transferred.json").read_text())
    assert written["info"] == given["info"] and written["categories"] == given["categories"]
    assert given["images"][0] in written["images"]
    assert given["annotations"][0] in written["annotations"]
    assert len(written["images"]) == len(written["annotations"]) == len(PLACES)
    for image in result.annotations.images[1:]:
        [item] = image.objects
        assert _far(item.points, points[image.name]) < 4
        truth = colored.picture(*PLACES[int(image.name.split(".")[0])])[0] == (255, 0, 0)
        outline, box = item.regions
        assert outline.kind == ("mask" if segmentation == "rle" else "polygons")
        if outline.kind == "mask":
            overlap = outline.mask & truth.all(axis=-1)
            assert overlap.sum() > 0.4 * 121
        assert box.kind == "box" and 0 < box.score <= 1

    coco = pytest.importorskip("pycocotools.coco").COCO(folder / "transferred.json")
    assert len(coco.getImgIds()) == len(PLACES)
    for entry in coco.loadAnns(coco.getAnnIds()):
        assert coco.annToMask(entry).any()
    # What was written is read again.
    assert len(read_annotations("transferred.json").images) == len(PLACES)


def test_unsure_points_are_not_labelled_but_keep_their_probability(world):
    run, points, folder = world
    (folder / "annotations.json").write_text(json.dumps(_coco(points["0.png"])))
    run(references="annotations.json", threshold=1.0)
    written = json.loads((folder / "transferred.json").read_text())
    for entry in written["annotations"][1:]:
        values = np.array(entry["keypoints"]).reshape(-1, 3)
        unsure = np.array(entry["keypoint_scores"]) < 1
        assert not values[unsure].any() and (values[~unsure, 2] == 2).all()
        assert entry["num_keypoints"] == (~unsure).sum()


def test_references_with_polygons_and_with_run_lengths_together(world):
    run, points, folder = world
    given = _coco(points["0.png"])
    other = _coco(points["3.png"], "3.png", 3, "rle")
    given["images"].append(other["images"][0] | {"id": 8})
    given["annotations"].append(other["annotations"][0] | {"id": 42, "image_id": 8})
    (folder / "annotations.json").write_text(json.dumps(given))
    run(references="annotations.json", threshold=0.0)
    written = json.loads((folder / "transferred.json").read_text())
    assert len(written["annotations"]) == len(PLACES)
    for entry in given["annotations"]:
        assert entry in written["annotations"]


def test_listed_images_without_marks_keep_their_ids(world):
    run, points, folder = world
    given = _coco(points["0.png"])
    for number in (5, 4):
        listed = {"id": 100 + number, "file_name": f"{number}.png", "height": 112, "width": 112}
        given["images"].append(listed | {"license": 2})
    given["images"].append({"id": 99, "file_name": "gone.png"})
    # Our own files say so of an object of which nothing was sure.
    nothing = {"keypoints": [0] * 12, "bbox": [0, 0, 0, 0], "num_keypoints": 0}
    given["annotations"].append({"id": 1, "image_id": 105, "category_id": 3, **nothing})
    (folder / "annotations.json").write_text(json.dumps(given))
    run(references="annotations.json", threshold=0.0)
    written = json.loads((folder / "transferred.json").read_text())
    images = {image["file_name"]: image for image in written["images"]}
    assert len(images) == len(written["images"]) == len(PLACES) + 1
    for image in given["images"]:
        assert images[image["file_name"]] == image
    carried = {entry["image_id"] for entry in written["annotations"]}
    assert {104, 105} <= carried and 99 not in carried


def _shape(label, points, kind="point", group=None, **more):
    return {
        "label": label,
        "points": points,
        "group_id": group,
        "description": "",
        "shape_type": kind,
        "flags": {},
        "mask": None,
        **more,
    }


def _labelme(points, image_path):
    shapes = [_shape(name, [[x + 0.5, y + 0.5]]) for name, (x, y) in points.items()]
    # Two regions of one name.
    for name in ("head", "tail"):
        x, y = points[name]
        corners = [[x - 5, y - 5], [x + 6, y - 5], [x + 6, y + 6], [x - 5, y + 6]]
        shapes.append(_shape("spot", corners, "polygon"))
    return {
        "version": "5.5.0",
        "flags": {},
        "shapes": shapes,
        "imagePath": image_path,
        "imageData": None,
        "imageHeight": 112,
        "imageWidth": 112,
    }


def test_labelme_in_and_out(world):
    run, points, folder = world
    (folder / "marks").mkdir()
    given = _labelme(points["0.png"], "../photos/0.png")
    (folder / "marks" / "0.json").write_text(json.dumps(given))
    result, _ = run(references="marks", threshold=0.0)
    assert sorted(os.listdir(folder / "transferred")) == sorted(
        f"{number}.json" for number in range(len(PLACES))
    )
    assert json.loads((folder / "transferred" / "0.json").read_text()) == given
    written = json.loads((folder / "transferred" / "4.json").read_text())
    # LabelMe looks for the image from where its file lies.
    assert (folder / "transferred" / written["imagePath"]).samefile(folder / "photos" / "4.png")
    spots = [shape for shape in written["shapes"] if shape["label"] == "spot"]
    extents = [np.ptp(spot["points"], axis=0).prod() for spot in spots]
    centres = [np.mean(spots[k]["points"], axis=0).tolist() for k in np.argsort(extents)[-2:]]
    truth = sorted([points["4.png"]["head"], points["4.png"]["tail"]])
    assert np.abs(np.array(sorted(centres)) - truth).max() < 6
    # The next run finds the images by these names.
    (folder / "transferred" / "0.json").rename(folder / "kept.json")
    again, _ = run(references="transferred", output="again")
    assert len(again.annotations.images) == len(PLACES)


def test_labelme_files_beside_their_images_still_lead_to_them(world):
    run, points, folder = world
    (folder / "photos" / "0.json").write_text(json.dumps(_labelme(points["0.png"], "0.png")))
    run(references="photos", output="out/marks")
    written = json.loads((folder / "out" / "marks" / "0.json").read_text())
    assert written == _labelme(points["0.png"], "../../photos/0.png")


def test_csv_in_and_out(world):
    run, points, folder = world
    _write_csv("points.csv", {"3.png": points["3.png"]})
    result, _ = run(references="points.csv", threshold=0.0)
    rows = list(csv.DictReader((folder / "transferred.csv").read_text().splitlines()))
    given = list(csv.DictReader((folder / "points.csv").read_text().splitlines()))
    kept = [{key: row[key] for key in given[0]} for row in rows if row["image"] == "3.png"]
    assert kept == given
    assert [row["image"] for row in rows[::4]] == [f"{n}.png" for n in range(len(PLACES))]
    for row in rows:
        x, y = points[row["image"]][row["name"]]
        assert np.hypot(float(row["x"]) - x, float(row["y"]) - y) < 6


def test_another_threshold_needs_no_new_matching(world):
    run, points, folder = world
    _write_csv("points.csv", {"0.png": points["0.png"]})
    _, calls = run(references="points.csv", threshold=1.0)
    strict = (folder / "transferred.csv").read_bytes()
    _, again = run(references="points.csv", threshold=0.0)
    assert (calls, again) == (len(PLACES), 1)  # The reference alone.
    assert (folder / "transferred.csv").read_bytes() != strict


def test_changed_references_begin_anew(world):
    run, points, folder = world
    _write_csv("points.csv", {"0.png": points["0.png"]})
    run(references="points.csv")
    moved = {name: (x + 1, y) for name, (x, y) in points["0.png"].items()}
    _write_csv("points.csv", {"0.png": moved})
    assert run(references="points.csv")[1] == len(PLACES)
    renamed = {name.upper(): place for name, place in moved.items()}
    _write_csv("points.csv", {"0.png": renamed})
    result, calls = run(references="points.csv", threshold=0.0)
    assert calls == len(PLACES)
    assert set(result.annotations.images[5].objects[0].points) == set(renamed)


def test_a_renamed_region_begins_anew(world):
    run, points, folder = world
    (folder / "marks").mkdir()
    document = _labelme(points["0.png"], "../photos/0.png")
    for label in ("spot", "mark"):
        text = json.dumps(document).replace("spot", label)
        (folder / "marks" / "0.json").write_text(text)
        result, calls = run(references="marks", threshold=0.0)
        assert calls == len(PLACES)
        assert {r.name for r in result.annotations.images[3].objects[0].regions} == {label}


def test_changed_images_are_looked_at_again(world):
    run, points, folder = world
    _write_csv("points.csv", {"0.png": points["0.png"]})
    run(references="points.csv")
    truth = colored.save(folder / "photos", "5.png", 2, 30)
    os.utime(folder / "photos" / "5.png", ns=(1, 1))
    result, calls = run(references="points.csv", threshold=0.0)
    assert 1 < calls < len(PLACES)  # Its batch and the reference.
    assert _far(result.annotations.images[5].objects[0].points, truth) < 4


def test_unreadable_images_are_named_and_tried_again(world):
    run, points, folder = world
    _write_csv("points.csv", {"0.png": points["0.png"]})
    whole = (folder / "photos" / "4.png").read_bytes()
    (folder / "photos" / "4.png").write_bytes(whole[:60])
    result, _ = run(references="points.csv", threshold=0.0)
    assert list(result.skipped) == ["4.png"] and "Received: " in result.skipped["4.png"]
    assert "4.png" not in [image.name for image in result.annotations.images]
    again, calls = run(references="points.csv", threshold=0.0)
    assert list(again.skipped) == ["4.png"] and calls == 1
    (folder / "photos" / "4.png").write_bytes(whole)
    for _ in range(2):
        mended, _ = run(references="points.csv", threshold=0.0)
        assert not mended.skipped
        assert _far(mended.annotations.images[4].objects[0].points, points["4.png"]) < 4


@pytest.mark.parametrize(("most", "cut"), [(0, 0), (1, 0), (9, 0), (9, 1), (9, 700), (9, 9000)])
def test_a_run_that_was_stopped_ends_with_the_same_bytes(world, most, cut):
    run, points, folder = world
    (folder / "annotations.json").write_text(json.dumps(_coco(points["0.png"], segmentation="rle")))
    run(references="annotations.json", output="unbroken.json", threshold=0.2)
    with pytest.raises(KeyboardInterrupt):
        run(most, references="annotations.json", output="broken.json", threshold=0.2)
    assert not (folder / "broken.json").exists()
    journal = folder / "broken.json.journal.jsonl"
    if journal.exists():  # As a process leaves it that was killed while it wrote.
        os.truncate(journal, max(0, journal.stat().st_size - cut))
    run(references="annotations.json", output="broken.json", threshold=0.2)
    assert (folder / "broken.json").read_bytes() == (folder / "unbroken.json").read_bytes()


def test_stopped_within_a_batch(world, monkeypatch):
    run, points, folder = world
    _write_csv("points.csv", {"0.png": points["0.png"]})
    run(references="points.csv", output="unbroken.csv")
    carry, done = transfer_run.Carrier.carry, []

    def stopped(self, *args):
        done.append(args)
        if len(done) == 6:
            raise KeyboardInterrupt
        return carry(self, *args)

    monkeypatch.setattr(transfer_run.Carrier, "carry", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(references="points.csv", output="broken.csv")
    lines = (folder / "broken.csv.journal.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 5
    run(references="points.csv", output="broken.csv")
    assert len(done) == 6 + len(PLACES) - 1 - 5
    assert (folder / "broken.csv").read_bytes() == (folder / "unbroken.csv").read_bytes()


def test_references_whose_images_lie_beside_the_annotations(world):
    run, points, folder = world
    (folder / "marks").mkdir()
    truth = colored.save(folder / "marks", "mine.png", 15, 15)
    _write_csv("marks/points.csv", {"mine.png": truth})
    result, _ = run(references="marks/points.csv", threshold=0.0)
    names = [image.name for image in result.annotations.images]
    assert names == ["mine.png", *(f"{n}.png" for n in range(len(PLACES)))]
    assert _far(result.annotations.images[3].objects[0].points, points["2.png"]) < 4


@pytest.mark.parametrize(
    "name", ["photos/0.png", "./photos/0.png", "{folder}/photos/0.png", r"C:\mine\photos\0.png"]
)
def test_paths_of_tools_mean_the_images_of_the_folder(world, name):
    run, points, folder = world
    name = name.format(folder=folder)
    (folder / "annotations.json").write_text(json.dumps(_coco(points["0.png"], name)))
    result, _ = run(references="annotations.json")
    names = [image.name for image in result.annotations.images]
    # Once, and the others are named as it is.
    assert names == [f"{name.removesuffix('0.png')}{n}.png" for n in range(len(PLACES))]
    assert [image.objects[0].score is None for image in result.annotations.images[:2]] == [1, 0]


def test_names_in_other_capitals(world):
    run, points, folder = world
    _write_csv("points.csv", {"0.PNG": points["0.png"]})
    result, _ = run(references="points.csv")
    assert len(result.annotations.images) == len(PLACES)
    assert result.annotations.images[0].name == "0.PNG"


def test_two_annotations_of_one_image_are_both_kept(world):
    run, points, folder = world
    given = _coco(points["0.png"])
    given["images"].append(given["images"][0] | {"id": 8})
    given["annotations"].append(given["annotations"][0] | {"id": 42, "image_id": 8})
    (folder / "annotations.json").write_text(json.dumps(given))
    run(references="annotations.json")
    written = json.loads((folder / "transferred.json").read_text())
    for key in ("images", "annotations"):
        assert all(entry in written[key] for entry in given[key])
        assert len(written[key]) == len(PLACES) + 1


def test_two_different_images_of_one_name_are_refused(world):
    run, points, folder = world
    _write_csv("points.csv", {"0.png": points["0.png"]})
    colored.save(folder, "0.png", 30, 30)
    with pytest.raises(ValueError, match="one image of the name.*Received: "):
        run(references="points.csv")
    (folder / "0.png").write_bytes((folder / "photos" / "0.png").read_bytes())
    run(references="points.csv")


def test_sub_folders(world):
    run, points, folder = world
    (folder / "photos" / "more").mkdir()
    truth = colored.save(folder / "photos" / "more", "0.png", 33, 33)
    _write_csv("points.csv", {"photos/more/0.png": truth})
    result, _ = run(references="points.csv", recursive=True, threshold=0.0)
    found = {image.name: image.objects[0] for image in result.annotations.images}
    assert set(found) == {f"photos/{n}.png" for n in range(len(PLACES))} | {"photos/more/0.png"}
    assert found["photos/more/0.png"].score is None
    assert _far(found["photos/0.png"].points, points["0.png"]) < 4
    result, _ = run(references="points.csv", output="flat.csv")
    assert len(result.annotations.images) == len(PLACES) + 1  # The reference is elsewhere then.


def test_a_video_is_smoothed(world):
    cv2 = pytest.importorskip("cv2")
    run, _, folder = world
    writer = cv2.VideoWriter("clip.avi", cv2.VideoWriter_fourcc(*"MJPG"), 10, (112, 112))
    truths = []
    for frame in range(10):
        image, points = colored.picture(5 + 4 * frame, 10 + 3 * frame)
        truths.append(points)
        writer.write(np.ascontiguousarray(image[..., ::-1]))
    writer.release()
    _write_csv("points.csv", {"clip.avi#000003": truths[3]})
    options = {"references": "points.csv", "images": "clip.avi", "threshold": 0.0}
    plain, calls = run(**options)
    smooth, again = run(**options, smooth=2.0)
    assert (calls, again) == (10, 1)

    def places(result):
        return np.array(
            [
                [(point.x, point.y) for point in image.objects[0].points.values()]
                for image in result.annotations.images
            ]
        )

    expected = np.array([list(truth.values()) for truth in truths])
    assert [image.name for image in smooth.annotations.images][::9] == [
        "clip.avi#000000",
        "clip.avi#000009",
    ]
    np.testing.assert_array_equal(places(smooth)[3], expected[3])
    assert np.abs(places(smooth) - expected).max() < 4
    bends = [np.abs(np.diff(places(result), 2, axis=0)).sum() for result in (plain, smooth)]
    assert bends[1] < 0.5 * bends[0]


def test_suggestions_with_and_without_references(world):
    run, points, folder = world
    result, calls = run(suggest=3)
    assert len(set(result.suggested)) == 3 and calls == len(PLACES)
    assert result.annotations is None and result.output is None
    assert os.listdir(folder) == ["photos"]
    _write_csv("points.csv", {"0.png": points["0.png"], "1.png": points["1.png"]})
    result, _ = run(references="points.csv", suggest=20)
    assert sorted(result.suggested) == sorted(f"{n}.png" for n in range(2, len(PLACES)))
    _, again = run(references="points.csv", suggest=2)
    assert again == 2


def test_suggestions_where_nothing_can_be_read(world):
    run, _, folder = world
    (folder / "bad").mkdir()
    (folder / "bad" / "a.png").write_text("junk")
    result, calls = run(images="bad", suggest=3)
    assert result.suggested == () and list(result.skipped) == ["a.png"] and not calls


def test_the_report_shows_references_and_the_least_sure(world):
    run, points, folder = world
    (folder / "annotations.json").write_text(json.dumps(_coco(points["0.png"], segmentation="rle")))
    result, _ = run(references="annotations.json", report=True)
    assert result.report == (folder / "transferred-report" / "report.html").relative_to(folder)
    assert "7.png" in result.report.read_text()
    with PIL.Image.open("transferred-report/report.png") as picture:
        assert picture.width > 500


def test_masks_of_all_images_take_little_memory(world):
    run, points, folder = world
    (folder / "annotations.json").write_text(json.dumps(_coco(points["0.png"], segmentation="rle")))
    result, _ = run(references="annotations.json", threshold=0.0)
    for image in result.annotations.images[1:]:
        for region in image.objects[0].regions:
            held = vars(region).values()
            assert not any(isinstance(value, np.ndarray) for value in held)


def _wrong_size(folder, points):
    document = _coco(points["0.png"])
    document["images"][0] |= {"height": 120}
    (folder / "annotations.json").write_text(json.dumps(document))


def _wrong_mask(folder, points):
    document = _coco(points["0.png"], segmentation="rle")
    document["annotations"][0]["segmentation"]["size"] = [56, 224]
    (folder / "annotations.json").write_text(json.dumps(document))


def _wrong_mask_of_unknown_size(folder, points):
    document = _coco(points["0.png"], segmentation="rle")
    document["images"][0] = {"id": 7, "file_name": "0.png"}
    document["annotations"][0]["segmentation"]["size"] = [56, 224]
    (folder / "annotations.json").write_text(json.dumps(document))


def _no_points(folder, points):
    document = _coco(points["0.png"])
    document["annotations"] = []
    (folder / "annotations.json").write_text(json.dumps(document))


def _missing(folder, points):
    (folder / "annotations.json").write_text(json.dumps(_coco(points["0.png"], "gone.png")))


def _outside(folder, points):
    document = _coco(points["0.png"])
    document["images"][0] = {"id": 7, "file_name": "0.png"}
    document["annotations"][0]["keypoints"][0] = 300
    (folder / "annotations.json").write_text(json.dumps(document))


def _damaged(folder, points):
    (folder / "annotations.json").write_text(json.dumps(_coco(points["0.png"])))
    (folder / "photos" / "0.png").write_text("junk")


@pytest.mark.parametrize(
    "prepare",
    [
        _wrong_size,
        _wrong_mask,
        _wrong_mask_of_unknown_size,
        _no_points,
        _missing,
        _outside,
        _damaged,
    ],
)
def test_bad_references_are_refused_and_nothing_is_written(world, prepare):
    run, points, folder = world
    prepare(folder, points)
    before = sorted(folder.rglob("*"))
    with pytest.raises((ValueError, OSError), match="Received: "):
        run(references="annotations.json")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("output", ["annotations.json", "out.csv", "photos", "."])
def test_outputs_that_do_not_fit_are_refused_at_once(world, output):
    run, points, folder = world
    (folder / "annotations.json").write_text(json.dumps(_coco(points["0.png"])))
    before = sorted(folder.rglob("*"))
    with pytest.raises(ValueError, match="Expected .*output.*Received: "):
        run(references="annotations.json", output=output)
    assert sorted(folder.rglob("*")) == before


def test_labelme_needs_a_folder(world):
    run, points, folder = world
    (folder / "photos" / "0.json").write_text(json.dumps(_labelme(points["0.png"], "0.png")))
    for output in ("out.json", "photos"):
        with pytest.raises(ValueError, match="Expected .*output.*Received: "):
            run(references="photos", output=output)


def test_what_is_too_unsure_is_named_in_the_report():
    scores = {"nose": 0.31, "ear": 0.9, "tail": 0.0, "eye": 0.1}
    points = {
        name: Point(1, 1, VISIBLE if score > 0.5 else NOT_LABELLED, score)
        for name, score in scores.items()
    }
    image = ImageAnnotations("a.png", (20, 20), (AnnotatedObject("cat", points),))
    assert transfer_run._unsure(image) == "not marked: eye 0.10, nose 0.31"
    many = {f"p{number}": Point(1, 1, NOT_LABELLED, 0.1 + number / 100) for number in range(6)}
    image = ImageAnnotations("a.png", (20, 20), (AnnotatedObject("cat", many),))
    assert transfer_run._unsure(image).endswith("p3 0.13, 2 more")


def test_descriptors_have_the_names_that_other_programs_know():
    given = {"images": "photos", "references": "marks.csv"}
    assert TransferConfig(features="taps:resnet50/res4c", **given).features.startswith("taps:")
    with pytest.raises(ValueError, match="Received: 'shift'"):
        TransferConfig(features="shift", **given)
