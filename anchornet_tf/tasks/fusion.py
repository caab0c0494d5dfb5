"""One answer from several references: where most of the sure ones agree."""

import numpy as np

# References agree on a place within this share of the object's size.
_AGREEMENT = 0.08
# How much more a sure answer counts than an unsure one.
_POWER = 2.0
# The odds of an answer grow as this power of how many references agree on it...
_AGREEING = 1.0
# ... and as this power of their share of all votes. Both were fitted to the tune half of PF-WILLOW
# (1.1 and 2.0), and rounded.
_DISSENT = 2.0
_SMALLEST = 1e-6


def fuse_points(
    positions: np.ndarray, probabilities: np.ndarray, size: float
) -> tuple[np.ndarray, np.ndarray]:
    """Fuses the answers of several references for each point.

    Each answer is a vote for the places around it. The place with the most votes wins, and answers
    elsewhere are left out of the mean: a reference that saw the object from the other side does not
    pull the point off the object.

    Args:
        positions: float `(references, points, 2)`; NaN where a reference has no answer.
        probabilities: float `(references, points)` that an answer is right.
        size: float, the object's size in the units of the positions.

    Returns:
        Positions `(points, 2)`, NaN for points without an answer, and probabilities `(points,)`
        that they are right, 0 for those.

    Raises:
        ValueError: If shapes disagree, or `size` is not positive.
    """
    positions = np.asarray(positions, np.float64)
    probabilities = np.asarray(probabilities, np.float64)
    if positions.ndim != 3 or positions.shape != (*probabilities.shape, 2):
        raise ValueError(
            "Expected positions (references, points, 2) and probabilities (references, points). "
            f"Received: {positions.shape}, {probabilities.shape}"
        )
    if not size > 0:
        raise ValueError(f"`size` must be positive. Received: size={size}")
    if not positions.shape[0]:
        return np.full(positions.shape[1:], np.nan), np.zeros(positions.shape[1])
    known = np.isfinite(positions).all(axis=-1)  # (references, points)
    places = np.where(known[..., np.newaxis], positions, 0)
    weights = np.where(known, np.maximum(probabilities, _SMALLEST) ** _POWER, 0)
    # (references, references, points): how far each answer backs each other one.
    distances = np.linalg.norm(places[:, np.newaxis] - places, axis=-1)
    nearness = np.exp(-0.5 * (distances / (_AGREEMENT * size)) ** 2) * known
    backing = nearness * weights
    votes = np.where(known, backing.sum(axis=1), -1)
    best = votes.argmax(axis=0)
    support, agreeing = (
        np.take_along_axis(each, best[np.newaxis, np.newaxis], axis=0)[0]
        for each in (backing, nearness)
    )
    total = support.sum(axis=0)  # (points,)
    mean = np.einsum("rp,rpc->pc", support, places) / np.maximum(total, _SMALLEST**3)[:, np.newaxis]
    found = known.any(axis=0)
    return (
        np.where(found[:, np.newaxis], mean, np.nan),
        np.where(
            found,
            _fused_probability(support, agreeing.sum(axis=0), weights, probabilities, known),
            0,
        ),
    )


def _fused_probability(support, count, weights, probabilities, known):
    """Returns `(points,)`: the mean of the answers that agree, more for many, less for dissent.

    References err together (the same hidden leg misleads all of them), so that their odds are not
    multiplied as independent ones would be: the odds of the mean are multiplied by how many agree.
    """
    backed = support.sum(axis=0)
    mean = (support * np.where(known, probabilities, 0)).sum(axis=0)
    mean = np.clip(mean / np.maximum(backed, _SMALLEST**3), 0, 1)
    share = backed / np.maximum(weights.sum(axis=0), _SMALLEST**3)
    factor = np.maximum(count, 1) ** _AGREEING * share**_DISSENT
    # From odds to probabilities, without dividing by 1 - mean, which may be zero.
    return mean * factor / np.maximum(mean * factor + 1 - mean, _SMALLEST)


def fuse_masks(masks: np.ndarray, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fuses the masks that several references give for one region, pixel by pixel.

    Args:
        masks: float `(references, height, width)` from 0 to 1.
        probabilities: float `(references, height, width)` that the match of a pixel is right.

    Returns:
        The share of the references' votes for the region, and the mean probability of the votes,
        both `(height, width)`.
    """
    weights = np.maximum(probabilities, _SMALLEST) ** _POWER
    total = weights.sum(axis=0)
    return (weights * masks).sum(axis=0) / total, (weights * probabilities).sum(axis=0) / total
