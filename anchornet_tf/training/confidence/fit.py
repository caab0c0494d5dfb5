"""What tells objects from background and right matches from wrong ones: logistic functions."""

from collections.abc import Sequence

import numpy as np
import scipy.optimize
import tensorflow as tf

from anchornet_tf.features.object_probe import ObjectProbe
from anchornet_tf.matchers.confidence import LIMIT, Calibration, object_gate
from anchornet_tf.matchers.evidence import NAMES
from anchornet_tf.training.confidence.examples import Examples
from anchornet_tf.training.confidence.logistic import LogisticSums, most_likely

# Unit vectors have small entries: without a factor, the penalty would hold their weights down.
_DIRECTION_SCALE = 4.0
_PROBE_PENALTY, _PENALTY = 1e-3, 1e-2
_SMALLEST = 1e-6
# The share of marked places, at the rims of objects, that may pass for background.
_MARKED_ON_BACKGROUND = 0.01
_SOURCE_OBJECT = NAMES.index("source_object")


def logistic_regression(
    inputs: np.ndarray, answers: np.ndarray, weights: np.ndarray, penalty: float
) -> tuple[np.ndarray, float]:
    """Returns the coefficients `(k,)` and the bias of the most likely logistic function.

    Args:
        inputs: `(n, k)`.
        answers: `(n,)` bool.
        weights: `(n,)`, how much each example counts.
        penalty: float, on half the squared length of the coefficients.
    """
    return most_likely(
        lambda parameters: LogisticSums.of_examples(inputs, answers, weights, parameters),
        np.shape(inputs)[1],
        penalty,
    )


def fit_probe(sets: Sequence[tuple[np.ndarray, np.ndarray]]) -> ObjectProbe:
    """Fits what tells objects from background.

    Args:
        sets: What `probe_examples` returns, for each set of images; all sets count alike.
    """
    inputs = np.concatenate([seen for seen, _ in sets])
    inputs[:, :-1] *= _DIRECTION_SCALE
    answers = np.concatenate([shows for _, shows in sets])
    coefficients, bias = logistic_regression(inputs, answers, _even(sets), _PROBE_PENALTY)
    coefficients[:-1] *= _DIRECTION_SCALE
    return ObjectProbe(
        tf.constant(coefficients[:-1], tf.float32),
        tf.constant(coefficients[-1], tf.float32),
        tf.constant(bias, tf.float32),
    )


def fit_calibration(sets: Sequence[Examples]) -> Calibration:
    """Fits the probability of matches to keypoints.

    The weights come from a logistic regression. Its slope and bias are then fitted again, under the
    gate that keeps the background out, so that the product is true on objects.

    Args:
        sets: The examples of each set of pairs; all sets count alike.
    """
    known = np.concatenate([each.evidence for each in sets]).astype(np.float64)
    center, scale = known.mean(axis=0), known.std(axis=0) + _SMALLEST
    correct = np.concatenate([each.correct for each in sets])
    shares = _even([(each.evidence, None) for each in sets])
    inputs = np.clip((known - center) / scale, -LIMIT, LIMIT)
    weights, bias = logistic_regression(inputs, correct, shares, _PENALTY)
    logits = inputs @ weights + bias
    background = float(np.quantile(known[:, _SOURCE_OBJECT], _MARKED_ON_BACKGROUND))
    gate = object_gate(known, background).numpy()

    def loss(parameters):
        slope, offset = parameters
        probability = gate / (1 + np.exp(-(slope * logits + offset)))
        probability = np.clip(probability, _SMALLEST, 1 - _SMALLEST)
        return -shares @ np.where(correct, np.log(probability), np.log(1 - probability))

    slope, offset = scipy.optimize.minimize(loss, [1.0, 0.0], method="Nelder-Mead").x
    return Calibration(
        *(array.astype(np.float32) for array in (center, scale, slope * weights)),
        float(slope * bias + offset),
        background,
    )


def _even(sets) -> np.ndarray:
    """Returns weights by which every set counts one in all."""
    return np.concatenate([np.full(len(part), 1 / max(len(part), 1)) for part, _ in sets])
