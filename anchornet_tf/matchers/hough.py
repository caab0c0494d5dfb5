"""Dense Hough matching: cells vote for the displacement of the object and of their neighbourhood.

Proposal Flow's probabilistic Hough matching weighs the likeness of two boxes by how many other
pairs agree with their offset. Here the cells of a regular grid take the place of the boxes, which
makes it a few matrix operations. Parts move on their own, too: a second vote, that of the cells
nearby, says how much.

Some cells are like everything, and would vote for every offset. So each cell gets one vote to hand
out, and one to receive: likeness is turned into a transport plan between the images first, as Liu
et al. (2020) do for the boxes' votes.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.cells import (
    cells_of,
    check_same_depth,
    flow_from_cells,
    grid_pair,
    same_place,
    unit_cells,
    unravel,
)
from anchornet_tf.matchers.evidence import log_odds
from anchornet_tf.matchers.flow import Flow

# The read-out averages positions around the best cell, weighted by their confidence relative to it,
# raised to this power: enough for fractions of a cell, too little to blur two parts into one.
_READOUT_RADIUS = 2
_READOUT_POWER = 4
# How often both sides of the transport plan are evened out; twenty times gives the same PCK.
_ROUNDS = 5
# Places within so many cells are the same, closely or widely seen.
_SAME_PLACE = (1.5, 3.0)
_SMALLEST = 1e-6
# Colder, and the likeness of the most different cells would be too small for float32.
_COLDEST = 0.02
# What the votes tell about a match beside their sum, see `anchornet_tf.matchers.evidence`.
EVIDENCE = ("vote_share", "wide_vote_share", "rival_votes", "vote_return_distance", "vote_lead")


class HoughMatcher:
    """Matches cells by appearance, weighted by a vote over displacements.

    Args:
        grid_size: int or `(height, width)`: cells that both maps are resampled to.
        power: float. The likeness of a pair is `relu(cosine) ** power`; the higher, the less many
            poor matches count against a few good ones.
        smoothing: float. Standard deviation in cells of the Gaussian that smooths the votes; 0
            for none.
        scales: Relative sizes of the object in the target that votes are counted for, about the
            image centre. A match takes the vote of the scale that suits it best.
        neighborhood: float. Standard deviation in cells of the Gaussian that weighs the cells
            around a cell in their own vote.
        locality: float. Power of the neighbourhood's vote beside that of the whole image; 0 for
            the whole image's alone.
        temperature: float. Each cell shares out one vote among the cells that it is like, and each
            receives one; the lower, the fewer they are. 0 to let every pair vote with its likeness.
            Otherwise the power only says how much the most similar pair of two images is worth.

    Raises:
        ValueError: If an argument is out of range.
    """

    name = "hough"
    # The images' sizes are all that it needs of them, see `Matcher`.
    on_grid = True

    def __init__(
        self,
        grid_size: int | tuple[int, int] = 28,
        power: float = 3.0,
        smoothing: float = 1.0,
        scales: tuple[float, ...] = (1.0,),
        neighborhood: float = 5.0,
        locality: float = 3.0,
        temperature: float = 0.15,
    ):
        self.grid_size = grid_pair(grid_size)
        if not power > 0:
            raise ValueError(f"`power` must be positive. Received: power={power}")
        if not smoothing >= 0:
            raise ValueError(f"`smoothing` must not be negative. Received: smoothing={smoothing}")
        if not scales or min(scales) <= 0:
            raise ValueError(f"`scales` must be positive numbers. Received: scales={scales}")
        if not neighborhood > 0:
            raise ValueError(
                f"`neighborhood` must be positive. Received: neighborhood={neighborhood}"
            )
        if not locality >= 0:
            raise ValueError(f"`locality` must not be negative. Received: locality={locality}")
        if not (temperature == 0 or _COLDEST <= temperature < math.inf):
            raise ValueError(
                f"`temperature` must be 0 or at least {_COLDEST}. "
                f"Received: temperature={temperature}"
            )
        self.power = float(power)
        self.smoothing = float(smoothing)
        self.scales = tuple(float(scale) for scale in scales)
        self.neighborhood = float(neighborhood)
        self.locality = float(locality)
        self.temperature = float(temperature)

    def options(self) -> dict:
        """Returns the arguments of `hough_cells`."""
        return dict(vars(self))

    def __call__(self, source: FeatureMap, target: FeatureMap, **_) -> Flow:
        """Returns the flow; its confidence is the mean of similarity and votes, from 0 to 1.

        Raises:
            ValueError: If the maps differ in depth.
        """
        return self.match_batch([source], [target])[0]

    def match_batch(
        self, sources: Sequence[FeatureMap], targets: Sequence[FeatureMap]
    ) -> list[Flow]:
        """Matches several pairs at once; maps of one side must have one grid.

        Raises:
            ValueError: If the maps differ in depth.
        """
        for source, target in zip(sources, targets, strict=True):
            check_same_depth(source, target)
        units = [tf.concat(cells_of(maps, self.grid_size), axis=0) for maps in (sources, targets)]
        positions, confidence, evidence = hough_of_units(*units, **self.options())
        flows = [
            flow_from_cells(
                found, self.grid_size, source.image_size, target.image_size, confidence=sure
            )
            for found, sure, source, target in zip(
                positions.numpy(), confidence.numpy(), sources, targets, strict=True
            )
        ]
        for flow, known in zip(flows, evidence.numpy(), strict=True):
            flow.evidence = known
        return flows


@tf.function(reduce_retracing=True, autograph=False)
def hough_cells(
    source: tf.Tensor,
    target: tf.Tensor,
    grid_size: tuple[int, int] = (28, 28),
    power: float = 3.0,
    smoothing: float = 1.0,
    scales: tuple[float, ...] = (1.0,),
    neighborhood: float = 5.0,
    locality: float = 3.0,
    temperature: float = 0.15,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Matches batches of maps; see `HoughMatcher` for the options.

    Cells without any likeness (a constant image) match the same place with confidence zero.

    Args:
        source: float tensor `(batch, height, width, depth)`; any of the sizes may be unknown.
        target: float tensor `(batch, target height, target width, depth)`.
        grid_size: `(height, width)` of both grids in cells.
        power: float.
        smoothing: float.
        scales: tuple of float.
        neighborhood: float.
        locality: float.
        temperature: float.

    Returns:
        `positions` `(batch, *grid_size, 2)`: (row, column) in cells of the target's grid;
        `confidence` `(batch, *grid_size)`, the geometric mean of similarity and votes; and
        `evidence` `(batch, *grid_size, len(EVIDENCE))`, what else speaks for the match.
    """
    source, target = unit_cells(source, grid_size), unit_cells(target, grid_size)
    return hough_of_units(
        source, target, grid_size, power, smoothing, scales, neighborhood, locality, temperature
    )


