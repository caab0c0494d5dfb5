"""FlowWeb's iterations: flows go through hubs, then follow their neighbours."""

import dataclasses
from collections.abc import Callable

import numpy as np

from anchornet_tf.tasks.flow_web import cycles
from anchornet_tf.tasks.flow_web.priority import best_hubs, squared_moves
from anchornet_tf.tasks.flow_web.settings import FlowWebSettings
from anchornet_tf.tasks.flow_web.smoothing import follow_neighbors
from anchornet_tf.tasks.flow_web.update import send_through_hubs
from anchornet_tf.tasks.flow_web.web import Web


@dataclasses.dataclass(frozen=True, eq=False)
class Consistent:
    """Flows after some iterations.

    Args:
        web: The flows.
        objective: The objective before the first iteration and after each; the mean share of
            3-cycles that agree, less what the flows have moved.
        agreement: For each image uint8 or uint16 `(pixels, neighbours)`, the 3-cycles that agree.
            None in the middle of the iterations.
    """

    web: Web
    objective: tuple[float, ...]
    agreement: list[np.ndarray] | None = None


def make_consistent(
    start: Web,
    settings: FlowWebSettings | None = None,
    after_iteration: Callable[[Consistent], object] | None = None,
    so_far: Consistent | None = None,
) -> Consistent:
    """Makes flows agree with each other.

    Args:
        start: The flows to start from; they are not changed.
        settings: The constants; None for those of the published program.
        after_iteration: Called with what is known after each iteration. Its flows go on changing:
            they are to be written down at once, or copied.
        so_far: What an earlier call knew after an iteration, to go on from there. The result is
            that of a call that was not interrupted. Its flows are changed.

    Returns:
        The flows, which are as the last iteration left them.
    """
    settings = settings or FlowWebSettings()
    so_far = so_far or Consistent(start.copy(), ())
    web, objective = so_far.web, list(so_far.objective)
    longest = max(start.size)
    tolerance = settings.tolerance * longest
    while True:
        positions = cycles.consistent_positions(web, tolerance)
        hubs = cycles.hub_sets(web, positions, tolerance)
        objective.append(objective_of(web, start, hubs, settings.regularization))
        if _is_done(objective, settings):
            agreement = [cycles.hub_counts(own)[:-1] for own in hubs]
            return Consistent(web, tuple(objective), agreement)
        gains = best_hubs(web, start, positions, hubs, settings.regularization)
        # Random numbers depend on the iteration alone, so that a run can be resumed.
        generator = np.random.default_rng([settings.seed, len(objective)])
        send_through_hubs(
            web, gains, settings.proposal_rate, settings.update_rate, settings.noise, generator
        )
        del gains, hubs, positions
        hubs = cycles.hub_sets(web, cycles.consistent_positions(web, tolerance), tolerance)
        follow_neighbors(
            web, hubs, settings.spatial_scale * longest, settings.cycle_scale, settings.filter_rate
        )
        del hubs
        if after_iteration is not None:
            after_iteration(Consistent(web, tuple(objective)))


def objective_of(web: Web, start: Web, hubs: list[np.ndarray], regularization: float) -> float:
    """Returns what FlowWeb maximises.

    It is the mean over pairs and pixels of the share of 3-cycles that agree, less the mean squared
    distance of the flows from those at the beginning.
    """

    def work(image: int) -> tuple[float, float, int]:
        counts = cycles.hub_counts(hubs[image])[:-1].sum(axis=0, dtype=np.int64)
        shares = counts / np.maximum(web.links.num_hubs[image], 1)
        moved = squared_moves(web, start, image).sum(dtype=np.float64)
        return shares.sum(), moved, len(shares) - 1

    shares, moves, pairs = np.sum(cycles.for_each_image(work, len(web)), axis=0)
    return float((shares - regularization * moves) / (pairs * web.num_pixels))


def _is_done(objective: list[float], settings: FlowWebSettings) -> bool:
    """Whether the last iteration gained too little, or was the last one allowed."""
    if len(objective) > settings.iterations:
        return True
    if len(objective) < 2:
        return False
    before, now = objective[-2:]
    return now - before < settings.least_gain * abs(before)
