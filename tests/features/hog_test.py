"""Tests of HOG against the published program's output and a plain version of the formulas."""

import numpy as np
import pytest

from anchornet_tf.features.hog import box_hog, hog
from tests.shared_data import shared_path


def _golden():
    return np.load(shared_path("golden/feat__tiny_hog.npz"))


def _plain_hog(image, cell=8):
    """The formulas, pixel by pixel."""
    height, width, _ = image.shape
    rows, columns = int(height / cell + 0.5), int(width / cell + 0.5)
    angles = np.arange(9) * np.pi / 9
    histogram = np.zeros((rows + 2, columns + 2, 18))  # with a border that catches stray votes
    for y in range(1, rows * cell - 1):
        for x in range(1, columns * cell - 1):
            at_y, at_x = min(y, height - 2), min(x, width - 2)
            along = image[at_y, at_x + 1] - image[at_y, at_x - 1]
            down = image[at_y + 1, at_x] - image[at_y - 1, at_x]
            strongest = np.argmax(along**2 + down**2)
            along, down = along[strongest], down[strongest]
            dots = np.cos(angles) * along + np.sin(angles) * down
            best = np.argmax(np.abs(dots))
            direction = best + 9 * (dots[best] < 0)
            place_y, place_x = (y + 0.5) / cell + 0.5, (x + 0.5) / cell + 0.5
            top, left = int(place_y), int(place_x)
            share_y, share_x = place_y - top, place_x - left
            vote = np.hypot(along, down)
            histogram[top, left, direction] += vote * (1 - share_y) * (1 - share_x)
            histogram[top + 1, left, direction] += vote * share_y * (1 - share_x)
            histogram[top, left + 1, direction] += vote * (1 - share_y) * share_x
            histogram[top + 1, left + 1, direction] += vote * share_y * share_x
    histogram = histogram[1:-1, 1:-1]
    unsigned = histogram[..., :9] + histogram[..., 9:]
    energy = (unsigned**2).sum(axis=-1)
    result = np.zeros((rows - 2, columns - 2, 31))
    for y in range(1, rows - 1):
        for x in range(1, columns - 1):
            for block, (dy, dx) in enumerate(((0, 0), (-1, 0), (0, -1), (-1, -1))):
                total = energy[y + dy : y + dy + 2, x + dx : x + dx + 2].sum()
                scale = 1 / np.sqrt(total + 1e-4)
                signed_part = np.minimum(histogram[y, x] * scale, 0.2)
                result[y - 1, x - 1, :18] += 0.5 * signed_part
                result[y - 1, x - 1, 18:27] += 0.5 * np.minimum(unsigned[y, x] * scale, 0.2)
                result[y - 1, x - 1, 27 + block] = 0.2357 * signed_part.sum()
    return result


def test_hog_equals_the_golden_file():
    golden = _golden()
    cells = hog(golden["im"][np.newaxis].astype(np.float64))[0]
    np.testing.assert_allclose(cells, golden["hog"][..., :31], atol=1e-12)
    cells = hog(golden["im"][np.newaxis])[0]
    assert cells.dtype == np.float32
    np.testing.assert_allclose(cells, golden["hog"][..., :31], atol=1e-6)


@pytest.mark.parametrize("size", [(24, 24), (29, 37), (35, 44)])
def test_hog_equals_the_plain_formulas(size):
    images = np.random.default_rng(0).uniform(0, 255, (2, *size, 3))
    cells = hog(images)
    for image, image_cells in zip(images, cells, strict=True):
        # Directions are rounded to four digits in one and exact in the other: few pixels differ.
        difference = np.abs(image_cells - _plain_hog(image))
        assert np.median(difference) < 1e-9
        assert difference.max() < 0.05


def test_box_hog_in_reference_mode_equals_the_golden_file():
    golden = _golden()
    cells = box_hog(golden["im"], golden["boxes"] - 1, reference=True)
    cells = cells.transpose(0, 3, 2, 1).reshape(len(cells), -1)
    difference = np.abs(cells - golden["box_hog"])
    np.testing.assert_allclose(difference[[0, 2, 3]], 0, atol=1e-6)
    # In the second box four of 19,200 levels lie so close to one half that the program's own
    # rounding errors decided them.
    assert difference[1].max() < 0.01 and difference[1].mean() < 1e-4


def test_repaired_box_hog_stays_close_where_boxes_are_enlarged():
    golden = _golden()
    cells = box_hog(golden["im"], golden["boxes"] - 1)
    cells = cells.transpose(0, 3, 2, 1).reshape(len(cells), -1)
    assert cells.dtype == np.float32
    assert np.abs(cells - golden["box_hog"])[:3].mean() < 0.01


def test_flat_regions_of_large_boxes_stay_flat_when_repaired():
    image = np.full((150, 150, 3), 240, np.uint8)
    box = [[0, 0, 149, 149]]
    # What is left in float32 is noise of the last digit, which the normalisation keeps small.
    assert np.abs(box_hog(image, box)).max() < 0.05
    assert np.abs(box_hog(image, box, reference=True)).max() > 0.2


def test_box_hog_of_a_box_equals_hog_of_the_image_it_covers():
    image = np.random.default_rng(1).integers(0, 256, (120, 120, 3)).astype(np.uint8)
    # A box of 64 pixels with its margin of 8 is cut out of the image unchanged.
    cells = box_hog(image, [[20, 30, 83, 93]])[0]
    np.testing.assert_allclose(cells, hog(image[np.newaxis, 22:102, 12:92])[0], atol=1e-5)


def test_boxes_together_equal_boxes_one_by_one():
    rng = np.random.default_rng(2)
    image = rng.integers(0, 256, (60, 70, 3)).astype(np.uint8)
    first = rng.integers(-10, 40, (70, 2))
    boxes = np.concatenate([first, first + rng.integers(0, 60, (70, 2))], axis=1)
    together = box_hog(image, boxes)
    for index in (0, 33, 69):
        alone = box_hog(image, boxes[index : index + 1])[0]
        np.testing.assert_allclose(together[index], alone, atol=2e-3)


def test_boxes_off_the_image_and_of_one_pixel_are_finite():
    image = np.random.default_rng(3).integers(0, 256, (40, 50, 3)).astype(np.uint8)
    boxes = [[-300, -300, -200, -200], [10, 10, 10, 10], [45, 35, 400, 300], [0, 5, 49, 5]]
    for reference in (False, True):
        cells = box_hog(image, boxes, reference)
        assert cells.shape == (4, 8, 8, 31) and np.isfinite(cells).all()
    assert box_hog(image, []).shape == (0, 8, 8, 31)


def test_bad_images_are_refused():
    with pytest.raises(ValueError, match=r"\(batch, height, width, 3\)"):
        hog(np.zeros((30, 30, 3)))
    with pytest.raises(ValueError, match="three cells"):
        hog(np.zeros((1, 30, 15, 3)))
