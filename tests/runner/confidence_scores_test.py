"""Trials of confidence, on a drawn benchmark and with a matcher that is quick."""

import numpy as np
import pytest

from anchornet_tf import Matcher
from anchornet_tf.datasets.annotated import embedded
from anchornet_tf.metrics import calibration
from anchornet_tf.runner import confidence_scores
from anchornet_tf.runner.confidence_plot import plot_reliability
from anchornet_tf.runner.confidence_scores import ConfidenceScores


@pytest.fixture(scope="module")
def matcher():
    return Matcher("sift", "hough", step=16)


def test_figures_are_those_of_the_keypoints(matcher):
    benchmark = embedded.read(num_pairs=1, seed=0).limited(3, 0)
    measured = confidence_scores.measure(benchmark, matcher)
    points = sum(len(pair.shared_points()[0]) for pair in benchmark.pairs)
    assert measured.correct.shape == measured.confidence.shape == (points,)
    assert len(measured.on_object) == 3  # Drawn objects have masks.
    figures = measured.summary()
    assert figures["points"] == points
    assert figures["right"] == pytest.approx(measured.correct.mean())
    assert figures["surest tenth on the object"] == pytest.approx(measured.on_object.mean())
    assert plot_reliability({"sift": measured}).axes


def test_the_summary_by_hand():
    confidence = np.array([0.9, 0.8, 0.2, 0.1])
    correct = np.array([True, True, False, True])
    nothing = np.zeros(0)
    figures = ConfidenceScores(confidence, 1 - confidence, correct, nothing, nothing).summary()
    assert figures["right in the surest half"] == 1
    assert figures["AUROC"] == pytest.approx(calibration.auroc(confidence, correct))
    assert figures["AUROC of scores"] == pytest.approx(1 - figures["AUROC"])
    assert "surest tenth on the object" not in figures


def test_shares_of_cut_outs_know_their_limit(matcher, monkeypatch):
    monkeypatch.setattr(confidence_scores, "CLASSES", ("train", "sheep"))
    found = confidence_scores.cut_out_shares(matcher, 1)
    assert list(found) == ["flat", "blurred", "cluttered"]
    for shares in found.values():
        assert 0 <= shares.on_object <= shares.near_object <= 1
        assert shares.on_object <= shares.most <= 1
