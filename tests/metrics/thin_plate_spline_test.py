"""Tests of thin-plate splines."""

import numpy as np
import pytest

from anchornet_tf.metrics.thin_plate_spline import ThinPlateSpline
from tests.shared_data import shared_path


def test_warp_equals_the_golden_file():
    golden = np.load(shared_path("golden/feat__tiny_tps.npz"))
    spline = ThinPlateSpline(golden["ptsA"], golden["ptsB"])
    height, width = golden["sizeA"].astype(int).ravel()
    y, x = np.mgrid[1 : height + 1, 1 : width + 1]
    warped = spline(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(height, width, 2)
    np.testing.assert_allclose(warped[..., 0], golden["warp_x"], atol=1e-10)
    np.testing.assert_allclose(warped[..., 1], golden["warp_y"], atol=1e-10)


def test_warp_of_a_photograph_equals_the_golden_file():
    boxes = np.load(shared_path("golden/pf__car_pair_boxes.npz"))
    golden = np.load(shared_path("golden/pf__car_pair_eval.npz"))
    spline = ThinPlateSpline(boxes["ptsA"].T - 1, boxes["ptsB"].T - 1)
    y, x = np.mgrid[:225, :300]
    warped = spline(np.stack([x.ravel(), y.ravel()], axis=1)) + 1
    np.testing.assert_allclose(warped[:, 0], golden["tps_x"][:, 0], atol=1e-8)
    np.testing.assert_allclose(warped[:, 1], golden["tps_y"][:, 0], atol=1e-8)


def test_given_points_are_met_exactly():
    source, target = np.random.default_rng(0).uniform(0, 100, (2, 10, 2))
    np.testing.assert_allclose(ThinPlateSpline(source, target)(source), target, atol=1e-8)


def test_affine_maps_are_reproduced_everywhere():
    rng = np.random.default_rng(1)
    source, elsewhere = rng.uniform(0, 100, (2, 10, 2))
    matrix, shift = rng.normal(size=(2, 2)), rng.normal(size=2)
    spline = ThinPlateSpline(source, source @ matrix + shift)
    np.testing.assert_allclose(spline(elsewhere), elsewhere @ matrix + shift, atol=1e-8)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([[0, 0], [1, 1], [2, 2], [3, 3]], "not on one line"),
        ([[0, 0], [1, 0], [0, 1], [0, 1]], "distinct"),
        ([[0, 0], [1, 0], [0, np.nan], [1, 1]], "finite"),
        ([[0, 0], [1, 0], [0, 1]], "one target point"),
    ],
)
def test_bad_points_are_refused(source, message):
    target = [[0, 0], [1, 0], [0, 1], [1, 1]]
    with pytest.raises(ValueError, match=message):
        ThinPlateSpline(source, target)


def test_bad_queries_are_refused():
    corners = [[0, 0], [1, 0], [0, 1]]
    with pytest.raises(ValueError, match=r"shape \(n, 2\)"):
        ThinPlateSpline(corners, corners)([1.0, 2.0])
    assert ThinPlateSpline(corners, corners)(np.zeros((0, 2))).shape == (0, 2)
