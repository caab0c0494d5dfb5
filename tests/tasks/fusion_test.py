"""Fusing the answers of several references."""

import numpy as np
import pytest

from anchornet_tf.tasks.fusion import fuse_masks, fuse_points


def test_one_reference_is_its_own_answer():
    positions = np.array([[[3.0, 4.0], [10.0, 2.0]]])
    fused, sure = fuse_points(positions, np.array([[0.7, 0.2]]), 20.0)
    np.testing.assert_allclose(fused, positions[0])
    np.testing.assert_allclose(sure, [0.7, 0.2])


def test_an_outlier_does_not_pull():
    positions = np.array([[[10.0, 10.0]], [[10.4, 10.0]], [[90.0, 90.0]]])
    fused, sure = fuse_points(positions, np.array([[0.6], [0.6], [0.6]]), 100.0)
    assert np.linalg.norm(fused[0] - [10.2, 10]) < 0.01
    lonely, _ = fuse_points(positions[1:], np.array([[0.3], [0.9]]), 100.0)
    np.testing.assert_allclose(lonely[0], [90, 90], atol=1e-3)
    assert 0 < sure[0] < 1


def test_agreement_makes_surer_and_dissent_less_sure():
    def fused(places):
        positions = np.array(places, float)[:, np.newaxis]
        return fuse_points(positions, np.full((len(places), 1), 0.6), 100.0)[1][0]

    agreeing, alone = fused([[10, 10]] * 3), fused([[10, 10]])
    torn = fused([[10, 10], [60, 60], [10, 90]])
    assert torn < alone < agreeing
    assert alone == pytest.approx(0.6)
    # Odds of 0.6 are 1.5; three agree on it.
    assert agreeing == pytest.approx(4.5 / 5.5)
    # A third of the votes is left to each of the three.
    assert torn == pytest.approx(1.5 / 9 / (1 + 1.5 / 9), rel=1e-3)


def test_sure_and_hopeless_answers_stay_so():
    positions = np.zeros((2, 2, 2))
    _, sure = fuse_points(positions, np.array([[1.0, 0.0], [1.0, 0.0]]), 10.0)
    np.testing.assert_allclose(sure, [1, 0])


def test_points_that_no_reference_has_are_not_invented():
    positions = np.array([[[1.0, 1.0], [np.nan, np.nan]], [[1.0, 1.0], [np.nan, np.nan]]])
    fused, sure = fuse_points(positions, np.array([[0.5, 0.0], [0.5, 0.0]]), 10.0)
    assert np.isnan(fused[1]).all() and sure[1] == 0
    empty, none = fuse_points(np.zeros((0, 2, 2)), np.zeros((0, 2)), 10.0)
    assert np.isnan(empty).all() and not none.any()


def test_order_of_references_does_not_matter():
    rng = np.random.default_rng(0)
    positions, sure = rng.uniform(0, 100, (5, 4, 2)), rng.uniform(0, 1, (5, 4))
    order = rng.permutation(5)
    for one, other in zip(
        fuse_points(positions, sure, 50.0),
        fuse_points(positions[order], sure[order], 50.0),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="Received: "):
        fuse_points(np.zeros((2, 3, 2)), np.zeros((2, 4)), 1.0)
    with pytest.raises(ValueError, match="size=0"):
        fuse_points(np.zeros((1, 1, 2)), np.zeros((1, 1)), 0)


def test_masks_are_weighed_by_what_is_sure():
    masks = np.array([[[1.0, 0.0]], [[0.0, 0.0]]])
    share, sure = fuse_masks(masks, np.array([[[0.9, 0.9]], [[0.1, 0.1]]]))
    np.testing.assert_allclose(share[0], [0.81 / 0.82, 0])
    assert sure[0, 0] == pytest.approx((0.81 * 0.9 + 0.01 * 0.1) / 0.82)
