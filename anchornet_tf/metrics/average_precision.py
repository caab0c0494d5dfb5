"""Average precision of a ranking."""

import numpy as np


def average_precision(scores, is_positive) -> float:
    """Returns the mean, over the positives, of the precision at each one's rank.

    Equal scores share a rank: a constant score gets the share of positives, whatever the order.

    Args:
        scores: `(n,)`, higher means more likely positive.
        is_positive: `(n,)` bool.

    Returns:
        float from 0 to 1.

    Raises:
        ValueError: If the lengths differ, there is no positive, or a score is not finite.
    """
    scores, is_positive = np.asarray(scores, np.float64), np.asarray(is_positive, bool)
    if scores.shape != is_positive.shape or scores.ndim != 1:
        raise ValueError(
            f"Expected two vectors of one length. Received: {scores.shape}, {is_positive.shape}"
        )
    if not is_positive.any() or not np.isfinite(scores).all():
        raise ValueError(
            "Expected finite scores and at least one positive. "
            f"Received: {is_positive.sum()} positives, scores {scores[:5]}"
        )
    ranked = np.sort(scores)
    ranked_positives = np.sort(scores[is_positive])
    values = scores[is_positive]
    as_high = len(ranked) - np.searchsorted(ranked, values, side="left")
    positives_as_high = len(ranked_positives) - np.searchsorted(
        ranked_positives, values, side="left"
    )
    return float(np.mean(positives_as_high / as_high))
