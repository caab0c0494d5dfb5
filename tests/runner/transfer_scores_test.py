"""Trials of transfer, on drawn pictures and with a matcher that is quick."""

import numpy as np
import pytest

from anchornet_tf import Matcher
from anchornet_tf.datasets.annotated import embedded
from anchornet_tf.runner.transfer_scores import PointScores, TransferTrial


@pytest.fixture(scope="module")
def trial():
    sets = {}
    for annotation in embedded.read(num_pairs=6, seed=0).annotations().values():
        sets.setdefault(annotation.class_name, []).append(annotation)
    sets = {name: sets[name][:4] for name in ("bird", "bottle")}
    return TransferTrial(sets, Matcher("sift", "hough", step=16), with_masks=True, mirror=False)


def test_every_image_is_a_target_and_never_its_own_reference(trial):
    trials = list(trial._trials(2, 3, 0, suggested=False))
    assert len(trials) == 2 * 4 * 3
    assert all(target not in chosen and len(set(chosen)) == 2 for _, target, chosen in trials)
    assert trials == list(trial._trials(2, 3, 0, suggested=False))
    suggested = list(trial._trials(2, 3, 0, suggested=True))
    assert len(suggested) == 2 * 2  # What is suggested is no target.


def test_scores_are_of_points_that_a_reference_shows(trial):
    points, overlaps = trial.scores(1, 1)
    assert set(points.groups) == {"bird", "bottle"}
    assert np.isfinite(points.errors).all() and (points.errors >= 0).all()
    assert ((points.probabilities >= 0) & (points.probabilities <= 1)).all()
    assert len(overlaps) and ((overlaps >= 0) & (overlaps <= 1)).all()
    asked, _ = trial.scores(2, 1, asked=1)
    assert set(asked.summary()) == set(points.summary())


def test_figures_are_means_over_sets_and_the_surest_half_is_taken_in_each():
    scores = PointScores(
        np.array([0.01, 0.2, 0.07, 0.3, 0.3, 0.3]),
        np.array([0.9, 0.1, 0.8, 0.7, 0.6, 0.5]),
        np.array(["a", "a", "b", "b", "b", "b"]),
    )
    assert scores.pck(0.1) == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert scores.pck(0.05) == pytest.approx((1 / 2 + 0) / 2)
    half = scores.surest()
    assert half.probabilities.tolist() == [0.9, 0.8, 0.7]
    assert half.pck(0.1) == pytest.approx((1 + 1 / 2) / 2)
