"""Points that move smoothly along a video, through what was found in its single frames.

A track `z` of a point minimises

    sum_t weight_t * huber(|z_t - found_t|) + strength^4 * sum_t |z_(t-1) - 2 z_t + z_(t+1)|^2

so a point that moves at a constant velocity is left as it is, and a frame that disagrees with its
neighbours counts little. Huber's function is minimised by rounds of weighted least squares, each a
system of five diagonals.
"""

import numpy as np
import scipy.linalg
import scipy.ndimage

STRONGEST = 100.0
_WEAKEST = 0.01
_ROUNDS = 10
# A place found with next to no probability still counts, so that the systems stay regular.
_LEAST_WEIGHT = 1e-3
# Matches are not exact to the pixel: smaller deviations are never outliers.
_LEAST_DEVIATION = 0.5
_DEVIATIONS_TRUSTED = 2.0
_MEDIAN_OF_RAYLEIGH = 1.1774  # Of the length of a vector whose two parts have unit variance.
_AROUND = 7
# Across a longer gap, acceleration says nothing (and systems become ill-conditioned).
_LONGEST_GAP = 100


def smooth_tracks(
    positions: np.ndarray,
    scores: np.ndarray,
    fixed: np.ndarray,
    strength: float = 2.0,
    rounds: int = _ROUNDS,
) -> np.ndarray:
    """Smooths the tracks of points along time, and fills in where they were not found.

    Between frames where a point was found, it moves as smoothly as possible; across more than 100
    frames, it moves straight. Before the first and after the last of them it stays where it is.

    Args:
        positions: array `(frames, points, 2)` of `(x, y)`; NaN where a point was not found.
        scores: array `(frames, points)`, the probabilities of the positions. A position whose
            score is 0 or NaN counts as not found, unless it is fixed.
        fixed: bool array `(frames, points)`: positions that a person set, and that stay exactly.
        strength: float, 0..100: over about how many frames positions are averaged. 0 leaves all
            that were found as they are.
        rounds: int. How often outliers are looked for; 0 is plain least squares.

    Returns:
        float64 array `(frames, points, 2)`. A point that was found nowhere stays NaN.

    Raises:
        ValueError: If shapes disagree, `strength`, `rounds` or a score is out of range, or a fixed
            position is not finite.

    Example:

    ```python
    import numpy as np
    from anchornet_tf.tasks.smoothing import smooth_tracks

    x = np.array([0.0, 1.0, np.nan, 3.0, 4.0])
    track = np.stack([x, 2 * x], axis=-1)[:, np.newaxis]  # (5 frames, 1 point, 2)
    smooth = smooth_tracks(track, np.ones((5, 1)), np.zeros((5, 1), bool))
    np.testing.assert_allclose(smooth[2, 0], [2, 4])
    ```
    """
    positions = np.asarray(positions, np.float64)
    scores, fixed = np.asarray(scores, np.float64), np.asarray(fixed, bool)
    _check(positions, scores, fixed, strength, rounds)
    found = np.isfinite(positions).all(axis=-1) & (scores > 0)
    if strength < _WEAKEST:
        strength, fixed = 1.0, fixed | found
    result = np.full_like(positions, np.nan)
    for point in range(positions.shape[1]):
        result[:, point] = _smooth_track(
            positions[:, point],
            np.where(found[:, point], np.maximum(scores[:, point], _LEAST_WEIGHT), 0),
            fixed[:, point],
            float(strength) ** 4,
            rounds,
        )
    return result


def trusted_deviations(deviations: np.ndarray) -> np.ndarray:
    """Returns how far positions may be off a smooth track before they count as outliers.

    Args:
        deviations: array `(n,)`, in pixels, in the order of time.

    Returns:
        Array `(n,)`.
    """
    # Where several frames in a row deviate, the point is quick and not found wrong.
    around = scipy.ndimage.median_filter(deviations, _AROUND, mode="reflect")
    usual = np.maximum(np.median(deviations), around) / _MEDIAN_OF_RAYLEIGH
    return _DEVIATIONS_TRUSTED * np.maximum(usual, _LEAST_DEVIATION)


