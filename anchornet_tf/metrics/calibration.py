"""How far a confidence can be trusted: plain functions on arrays."""

import numpy as np


def auroc(confidence, correct) -> float:
    """Returns the probability that a right match is surer than a wrong one; ties count half.

    That is the area under the receiver operating characteristic.

    Args:
        confidence: `(n,)`, the higher the surer.
        correct: `(n,)` bool.

    Raises:
        ValueError: If there are not both right and wrong matches, or shapes disagree.
    """
    confidence, correct = _checked(confidence, correct)
    positives = int(correct.sum())
    negatives = len(correct) - positives
    if not positives or not negatives:
        raise ValueError(
            f"Expected right and wrong matches. Received: {positives} right, {negatives} wrong"
        )
    _, place, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    # The mean rank of equal values, from 1.
    ranks = np.cumsum(counts) - (counts - 1) / 2
    total = ranks[place][correct].sum()
    return float((total - positives * (positives + 1) / 2) / (positives * negatives))


def reliability(confidence, correct, bins: int = 10) -> np.ndarray:
    """Compares what was promised with what came true, in bins of equal width from 0 to 1.

    Args:
        confidence: `(n,)` probabilities.
        correct: `(n,)` bool.
        bins: int.

    Returns:
        `(bins, 3)`: mean confidence and share of right matches of each bin, NaN where it is empty,
        and the number of matches in it.
    """
    confidence, correct = _checked(confidence, correct)
    place = np.clip((confidence * bins).astype(int), 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        promised = np.bincount(place, confidence, bins) / counts
        held = np.bincount(place, correct, bins) / counts
    return np.stack([promised, held, counts], axis=-1)


def expected_calibration_error(confidence, correct, bins: int = 10) -> float:
    """Returns the mean distance between promise and truth over the bins, weighted by their sizes.

    Args:
        confidence: `(n,)` probabilities.
        correct: `(n,)` bool.
        bins: int. As in `reliability`.
    """
    promised, held, counts = reliability(confidence, correct, bins).T
    filled = counts > 0
    gaps = np.abs(promised - held)[filled]
    return float((gaps * counts[filled]).sum() / counts.sum())


def surest_share(confidence, inside, share: float = 0.1) -> float:
    """Returns how many of the surest pixels lie inside a mask.

    Args:
        confidence: `(height, width)`.
        inside: `(height, width)` bool, such as the mask of the object.
        share: float. Which share of all pixels are the surest.
    """
    confidence, inside = _checked(np.ravel(confidence), np.ravel(inside))
    count = max(1, round(share * len(confidence)))
    return float(inside[np.argsort(-confidence, kind="stable")[:count]].mean())


def _checked(confidence, correct):
    confidence, correct = np.asarray(confidence, np.float64), np.asarray(correct, bool)
    if confidence.shape != correct.shape or confidence.ndim != 1 or not len(correct):
        raise ValueError(
            "Expected as many confidences as answers, at least one. "
            f"Received: shapes {confidence.shape} and {correct.shape}"
        )
    return confidence, correct
