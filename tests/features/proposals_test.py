"""Tests of box proposals."""

import builtins

import numpy as np
import pytest

from anchornet_tf.features import proposals
from tests.shared_data import shared_path

_SIZE = (90, 120)


def _image(seed=0):
    """Rectangles of random colours: something to segment."""
    rng = np.random.default_rng(seed)
    image = np.full((*_SIZE, 3), 200, np.uint8)
    for _ in range(12):
        y, x = rng.integers(0, (60, 80))
        height, width = rng.integers(15, 50, 2)
        image[y : y + height, x : x + width] = rng.integers(0, 255, 3)
    return image


def _without_opencv(monkeypatch):
    real_import = builtins.__import__

    def fake_import(name, *args, **kwargs):
        if name == "cv2":
            raise ImportError("No module named 'cv2'")
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", fake_import)


@pytest.mark.parametrize("method", ["selective_search", "sliding_window"])
def test_proposals_are_valid_distinct_and_repeatable(method):
    if method == "selective_search":
        pytest.importorskip("cv2")
    image = _image()
    boxes = proposals.propose_boxes(image, 60, method)
    assert 10 < len(boxes) <= 60
    np.testing.assert_array_equal(boxes[0], [0, 0, _SIZE[1] - 1, _SIZE[0] - 1])
    assert (boxes[:, :2] >= 0).all() and (boxes[:, 2:] < (_SIZE[1], _SIZE[0])).all()
    assert (boxes[:, 2:] - boxes[:, :2] + 1 >= proposals.MINIMUM_SIDE).all()
    assert len(np.unique(boxes, axis=0)) == len(boxes)
    assert proposals.inside_or_whole(boxes[1:], _SIZE).all()
    np.testing.assert_array_equal(boxes, proposals.propose_boxes(image, 60, method))


def test_fewer_proposals_are_the_first_of_more():
    many = proposals.propose_boxes(_image(), 100, "sliding_window")
    few = proposals.propose_boxes(_image(), 30, "sliding_window")
    np.testing.assert_array_equal(few, many[:30])


def test_thinning_prefers_large_boxes():
    windows = proposals.sliding_windows((200, 200))
    kept = proposals.propose_boxes(np.zeros((200, 200, 3), np.uint8), 100, "sliding_window")[1:]

    def mean_area(boxes):
        return (boxes[:, 2:] - boxes[:, :2] + 1).prod(axis=1).mean()

    assert len(windows) > 500
    assert mean_area(kept) > 1.2 * mean_area(windows)


def test_another_seed_gives_another_choice():
    first = proposals.propose_boxes(_image(), 30, "sliding_window")
    second = proposals.propose_boxes(_image(), 30, "sliding_window", seed=1)
    assert not np.array_equal(first, second)


def test_boundary_filter_by_hand():
    boxes = [
        [10, 10, 50, 50],  # inside
        [0, 10, 50, 50],  # touches on the left
        [10, 10, 99, 50],  # touches on the right
        [0, 0, 99, 199],  # fills the image
        [0, 0, 99, 150],  # fills it on three sides only
        [1, 2, 97, 196],  # just inside: pixels 2..98 and 3..197, counted from one
        [0, 2, 97, 196],  # just not
        [1, 2, 98, 196],  # just not
    ]
    kept = proposals.inside_or_whole(boxes, (200, 100))
    np.testing.assert_array_equal(kept, [True, False, False, True, False, True, False, False])


def test_sliding_windows_cover_the_middle_at_all_sizes():
    windows = proposals.sliding_windows((225, 300))
    sides = windows[:, 2:] - windows[:, :2] + 1
    assert sides[:, 0].max() > 200 and sides.min() < 45
    assert proposals.inside_or_whole(windows, (225, 300)).all()
    covered = np.zeros((225, 300), bool)
    for x1, y1, x2, y2 in windows.astype(int):
        covered[y1 : y2 + 1, x1 : x2 + 1] = True
    assert covered[10:-10, 10:-10].all()


@pytest.mark.parametrize("method", ["selective_search", "sliding_window"])
def test_tiny_images_give_the_whole_image(method):
    if method == "selective_search":
        pytest.importorskip("cv2")
    for shape in ((1, 1, 3), (2, 2, 3), (1, 200, 3)):
        boxes = proposals.propose_boxes(np.full(shape, 7, np.uint8), 50, method)
        np.testing.assert_array_equal(boxes, [[0, 0, shape[1] - 1, shape[0] - 1]])


@pytest.mark.parametrize("method", ["selective_search", "sliding_window"])
@pytest.mark.parametrize("size", [(15, 300), (20, 20)])
def test_narrow_images_have_smaller_windows(caplog, method, size):
    if method == "selective_search":
        pytest.importorskip("cv2")
    boxes = proposals.propose_boxes(np.full((*size, 3), 7, np.uint8), 50, method)
    assert len(boxes) == 50 and proposals.inside_or_whole(boxes[1:], size).all()
    assert (boxes[:, 2:] - boxes[:, :2] >= 2).all()
    assert f"boxes were found in an image of {size[0]}x{size[1]} pixels" in caplog.text


def test_constant_images_have_the_usual_windows_in_place_of_segments(caplog):
    pytest.importorskip("cv2")
    image = np.full((90, 120, 3), 7, np.uint8)
    found = proposals.propose_boxes(image, 50, "selective_search")
    assert "Only 0 boxes were found in an image of 90x120 pixels" in caplog.text
    np.testing.assert_array_equal(found, proposals.propose_boxes(image, 50, "sliding_window"))


def test_without_opencv_there_are_sliding_windows(monkeypatch):
    _without_opencv(monkeypatch)
    automatic = proposals.propose_boxes(_image(), 40)
    np.testing.assert_array_equal(
        automatic, proposals.propose_boxes(_image(), 40, "sliding_window")
    )
    with pytest.raises(ImportError, match=r"anchornet-tf\[proposals\]"):
        proposals.propose_boxes(_image(), 40, "selective_search")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image": np.zeros((20, 20), np.uint8)}, "uint8 array of shape"),
        ({"image": np.zeros((20, 20, 3))}, "float64"),
        ({"num_proposals": 0}, "positive integer"),
        ({"method": "magic"}, "one of"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        proposals.propose_boxes(**{"image": _image(), **arguments})


@pytest.mark.slow
def test_selective_search_finds_enough_boxes_in_a_photograph():
    pytest.importorskip("cv2")
    import PIL.Image

    path = shared_path("data/pf-willow/car(S)/Cars_008a.png")
    image = np.array(PIL.Image.open(path).convert("RGB"))
    assert len(proposals.propose_boxes(image, 1000, "selective_search")) == 1000
