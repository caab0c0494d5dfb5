"""What speaks for and against a match, whichever matcher found it.

A match is looked at from both images: how alike its two ends are, whether another place is as
alike, whether the way back leads home, whether its neighbours moved alike, and whether there is an
object at either end. `anchornet_tf.matchers.confidence` turns these numbers into a probability.
"""

import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from anchornet_tf.features.object_probe import GRID, ObjectProbe
from anchornet_tf.image import interpolate_bilinear
from anchornet_tf.matchers.cells import same_place, unit_cells, unravel

# A place nearer than this, in cells of the grid, is the same place.
_SAME_PLACE = 3.0
# Likeness counts as exp(cosine / temperature) where the share of a place is asked for.
_TEMPERATURE = 0.03
# Neighbours within so many cells of the grid should move alike.
_NEIGHBORHOODS = (1, 4)
_SMALLEST = 1e-6

_OF_CELL = (
    "similarity",
    "shortfall",
    "margin",
    "share",
    "backward_shortfall",
    "backward_margin",
    "backward_share",
    "return_distance",
    *(f"disagreement_{radius}" for radius in _NEIGHBORHOODS),
    "score",
    "source_object",
    "target_object",
    "eccentricity",
)
# The mean over the object says how well the two images go together at all.
_AVERAGED = ("similarity", "return_distance", "share", "backward_share", "disagreement_1", "score")
_SPREADS = ("source_spread", "landing_spread", "target_spread")
NAMES = (*_OF_CELL, *(f"mean_{name}" for name in _AVERAGED), *_SPREADS)


class Look(NamedTuple):
    """What is looked at in maps, on the cells of `GRID`.

    Attributes:
        cells: float tensor `(batch, cells, depth)`: descriptors as unit vectors.
        objects: float tensor `(batch, *GRID)`: what a probe says; zero without one.
    """

    cells: tf.Tensor
    objects: tf.Tensor


def look(values: tf.Tensor, probe: ObjectProbe | None = None) -> Look:
    """Looks at maps.

    Args:
        values: float tensor `(batch, height, width, depth)`.
        probe: What tells objects from background, or None where nothing does.
    """
    return Look(unit_cells(values, GRID), objects(values, probe))


def objects(values: tf.Tensor, probe: ObjectProbe | None) -> tf.Tensor:
    """Returns where objects are in maps, as in `Look`; the arguments are those of `look`."""
    return tf.zeros((tf.shape(values)[0], *GRID)) if probe is None else probe.logits(values)


def match_evidence(
    source: Look,
    target: Look,
    positions: tf.Tensor,
    scores: tf.Tensor,
    own: tf.Tensor | None = None,
) -> tf.Tensor:
    """Gathers the evidence for matches between two batches of maps.

    Args:
        source: What `look` says about the source.
        target: What it says about the target.
        positions: float tensor `(batch, rows, columns, 2)`: where the cells of a grid of the source
            go, as (row, column) in cells of `GRID` on the target.
        scores: float tensor `(batch, rows, columns)`: the matcher's own confidence.
        own: float tensor `(batch, rows, columns, k)`: what else the matcher knows, or None.

    Returns:
        float tensor `(batch, rows, columns, len(NAMES) + k)`.
    """
    batch, rows, columns = tf.unstack(tf.shape(scores))
    num_cells = rows * columns
    ends = tf.reshape(positions, (batch, num_cells, 2))
    starts = same_place(tf.stack([rows, columns]), tf.constant(GRID))
    starts = tf.tile(starts[tf.newaxis], (batch, 1, 1))  # (batch, n, 2)
    from_start, from_end = _read(source.cells, starts), _read(target.cells, ends)
    similarity = tf.reduce_sum(from_start * from_end, axis=-1)  # (batch, n)
    forward = _seen_from(from_start, target.cells, ends, similarity)
    # The starts are the same in all pairs: what is near them is found once.
    backward = _seen_from(from_end, source.cells, starts[:1], similarity)
    objects = _objects(source.objects, target.objects, starts, ends)
    weights = tf.nn.softmax(tf.math.log_sigmoid(objects.at_starts), axis=-1)  # Sum to one.
    centre, source_spread = _spread(starts, weights)
    landing_spread = _spread(ends, weights)[1]
    target_spread = _spread(unravel(tf.range(math.prod(GRID)), GRID[1])[tf.newaxis], objects.target)
    found = {
        "similarity": similarity,
        "shortfall": forward.shortfall,
        "margin": forward.margin,
        "share": forward.share,
        "backward_shortfall": backward.shortfall,
        "backward_margin": backward.margin,
        "backward_share": backward.share,
        "return_distance": tf.math.log1p(tf.norm(backward.best - starts, axis=-1)),
        "score": tf.reshape(scores, (batch, num_cells)),
        "source_object": objects.at_starts,
        "target_object": objects.at_ends,
        "eccentricity": tf.norm(starts - centre, axis=-1) / source_spread,
        "source_spread": tf.math.log(source_spread),
        "landing_spread": tf.math.log(landing_spread),
        "target_spread": tf.math.log(target_spread[1]),
    }
    displacement = tf.reshape(ends - starts, (batch, rows, columns, 2))
    for radius in _NEIGHBORHOODS:
        differing = _disagreement(displacement, radius)
        found[f"disagreement_{radius}"] = tf.reshape(differing, (batch, num_cells))
    for name in _AVERAGED:
        mean = tf.reduce_sum(weights * found[name], axis=-1, keepdims=True)
        found[f"mean_{name}"] = mean
    whole = [found[name] + tf.zeros_like(similarity) for name in NAMES]  # (batch, n) each
    stacked = tf.reshape(tf.stack(whole, axis=-1), (batch, rows, columns, len(NAMES)))
    return stacked if own is None else tf.concat([stacked, own], axis=-1)


