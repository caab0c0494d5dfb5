"""Annotations are carried from Python: points, masks, mirrors, several references."""

import numpy as np
import pytest

import anchornet_tf
from anchornet_tf.annotations.items import (
    NOT_LABELLED,
    AnnotatedObject,
    ImageAnnotations,
    Point,
    Region,
)
from tests.tasks import colored


def _far(found, points):
    return max(np.hypot(found[name].x - x, found[name].y - y) for name, (x, y) in points.items())


def test_points_go_where_their_colours_are():
    first, marks = colored.picture(10, 10)
    images, truths = zip(*(colored.picture(x, y) for x, y in ((40, 30), (5, 50))), strict=True)
    results = list(
        anchornet_tf.transfer([(first, marks)], images, colored.matcher(), threshold=0.0)
    )
    assert [result.name for result in results] == ["0", "1"]
    for result, truth in zip(results, truths, strict=True):
        assert result.size == (112, 112)
        [item] = result.objects
        assert list(item.points) == list(marks)
        assert _far(item.points, truth) < 4
        assert all(0 <= point.score <= 1 for point in item.points.values())


def test_unsure_points_are_not_guessed():
    first, marks = colored.picture(10, 10)
    [result] = anchornet_tf.transfer([(first, marks)], [first], colored.matcher(), threshold=1.0)
    for point in result.objects[0].points.values():
        assert (point.x, point.y, point.visibility) == (0, 0, NOT_LABELLED)
        assert point.score is not None


def test_mirrored_references_swap_left_and_right():
    # By votes: to nearest neighbours, a mirrored object is as good as the object itself.
    by_votes = colored.matcher("hough")
    first, marks = colored.picture(10, 20)
    mirrored = first[:, ::-1]
    truth = {name: (111 - x, y) for name, (x, y) in marks.items()}
    swapped = {**truth, "left_leg": truth["right_leg"], "right_leg": truth["left_leg"]}
    [result] = anchornet_tf.transfer([(first, marks)], [mirrored], by_votes, threshold=0.0)
    assert _far(result.objects[0].points, swapped) < 4
    [plain] = anchornet_tf.transfer(
        [(first, marks)], [mirrored], by_votes, threshold=0.0, mirror=False
    )
    assert _far(plain.objects[0].points, truth) < 4


def test_several_references_complete_each_other():
    first, marks = colored.picture(10, 10)
    second, more = colored.picture(30, 40)
    references = [
        (first, {name: marks[name] for name in ("head", "tail")}),
        (second, {name: more[name] for name in ("tail", "left_leg")}),
    ]
    target, truth = colored.picture(20, 20)
    [result] = anchornet_tf.transfer(references, [target], colored.matcher(), threshold=0.0)
    found = result.objects[0].points
    assert set(found) == {"head", "tail", "left_leg"}
    assert _far(found, {name: truth[name] for name in found}) < 4


def test_masks_and_boxes_are_carried():
    first, marks = colored.picture(10, 10)
    mask = (first == (255, 0, 0)).all(axis=-1)
    item = AnnotatedObject(
        "toy",
        {"head": Point(*marks["head"])},
        (Region("", "mask", mask=mask), Region("", "box", box=(16.5, 14.5, 27.5, 25.5))),
    )
    target, _ = colored.picture(44, 33)
    truth = (target == (255, 0, 0)).all(axis=-1)
    references = [(first, ImageAnnotations("first", (112, 112), (item,)))]
    [result] = anchornet_tf.transfer(references, [target], colored.matcher(), threshold=0.0)
    [found] = result.objects
    assert found.category == "toy"
    region = next(region for region in found.regions if region.kind == "mask")
    overlap = (region.mask & truth).sum() / (region.mask | truth).sum()
    assert overlap > 0.4  # It is less than three cells wide.
    box = next(region for region in found.regions if region.kind == "box").box
    rows, columns = np.flatnonzero(region.mask.any(1)), np.flatnonzero(region.mask.any(0))
    np.testing.assert_allclose(
        box, [columns[0] - 0.5, rows[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5]
    )


def test_images_are_described_once_and_in_batches():
    first, marks = colored.picture(10, 10)
    made = colored.matcher()
    results = anchornet_tf.transfer([(first, marks)], [first] * 19, made, mirror=False)
    assert len(list(results)) == 19
    assert made.descriptor.calls == [1, 8, 8, 3]


@pytest.mark.parametrize("name", ["hough", "dsp", "none"])
def test_any_matcher_can_carry(name):
    first, marks = colored.picture(10, 10)
    [result] = anchornet_tf.transfer(
        [(first, marks)], [first], colored.matcher(name), threshold=0.0, mirror=False
    )
    assert _far(result.objects[0].points, marks) < 4


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ([], "at least one reference"),
        (7, "annotation file or pairs"),
        ([(np.zeros((8, 8, 3), np.uint8), {})], "marked point or region"),
        ([(np.zeros((8, 8, 3), np.uint8), {"a": "b"})], r"Expected \(x, y\) of 'a'"),
        ([(np.zeros((8, 8, 3), np.uint8), [1])], "dictionary of names"),
    ],
)
def test_bad_references_are_refused(references, message):
    with pytest.raises(ValueError, match=f"{message}.*Received: "):
        anchornet_tf.transfer(references, [], colored.matcher())


def test_importing_the_program_does_not_hide_the_function():
    import importlib

    module = importlib.import_module("anchornet_tf.transfer")
    first, marks = colored.picture(10, 10)
    assert anchornet_tf.transfer is module or callable(anchornet_tf.transfer)
    [result] = module([(first, marks)], [first], colored.matcher(), threshold=0.0)
    assert _far(result.objects[0].points, marks) < 4
