"""Regions as masks and masks as regions."""

import numpy as np
import pytest
from pycocotools import mask as reference

from anchornet_tf.annotations.items import Region
from anchornet_tf.annotations.regions import region_from_mask, region_mask

POLYGONS = Region("wing", "polygons", fields={"label": "kept"})


def _polygons(*outlines):
    return Region("", "polygons", polygons=tuple(np.array(o, float) for o in outlines))


def _random_masks():
    rng = np.random.default_rng(0)
    for _ in range(150):
        height, width = rng.integers(1, 25, 2)
        mask = rng.random((height, width)) < rng.random()
        if mask.any():
            yield mask


def test_polygon_holds_the_pixels_whose_centres_are_inside():
    # A square around the centres of the pixels 1 and 2.
    square = _polygons([(0.5, 0.5), (2.5, 0.5), (2.5, 2.5), (0.5, 2.5)])
    expected = np.zeros((4, 5), bool)
    expected[1:3, 1:3] = True
    np.testing.assert_array_equal(region_mask(square, (4, 5)), expected)


def test_polygons_agree_with_a_plain_test_of_each_centre():
    rng = np.random.default_rng(3)
    for _ in range(30):
        corners = rng.uniform(-5, 25, (rng.integers(3, 9), 2))
        mask = region_mask(_polygons(corners), (20, 22))
        expected = np.zeros((20, 22), bool)
        for y in range(20):
            for x in range(22):
                for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, 1, axis=0), strict=True):
                    if (y0 > y) != (y1 > y) and x < (x1 - x0) * (y - y0) / (y1 - y0) + x0:
                        expected[y, x] ^= True
        np.testing.assert_array_equal(mask, expected)


def test_overlapping_polygons_are_united():
    one = [(-0.5, -0.5), (2.5, -0.5), (2.5, 2.5), (-0.5, 2.5)]
    other = [(0.5, 0.5), (3.5, 0.5), (3.5, 3.5), (0.5, 3.5)]
    assert region_mask(_polygons(one, other), (4, 4)).sum() == 9 + 9 - 4


def test_polygons_far_outside_are_no_trouble():
    triangle = _polygons([(-1e9, -1e9), (1e9, -1e9), (0, 1e300)])
    assert region_mask(triangle, (5, 6)).all()
    assert not region_mask(_polygons([(9, 9), (10, 9), (9, 10)]), (5, 6)).any()
    assert not region_mask(_polygons([(0, 0), (5, 5)]), (5, 6)).any()


def test_box():
    box = Region("", "box", box=(0.5, -0.5, 3.5, 1.5))
    expected = np.zeros((4, 5), bool)
    expected[0:2, 1:4] = True
    np.testing.assert_array_equal(region_mask(box, (4, 5)), expected)
    assert region_from_mask(expected, box).box == box.box


def test_mask_must_have_the_size_of_the_image():
    mask = Region("", "mask", mask=np.ones((2, 3), bool))
    assert region_mask(mask, (2, 3)).all()
    with pytest.raises(ValueError, match=r"\(3, 2\).*Received: \(2, 3\)"):
        region_mask(mask, (3, 2))
    with pytest.raises(ValueError, match="Received: kind='blob'"):
        region_mask(Region("", "blob"), (3, 2))


def test_outlines_give_the_same_mask_back():
    for mask in _random_masks():
        region = region_from_mask(mask, POLYGONS, 0.5)
        assert (region.name, region.kind, region.score) == ("wing", "polygons", 0.5)
        assert region.fields == POLYGONS.fields
        np.testing.assert_array_equal(region_mask(region, mask.shape), mask)


def test_outlines_with_holes_mean_the_same_to_pycocotools():
    for mask in _random_masks():
        region = region_from_mask(mask, POLYGONS)
        flat = [(polygon + 0.5).ravel().tolist() for polygon in region.polygons]
        runs = reference.merge(reference.frPyObjects(flat, *map(int, mask.shape)))
        np.testing.assert_array_equal(reference.decode(runs), mask)


def test_each_connected_part_is_one_outline():
    mask = np.zeros((30, 40), bool)
    mask[2:20, 3:18] = True
    mask[5:9, 6:9] = mask[5:9, 11:14] = mask[12:15, 7:16] = False  # Three holes.
    mask[6, 7] = True  # An island in one of them.
    mask[22:25, 30:35] = True
    assert len(region_from_mask(mask, POLYGONS).polygons) == 3


def test_parts_that_touch_at_a_corner_are_two_outlines():
    mask = np.eye(2, dtype=bool)
    for variant in (mask, mask[::-1]):
        outlines = region_from_mask(variant, POLYGONS).polygons
        assert [len(outline) for outline in outlines] == [4, 4]


def test_simpler_outlines_stay_within_the_tolerance():
    y, x = np.mgrid[:200, :240]
    mask = np.hypot(y - 100, x - 120) < 80
    mask &= np.hypot(y - 100, x - 120) > 20
    exact = region_from_mask(mask, POLYGONS)
    simple = region_from_mask(mask, POLYGONS, tolerance=1.0)
    assert len(simple.polygons[0]) < len(exact.polygons[0]) / 4
    wrong = region_mask(simple, mask.shape) != mask
    # Only beside the two borders.
    radius = np.hypot(y - 100, x - 120)[wrong]
    assert np.minimum(abs(radius - 80), abs(radius - 20)).max() < 2.5


def test_empty_mask_is_no_region():
    for kind in ("polygons", "mask", "box"):
        assert region_from_mask(np.zeros((3, 4), bool), Region("", kind)) is None


def test_mask_is_itself():
    mask = np.eye(4, dtype=bool)
    region = region_from_mask(mask, Region("a", "mask", mask=np.ones((9, 9), bool)), 0.25)
    np.testing.assert_array_equal(region.mask, mask)
    assert region.score == 0.25


def test_masks_with_many_corners():
    mask = np.random.default_rng(0).random((400, 400)) < 0.5
    region = region_from_mask(mask, POLYGONS)
    assert sum(map(len, region.polygons)) > 100_000
    np.testing.assert_array_equal(region_mask(region, mask.shape), mask)