class _Objects(NamedTuple):
    """Where objects are: logits `(batch, n)` at both ends of matches, shares of the target's."""

    at_starts: tf.Tensor
    at_ends: tf.Tensor
    target: tf.Tensor


def _objects(source, target, starts, ends) -> _Objects:
    at_starts, at_ends = (
        interpolate_bilinear(logits[..., tf.newaxis], places)[..., 0]
        for logits, places in ((source, starts), (target, ends))
    )
    logits = tf.reshape(target, (-1, math.prod(GRID)))
    return _Objects(at_starts, at_ends, tf.nn.softmax(tf.math.log_sigmoid(logits), axis=-1))


def _spread(places, weights):
    """Returns the weighted mean `(batch, 1, 2)` and deviation `(batch, 1)` of `(batch, n, 2)`."""
    mean = tf.reduce_sum(weights[..., tf.newaxis] * places, axis=1, keepdims=True)
    squares = tf.reduce_sum((places - mean) ** 2, axis=-1)  # (batch, n)
    variance = tf.reduce_sum(weights * squares, axis=1, keepdims=True)
    return mean, tf.sqrt(tf.maximum(variance, _SMALLEST))


class _View(NamedTuple):
    """What one end of the matches sees in the other image; `(batch, n)` each, `best` has a 2."""

    shortfall: tf.Tensor
    margin: tf.Tensor
    best: tf.Tensor
    share: tf.Tensor


def _seen_from(descriptors, cells, places, similarity) -> _View:
    """Compares `(batch, n, depth)` descriptors with all cells, those around `places` and others."""
    likeness = tf.matmul(descriptors, cells, transpose_b=True)  # (batch, n, cells)
    best = tf.reduce_max(likeness, axis=-1)
    near = _is_near(places)
    elsewhere = tf.reduce_max(tf.where(near, likeness.dtype.min, likeness), axis=-1)
    position = unravel(tf.argmax(likeness, axis=-1, output_type=tf.int32), GRID[1])
    weights = tf.exp((likeness - best[..., tf.newaxis]) / _TEMPERATURE)
    share = log_odds(tf.reduce_sum(tf.where(near, weights, 0), axis=-1), weights)
    return _View(best - similarity, similarity - elsewhere, position, share)


def log_odds(inside: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Returns the logarithm of what is inside over what is not.

    Args:
        inside: float tensor `(...)`: the sum of some of the weights.
        weights: float tensor `(..., n)`.
    """
    outside = tf.reduce_sum(weights, axis=-1) - inside
    return tf.math.log(tf.maximum(inside, _SMALLEST) / tf.maximum(outside, _SMALLEST))


def _is_near(places):
    """Returns bool `(batch, n, cells)`: which cells of the grid are the same place."""
    rows, columns = (tf.range(side, dtype=tf.float32) for side in GRID)
    down = (places[..., :1] - rows) ** 2  # (batch, n, rows)
    across = (places[..., 1:] - columns) ** 2
    near = down[..., tf.newaxis] + across[..., tf.newaxis, :] <= _SAME_PLACE**2
    shape = tf.shape(places)
    return tf.reshape(near, (shape[0], shape[1], math.prod(GRID)))


def _read(cells, places):
    grid = tf.reshape(cells, (-1, *GRID, tf.shape(cells)[-1]))
    return tf.math.l2_normalize(interpolate_bilinear(grid, places), axis=-1, epsilon=_SMALLEST**2)


def _disagreement(displacement, radius):
    """Returns `(batch, rows, columns)`: how much displacements around a cell differ, as a log."""
    # A window that covers the same share of the image on every grid.
    sides = [
        2 * tf.cast(tf.round(radius * tf.shape(displacement)[axis] / side), tf.int32) + 1
        for axis, side in enumerate(GRID, start=1)
    ]
    mean = _box_mean(displacement, sides)
    variance = tf.maximum(_box_mean(displacement**2, sides) - mean**2, 0)
    deviation = tf.sqrt(tf.reduce_sum(variance, axis=-1) + _SMALLEST)
    return tf.math.log1p(deviation + tf.norm(displacement - mean, axis=-1))


def _box_mean(maps, sides):
    """Averages maps over windows of odd sides; beyond the border there is nothing."""
    for axis, side in enumerate(sides, start=1):
        length = tf.shape(maps)[axis]
        index = tf.range(length)
        window = tf.abs(index[:, tf.newaxis] - index) <= side // 2  # (length, length)
        weights = tf.cast(window, maps.dtype)
        weights /= tf.reduce_sum(weights, axis=1, keepdims=True)
        maps = tf.einsum("ij,bjkc->bikc" if axis == 1 else "ij,bkjc->bkic", weights, maps)
    return maps


def positions_on_grid(positions: np.ndarray, target_size: tuple[int, int]) -> np.ndarray:
    """Turns positions `(..., 2)` of (y, x) in pixels of the target into cells of `GRID`."""
    return (positions + 0.5) * np.divide(GRID, target_size) - 0.5
