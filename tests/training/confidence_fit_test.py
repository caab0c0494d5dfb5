"""Fits of the confidence: they find what made the data, and stay true under the gate."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.matchers.evidence import NAMES
from anchornet_tf.metrics.calibration import auroc, expected_calibration_error
from anchornet_tf.training.confidence.config import ConfidenceConfig
from anchornet_tf.training.confidence.examples import Examples
from anchornet_tf.training.confidence.fit import fit_calibration, fit_probe, logistic_regression


def _sigmoid(values):
    return 1 / (1 + np.exp(-values))


def test_logistic_regression_finds_what_made_the_data():
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((20_000, 3))
    true, bias = np.array([1.0, -2.0, 0.5]), 0.3
    answers = rng.random(20_000) < _sigmoid(inputs @ true + bias)
    found, offset = logistic_regression(inputs, answers, np.ones(20_000), 0.0)
    np.testing.assert_allclose(found, true, atol=0.1)
    assert offset == pytest.approx(bias, abs=0.1)
    held, _ = logistic_regression(inputs, answers, np.ones(20_000), 10.0)
    assert np.linalg.norm(held) < 0.1 * np.linalg.norm(found)


def test_a_probe_tells_directions_apart():
    rng = np.random.default_rng(1)
    seen = rng.standard_normal((4000, 9)).astype(np.float32)
    seen[:, :8] /= np.linalg.norm(seen[:, :8], axis=1, keepdims=True)
    shows = seen[:, 0] + 0.2 * seen[:, 8] > 0
    probe = fit_probe([(seen[:2000].copy(), shows[:2000])])
    logits = seen[2000:, :8] @ probe.weights.numpy() + probe.length_weight * seen[2000:, 8]
    assert auroc(logits + probe.bias, shows[2000:]) > 0.97


def test_a_calibration_is_true_on_objects_and_low_elsewhere():
    rng = np.random.default_rng(2)
    place = NAMES.index("source_object")

    def examples(count):
        values = rng.standard_normal((count, len(NAMES)))
        values[:, place] = rng.normal(3, 1, count)
        right = rng.random(count) < _sigmoid(1.5 * values[:, 0] - values[:, 3])
        elsewhere = rng.standard_normal((50, len(NAMES)))
        elsewhere[:, place] = -5
        return Examples(values, right, elsewhere)

    fitted = fit_calibration([examples(4000), examples(1000)])
    fresh = examples(4000)
    found = fitted.probabilities(tf.constant(fresh.evidence, tf.float32)).numpy()
    assert auroc(found, fresh.correct) > 0.8
    assert expected_calibration_error(found, fresh.correct) < 0.05
    outside = fitted.probabilities(tf.constant(fresh.elsewhere, tf.float32)).numpy()
    assert outside.max() < 0.02


def test_bad_configurations_are_refused():
    with pytest.raises(ValueError, match="at least one matcher. Received: none"):
        ConfidenceConfig(matchers=())
    with pytest.raises(ValueError, match="pairs_per_class.*Received: 0"):
        ConfidenceConfig(pairs_per_class=0)
