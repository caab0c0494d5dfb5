"""The constants of FlowWeb, as its published program sets them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class FlowWebSettings:
    """How flows are made consistent.

    Args:
        tolerance: How far a cycle may end from its start along each axis, as a share of the longer
            side.
        proposal_rate: The share of each flow's pixels that may be proposed to go through a hub.
        update_rate: The share of the proposals that is carried out.
        iterations: The most iterations.
        least_gain: The relative gain of the objective below which the iterations end.
        spatial_scale: Of the filter inside images, as a share of the longer side.
        cycle_scale: Of the filter inside images, as a share of the 3-cycles.
        filter_rate: The share of each flow's pixels that the filter replaces.
        regularization: Weight of the squared distance from the flows at the beginning.
        noise: Standard deviation of the noise that breaks ties.
        seed: Of that noise.

    Raises:
        ValueError: If a value is out of its range.
    """

    tolerance: float = 0.05
    proposal_rate: float = 0.4
    update_rate: float = 0.2
    iterations: int = 10
    least_gain: float = 0.03
    spatial_scale: float = 0.05
    cycle_scale: float = 0.05
    filter_rate: float = 0.25
    regularization: float = 0.01
    noise: float = 1e-6
    seed: int = 0

    def __post_init__(self):
        for name in ("proposal_rate", "update_rate", "filter_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"`{name}` must be from 0 to 1. Received: {getattr(self, name)}")
        for name in ("spatial_scale", "cycle_scale"):
            if not getattr(self, name) > 0:
                raise ValueError(f"`{name}` must be positive. Received: {getattr(self, name)}")
        for name in ("tolerance", "iterations", "regularization", "noise", "seed"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"`{name}` must not be negative. Received: {getattr(self, name)}")
