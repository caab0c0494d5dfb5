"""What a flow would gain if it went through a hub, and which hub gains most."""

import dataclasses

import numpy as np

from anchornet_tf.tasks.flow_web.cycles import CHUNK, aligned, for_each_image, hub_counts
from anchornet_tf.tasks.flow_web.web import NOWHERE, Web, pixel_numbers, pixel_places


@dataclasses.dataclass(frozen=True, eq=False)
class Gains:
    """The best hub of every pixel of the flows from one image to those after it.

    Args:
        targets: The images that flows go to.
        gain: float32 `(pixels, targets)`; -inf where no hub can be used.
        hub: int16 `(pixels, targets)`.
    """

    targets: np.ndarray
    gain: np.ndarray
    hub: np.ndarray


def best_hubs(
    web: Web,
    start: Web,
    positions: list[np.ndarray],
    hubs: list[np.ndarray],
    regularization: float,
    chunk: int = CHUNK,
) -> list[Gains]:
    """Finds for every pixel the hub that promises most.

    The promise of a hub is the number of 3-cycles that both legs of the way through it agree with.
    The gain is that over the 3-cycles of the present flow, as a share of all possible ones, less
    what the flow moves away from where it started.

    Args:
        web: The present flows.
        start: The flows at the beginning.
        positions: Of `consistent_positions` for the present flows.
        hubs: Of `hub_sets` for the present flows.
        regularization: float. Weight of the squared distance from the start.
        chunk: int. Numbers that are worked on at a time.

    Returns:
        For each image the gains of its flows to the linked images after it.
    """

    def work(image: int) -> Gains:
        own = web.links.neighbors[image]
        later = slice(int(np.searchsorted(own, image, side="right")), len(own))
        search = _HubSearch(web, start, image, later, regularization, chunk)
        if later.start < len(own):
            for column, hub in enumerate(own):
                if hub != image:
                    landing = pixel_numbers(positions[image][:-1, column], web.size)
                    search.try_hub(
                        int(hub),
                        landing,
                        hubs[image][:, :-1, column],
                        aligned(web, positions[hub], hub, image, NOWHERE),
                        aligned(web, hubs[hub], hub, image, 0),
                    )
        present = hub_counts(hubs[image][:, :-1, later]).astype(np.float32) * search.share
        present -= regularization * squared_moves(web, start, image, later)
        return Gains(own[later], search.best - present, search.hub)

    return for_each_image(work, len(web))


def squared_moves(web: Web, start: Web, image: int, columns=slice(None)) -> np.ndarray:
    """Returns how far flows have moved, squared and relative to the size: `(pixels, columns)`."""
    moves = web.flows[image][:, columns].astype(np.float32) - start.flows[image][:, columns]
    return ((moves / np.float32(web.size)) ** 2).sum(axis=-1)


class _HubSearch:
    """Keeps the best of the hubs that were tried for the flows of one image."""

    def __init__(self, web: Web, start: Web, image: int, later: slice, regularization, chunk):
        self._web = web
        self._later = later
        self._targets = web.links.neighbors[image][later]
        self._weight = np.float32(regularization)
        self._rows = max(1, chunk // len(web.links.neighbors[image]))
        # Where the flows landed at the beginning, (pixels, targets) of y and of x.
        begun = pixel_places(web.size)[:, np.newaxis] + start.flows[image][:, later]
        self._start_y, self._start_x = (begun[..., axis].astype(np.float32) for axis in (0, 1))
        possible = web.links.num_hubs[image][later]
        self.share = (1 / np.maximum(possible, 1)).astype(np.float32)
        shape = self._rows, len(web.links.neighbors[image])
        self._sets, self._places = np.empty(shape, np.uint64), np.empty(shape, np.uint32)
        self.best = np.full(begun.shape[:2], -np.inf, np.float32)
        self.hub = np.zeros(begun.shape[:2], np.int16)

    def try_hub(self, hub, landing, first_leg, hub_positions, hub_hubs) -> None:
        """Tries a hub for all pixels and targets.

        Args:
            hub: int.
            landing: `(pixels,)` where pixels land in the hub.
            first_leg: `(words, pixels)` the set of the flow to the hub.
            hub_positions: `(pixels + 1, neighbours)` where the hub's pixels land.
            hub_hubs: `(words, pixels + 1, neighbours)` their sets.
        """
        if not len(self._targets):
            return
        height, width = (np.float32(1 / side) for side in self._web.size)
        own_column = np.searchsorted(self._targets, hub)
        is_target = own_column < len(self._targets) and self._targets[own_column] == hub
        # Where the way to the hub itself does not come back, nothing is to be gained.
        rows = np.flatnonzero(landing < self._web.num_pixels)
        for top in range(0, len(rows), self._rows):
            part = rows[top : top + self._rows]
            there = landing[part]
            gain = np.zeros((len(part), len(self._targets)), np.float32)
            for word, sets in enumerate(hub_hubs):
                both = np.take(sets, there, axis=0, mode="clip", out=self._sets[: len(part)])
                both = both[:, self._later]
                both &= first_leg[word, part, np.newaxis]
                gain += np.bitwise_count(both)
            gain *= self.share
            places = np.take(
                hub_positions, there, axis=0, mode="clip", out=self._places[: len(part)]
            )[:, self._later]
            down = np.take(self._start_y, part, axis=0, mode="clip")
            across = np.take(self._start_x, part, axis=0, mode="clip")
            # Explicitly: NumPy would subtract integers from float32 in float64.
            down -= (places >> np.uint32(16)).astype(np.float32)
            across -= (places & np.uint32(0xFFFF)).astype(np.float32)
            down *= height
            across *= width
            down *= down
            across *= across
            down += across
            down *= self._weight
            gain -= down
            np.copyto(gain, -np.inf, where=places == NOWHERE)
            if is_target:
                gain[:, own_column] = -np.inf
            best = np.take(self.best, part, axis=0, mode="clip")
            better = gain > best
            np.copyto(best, gain, where=better)
            self.best[part] = best
            chosen = np.take(self.hub, part, axis=0, mode="clip")
            np.copyto(chosen, np.int16(hub), where=better)
            self.hub[part] = chosen