@tf.function(reduce_retracing=True, autograph=False)
def hough_of_units(
    source: tf.Tensor,
    target: tf.Tensor,
    grid_size: tuple[int, int],
    power: float,
    smoothing: float,
    scales: tuple[float, ...],
    neighborhood: float,
    locality: float,
    temperature: float,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Does what `hough_cells` does, for maps that are unit vectors on the grid already.

    Args:
        source: float tensor `(batch, cells, depth)`, of `unit_cells`.
        target: float tensor `(batch, cells, depth)`.
        grid_size: As in `hough_cells`, and so are the others.
        power: As there.
        smoothing: As there.
        scales: As there.
        neighborhood: As there.
        locality: As there.
        temperature: As there.

    Returns:
        As `hough_cells`.
    """
    height, width = grid_size
    cosine = tf.nn.relu(tf.matmul(source, target, transpose_b=True))
    if temperature == 0:
        similarity = _power(cosine, power)  # (batch, n, n)
    else:
        plan = _transport_plan(cosine, temperature)
        level = _power(tf.reduce_max(cosine, axis=(1, 2), keepdims=True), power)
        largest = tf.reduce_max(plan, axis=(1, 2), keepdims=True)
        similarity = plan * tf.math.divide_no_nan(level, largest)
    votes = [
        _votes(similarity, grid_size, scale, smoothing, neighborhood, locality) for scale in scales
    ]
    confidence = similarity * tf.reduce_max(tf.stack(votes), axis=0)
    best = tf.argmax(confidence, axis=-1, output_type=tf.int32)  # (batch, n)
    peak = tf.gather(confidence, best, batch_dims=2)
    positions = unravel(best, width) + _readout(confidence, best, peak, grid_size)
    unmoved = same_place(tf.constant(grid_size), tf.constant(grid_size))
    positions = tf.where(peak[..., tf.newaxis] > 0, positions, unmoved)
    mean = peak ** (1 / (2 + locality))
    evidence = _evidence(confidence, best, peak, grid_size)
    return (
        tf.reshape(positions, (-1, height, width, 2)),
        tf.reshape(mean, (-1, height, width)),
        tf.reshape(evidence, (-1, height, width, len(EVIDENCE))),
    )


def _transport_plan(cosine, temperature):
    """Returns `(batch, n, n)`: how the cells of one side share out their votes among the other's.

    Sinkhorn's iterations: rows and columns are scaled in turn until each adds up to one. Pairs
    without any likeness get nothing.
    """
    kernel = tf.exp((cosine - 1) / temperature)
    columns = tf.ones_like(kernel[:, 0])
    for _ in range(_ROUNDS):
        rows = 1 / tf.linalg.matvec(kernel, columns)
        columns = 1 / tf.linalg.matvec(kernel, rows, transpose_a=True)
    plan = rows[:, :, tf.newaxis] * kernel * columns[:, tf.newaxis]
    return tf.where(cosine > 0, plan, 0.0)


def _evidence(confidence, best, peak, grid_size):
    """Returns `(batch, n, len(EVIDENCE))`: how the best match stands out, and whether it is mutual.

    Likeness alone cannot tell this: here it is weighted by the votes.
    """
    height, width = grid_size
    places = np.stack(np.mgrid[:height, :width], axis=-1).reshape(-1, 2)
    distances = np.linalg.norm(places[:, np.newaxis] - places, axis=-1)  # (n, n)
    relative = tf.math.divide_no_nan(confidence, peak[..., tf.newaxis])
    # Bytes: TensorFlow writes a constant of Booleans into the graph one by one.
    alike = [(distances <= radius).astype(np.uint8) for radius in _SAME_PLACE]
    near, wide = (tf.gather(tf.cast(mask, tf.bool), best) for mask in alike)  # (batch, n, n)
    closely = log_odds(tf.reduce_sum(tf.where(near, relative, 0.0), axis=-1), relative)
    sharp = _power(relative, 3)
    widely = log_odds(tf.reduce_sum(tf.where(wide, sharp, 0.0), axis=-1), sharp)
    rival = tf.reduce_max(tf.where(wide, 0.0, relative), axis=-1)
    backward = tf.argmax(confidence, axis=-2, output_type=tf.int32)  # (batch, n)
    back_peak = tf.reduce_max(confidence, axis=-2)
    home = tf.gather(backward, best, batch_dims=1)
    away = tf.norm(unravel(home, width) - tf.constant(places, tf.float32), axis=-1)
    known = tf.gather(back_peak, best, batch_dims=1)
    lead = tf.math.log(tf.math.divide_no_nan(peak, known) + _SMALLEST)
    return tf.stack([closely, widely, rival, tf.math.log1p(away), lead], axis=-1)


def _votes(similarity, grid_size, scale, smoothing, neighborhood, locality):
    """Returns the votes for each pair's offset: `(batch, n, n)`, at most 1.

    Votes are smoothed over offsets and over the cells around a cell, both by products of a part for
    rows and a part for columns. So it is done for all rows first, and then for all columns.
    """
    height, width = grid_size
    num_pairs = (height * height, width * width)
    pairs = tf.reshape(similarity, (-1, height, width, height, width))
    pairs = tf.transpose(pairs, (0, 1, 3, 2, 4))  # (batch, rows of both, columns of both)
    rows, columns = (_axis_votes(side, scale, smoothing, neighborhood) for side in grid_size)
    table = rows.by_offset(tf.reshape(pairs, (-1, height, height, num_pairs[1])))
    # What all cells say, of offsets of both axes: (batch, row offsets, column offsets).
    everywhere = tf.reshape(tf.reduce_mean(table, axis=1), (-1, rows.count, width, width))
    everywhere = tf.einsum("boct,cpt->bop", everywhere, columns.smooth_shift) / width
    votes = tf.gather(everywhere, rows.offsets, axis=1)  # (batch, rows of both, column offsets)
    votes = tf.gather(tf.transpose(votes, (0, 2, 1)), columns.offsets, axis=1)
    if locality > 0:
        nearby = tf.transpose(rows.nearby(table), (0, 2, 1))  # (batch, columns, rows of both)
        nearby = tf.reshape(nearby, (-1, width, width, num_pairs[0]))
        nearby = columns.nearby(columns.by_offset(nearby))
        votes *= _power(nearby, locality)
    votes = tf.reshape(votes, (-1, width, width, height, height))
    return tf.reshape(tf.transpose(votes, (0, 3, 1, 4, 2)), tf.shape(similarity))


class _AxisVotes(NamedTuple):
    """How pairs of positions along one axis vote for their offset.

    Attributes:
        count: int. Offsets that there are.
        smooth_shift: `(side, count, side)`: what a pair of a position (first) with another (last)
            gives to each offset, smoothed.
        around: `(side, side)`: how much the pairs of one position count for another.
        offsets: int `(side * side,)`: the offset of each pair.
        places: int `(side * side,)`: the place of each pair in a table of positions by offsets.
    """

    count: int
    smooth_shift: np.ndarray
    around: np.ndarray
    offsets: np.ndarray
    places: np.ndarray

    def by_offset(self, pairs):
        """Moves values `(batch, side, side, rest)` to their offsets: `(batch, side, count, rest)`.

        A matrix product smooths on the way; scattering them alone would take longer.
        """
        return tf.matmul(self.smooth_shift, pairs)

    def nearby(self, table):
        """Sums `(batch, side, count, rest)` around each position: `(batch, side * side, rest)`."""
        side, rest = len(self.around), tf.shape(table)[-1]
        blurred = tf.matmul(self.around, tf.reshape(table, (-1, side, self.count * rest)))
        return tf.gather(tf.reshape(blurred, (-1, side * self.count, rest)), self.places, axis=1)


@functools.lru_cache(maxsize=64)
def _axis_votes(side, scale, smoothing, neighborhood) -> _AxisVotes:
    centered = np.arange(side) - (side - 1) / 2
    # The displacement that remains when a position, scaled about the centre, moves to another.
    offsets = np.floor(centered - scale * centered[:, np.newaxis] + 0.5).astype(np.int32)
    offsets -= offsets.min()
    count = int(offsets.max()) + 1
    distances = np.arange(count)[:, np.newaxis] - offsets[:, np.newaxis]  # (side, count, side)
    around = np.subtract.outer(np.arange(side), np.arange(side))
    places = np.arange(side)[:, np.newaxis] * count + offsets
    return _AxisVotes(
        count,
        _gaussian(distances, smoothing),
        _gaussian(around, neighborhood),
        offsets.reshape(-1),
        places.reshape(-1),
    )


def _gaussian(distances, deviation):
    """Returns weights of distances; beyond the border of the image there is nothing."""
    if deviation == 0:
        return (distances == 0).astype(np.float32)
    radius = math.ceil(3 * deviation)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / deviation) ** 2)
    weights = np.exp(-0.5 * (distances / deviation) ** 2) * (np.abs(distances) <= radius)
    return (weights / kernel.sum()).astype(np.float32)


def _power(values, exponent):
    """Returns `values ** exponent`; a few products are much faster than a general power."""
    if exponent in (1, 2, 3, 4):
        return math.prod([values] * int(exponent))
    return values**exponent


def _readout(confidence, best, peak, grid_size):
    """Returns `(batch, n, 2)` offsets in cells: the mean position in a window about the best."""
    height, width = grid_size
    radius = _READOUT_RADIUS
    num_cells = height * width
    maps = tf.reshape(confidence, (-1, num_cells, height, width))
    maps = tf.pad(maps, [[0, 0], [0, 0], [radius, radius], [radius, radius]])
    padded_width = width + 2 * radius
    window = np.stack(np.mgrid[-radius : radius + 1, -radius : radius + 1], -1).reshape(-1, 2)
    steps = tf.constant(window @ [padded_width, 1], tf.int32)  # (window,)
    center = (best // width + radius) * padded_width + best % width + radius
    maps = tf.reshape(maps, (-1, num_cells, (height + 2 * radius) * padded_width))
    values = tf.gather(maps, center[..., tf.newaxis] + steps, batch_dims=2)  # (batch, n, window)
    weights = _power(tf.math.divide_no_nan(values, peak[..., tf.newaxis]), _READOUT_POWER)
    mean = tf.einsum("bnw,wc->bnc", weights, tf.constant(window, confidence.dtype))
    return tf.math.divide_no_nan(mean, tf.reduce_sum(weights, axis=-1, keepdims=True))