def _check(positions, scores, fixed, strength, rounds) -> None:
    if positions.ndim != 3 or positions.shape[2] != 2:
        raise ValueError(
            "`positions` must have the shape (frames, points, 2). "
            f"Received: positions.shape={positions.shape}"
        )
    for name, array in (("scores", scores), ("fixed", fixed)):
        if array.shape != positions.shape[:2]:
            raise ValueError(
                f"`{name}` must have the shape (frames, points) = {positions.shape[:2]}. "
                f"Received: {name}.shape={array.shape}"
            )
    if not 0 <= strength <= STRONGEST:
        raise ValueError(
            f"`strength` must be from 0 to {STRONGEST:g}. Received: strength={strength}"
        )
    if rounds < 0:
        raise ValueError(f"`rounds` must not be negative. Received: rounds={rounds}")
    wrong = scores[(scores < 0) | (scores > 1)]
    if wrong.size:
        raise ValueError(f"`scores` must be from 0 to 1. Received: {wrong[0]}")
    wrong = np.argwhere(fixed & ~np.isfinite(positions).all(axis=-1))
    if len(wrong):
        raise ValueError(
            "The positions of fixed points must be finite. "
            f"Received: none for point {wrong[0, 1]} of frame {wrong[0, 0]}"
        )


def _smooth_track(positions, weights, fixed, penalty, rounds) -> np.ndarray:
    """Smooths `(frames, 2)` positions of one point; weight 0 means that it was not found."""
    frames = np.arange(len(positions))
    known = np.flatnonzero((weights > 0) | fixed)
    if not len(known):
        return np.full_like(positions, np.nan)
    is_smooth = np.zeros(len(positions), bool)
    smooth = np.zeros_like(positions)
    for run in np.split(known, np.flatnonzero(np.diff(known) > _LONGEST_GAP) + 1):
        part = slice(run[0], run[-1] + 1)
        is_smooth[part] = True
        smooth[part] = _smooth_run(positions[part], weights[part], fixed[part], penalty, rounds)
    # Straight across long gaps, and constant beyond the ends.
    filled = [np.interp(frames, frames[is_smooth], axis) for axis in smooth[is_smooth].T]
    return np.stack(filled, axis=-1)


def _smooth_run(positions, weights, fixed, penalty, rounds) -> np.ndarray:
    """Smooths frames of which the first and the last are known."""
    if len(positions) < 3:
        return positions
    counts = (weights > 0) | fixed
    free = (weights > 0) & ~fixed
    # Straight motion has no second differences, so it may be taken off and added again: solving
    # for the rest alone keeps rounding errors as small as the rest is.
    frames = np.linspace(-1, 1, len(positions))
    line = np.stack([frames, np.ones_like(frames)], axis=-1)
    straight = line @ np.linalg.lstsq(line[counts], positions[counts], rcond=None)[0]
    rest = np.where(counts[:, np.newaxis], positions - straight, 0)
    smooth = _solve(rest, weights, fixed, penalty)
    for _ in range(rounds if free.any() else 0):
        deviations = np.linalg.norm((rest - smooth)[free], axis=-1)
        reweighted = weights.copy()
        reweighted[free] *= np.minimum(1, trusted_deviations(deviations) / (deviations + 1e-9))
        smooth = _solve(rest, reweighted, fixed, penalty)
    # Adding what was taken off would change the last digit.
    return np.where(fixed[:, np.newaxis], positions, smooth + straight)


def _solve(positions, weights, fixed, penalty) -> np.ndarray:
    """Minimises weighted squared deviations plus penalised second differences.

    Args:
        positions: `(n, 2)`, n >= 3, finite.
        weights: `(n,)`.
        fixed: bool `(n,)`: positions that are given.
        penalty: float.
    """
    # Second differences touch three frames by 1, -2, 1; the diagonals of their Gram matrix.
    length = len(positions)
    bands = np.zeros((3, length))
    for offset, square in enumerate((1, 4, 1)):
        bands[0, offset : offset + length - 2] += square
    bands[1, : length - 2] -= 2
    bands[1, 1 : length - 1] -= 2
    bands[2, : length - 2] = 1
    bands *= penalty
    # What is given moves to the right-hand side.
    given = np.where(fixed[:, np.newaxis], positions, 0)
    right = weights[:, np.newaxis] * positions
    for offset in (1, 2):
        band = bands[offset, :-offset, np.newaxis]
        right[offset:] -= band * given[:-offset]
        right[:-offset] -= band * given[offset:]
        bands[offset, :-offset][fixed[:-offset] | fixed[offset:]] = 0
    bands[0] += weights
    bands[0, fixed] = 1
    right[fixed] = positions[fixed]
    return scipy.linalg.solveh_banded(bands, right, lower=True)
