"""Calibration measures against their definitions, counted out."""

import numpy as np
import pytest

from anchornet_tf.metrics import calibration


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    confidence = rng.integers(0, 20, 300) / 20  # With ties.
    return confidence, rng.random(300) < confidence


def test_auroc_counts_pairs(sample):
    confidence, correct = sample
    right, wrong = confidence[correct], confidence[~correct]
    wins = (right[:, np.newaxis] > wrong).mean() + 0.5 * (right[:, np.newaxis] == wrong).mean()
    assert calibration.auroc(confidence, correct) == pytest.approx(wins, abs=1e-12)
    assert calibration.auroc([0.1, 0.9], [False, True]) == 1
    assert calibration.auroc([0.5, 0.5], [False, True]) == 0.5


def test_auroc_needs_both_kinds():
    with pytest.raises(ValueError, match="right and wrong.*Received: 2 right, 0 wrong"):
        calibration.auroc([0.5, 0.6], [True, True])
    with pytest.raises(ValueError, match="Received: shapes"):
        calibration.auroc([0.5, 0.6], [True])


def test_reliability_and_its_error(sample):
    confidence, correct = sample
    table = calibration.reliability(confidence, correct, bins=5)
    expected = 0.0
    for number in range(5):
        low, high = number / 5, (number + 1) / 5
        inside = (confidence >= low) & ((confidence < high) | (number == 4))
        assert table[number, 2] == inside.sum()
        assert table[number, 0] == pytest.approx(confidence[inside].mean())
        assert table[number, 1] == pytest.approx(correct[inside].mean())
        expected += inside.mean() * abs(confidence[inside].mean() - correct[inside].mean())
    error = calibration.expected_calibration_error(confidence, correct, bins=5)
    assert error == pytest.approx(expected)


def test_honest_and_dishonest_confidence():
    rng = np.random.default_rng(1)
    confidence = rng.random(50_000)
    honest = rng.random(50_000) < confidence
    assert calibration.expected_calibration_error(confidence, honest) < 0.01
    assert calibration.expected_calibration_error(np.ones(50_000), honest) == pytest.approx(
        1 - honest.mean()
    )


def test_surest_share_counts_the_surest_tenth():
    confidence = np.arange(100.0).reshape(10, 10)
    inside = np.zeros((10, 10), bool)
    inside[9, :5] = True
    assert calibration.surest_share(confidence, inside) == 0.5
    assert calibration.surest_share(confidence, inside, share=1) == 0.05
