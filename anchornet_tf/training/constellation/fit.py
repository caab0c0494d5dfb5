"""Chooses part-like channels: those whose locations follow the object (Simon and Rodner, 2015).

Of every image i the location mu_ip of every channel p is given. Unknown are the aspect s_i of the
image, its anchor a_i, which parts h_i it shows, and for each aspect v the channels b_v that are its
parts with their shifts d_vp. They are to minimise the sum over images and visible parts of

    || mu_ip - a_i - d_vp ||^2

by alternation: an expectation-maximisation with hard decisions, whose mixture components are the
aspects.
"""

import dataclasses

import numpy as np

# What a part that should be visible but is nowhere costs: the squared side of an image, more than
# any location that has to do with the object.
_ABSENT = 1.0


@dataclasses.dataclass(frozen=True, eq=False)
class Constellation:
    """What was found.

    Attributes:
        parts: int `(aspects, parts)`: the channels of each aspect, those most often visible first.
        shifts: float `(aspects, parts, 2)`, with mean zero over the parts of an aspect.
        variances: float `(aspects, parts)`: mean square distance of visible parts from their
            places, per axis.
        visibility: float `(aspects, parts)`: share of the aspect's images that show the part.
        weights: float `(aspects,)`: share of the images.
        aspect: int `(images,)`: the aspect of each image.
        anchors: float `(images, 2)`.
        visible: bool `(images, parts)`: which parts of its aspect an image shows.
        objective: float. The sum above.
    """

    parts: np.ndarray
    shifts: np.ndarray
    variances: np.ndarray
    visibility: np.ndarray
    weights: np.ndarray
    aspect: np.ndarray
    anchors: np.ndarray
    visible: np.ndarray
    objective: float


def fit_constellation(
    locations: np.ndarray,
    present: np.ndarray,
    *,
    aspects: int = 10,
    parts: int = 10,
    visible: int = 5,
    separation: float = 0.0,
    rounds: int = 15,
    restarts: int = 5,
    variant: str = "formula",
    seed: int = 0,
) -> Constellation:
    """Finds the aspects of a class and the channels that are their parts.

    Args:
        locations: float `(images, channels, 2)`: (y, x) as shares of the image's sides.
        present: bool `(images, channels)`: whether the channel responds at all.
        aspects: int. Most aspects; those that no image has are left out of the result.
        parts: int. Channels per aspect.
        visible: int. Parts that each image shows.
        separation: float. Least distance between the parts of an aspect, as a share of the
            image's sides; 0 for none, as in the paper. Not used by the published variant.
        rounds: int. Most rounds of the alternation.
        restarts: int. Random starts, of which the best is kept.
        variant: `"formula"` for the problem as it is stated above. `"published"` for what the
            authors' program does: anchors and shifts are means over all channels and images,
            whatever their aspect, so that aspects differ in their channels alone.
        seed: int.

    Raises:
        ValueError: If the arrays do not go together, or have too few channels or images.

    Example:

    ```python
    import numpy as np
    from anchornet_tf.training.constellation.fit import fit_constellation

    rng = np.random.default_rng(0)
    locations = rng.uniform(size=(20, 12, 2))
    # Channels 0 to 3 follow the object, the others do not.
    locations[:, :4] = rng.uniform(0.3, 0.7, (20, 1, 2)) + rng.uniform(-0.2, 0.2, (4, 2))
    found = fit_constellation(locations, np.ones((20, 12), bool), aspects=1, parts=4, visible=3)
    assert set(found.parts[0]) == {0, 1, 2, 3}
    ```
    """
    locations, present = np.asarray(locations, np.float64), np.asarray(present, bool)
    _check(locations, present, parts, visible, variant)
    locations = np.where(present[..., np.newaxis], locations, 0.0)
    step = _Formula if variant == "formula" else _Published
    best = None
    for restart in range(restarts):
        rng = np.random.default_rng((seed, restart))
        state = step(
            locations, present, min(aspects, len(locations)), parts, visible, separation, rng
        )
        for _ in range(rounds):
            before = state.chosen.copy()
            state.maximise()
            state.expect()
            if (before == state.chosen).all():
                break
        if best is None or state.objective < best.objective:
            best = state
    return best.result()


def _check(locations, present, parts, visible, variant) -> None:
    if locations.ndim != 3 or locations.shape[2] != 2 or present.shape != locations.shape[:2]:
        raise ValueError(
            "Expected locations (images, channels, 2) and present (images, channels). "
            f"Received: {locations.shape} and {present.shape}"
        )
    if not np.isfinite(locations[present]).all():
        raise ValueError("Expected finite locations. Received: NaN or infinity")
    if len(locations) < 2:
        raise ValueError(
            f"Expected at least 2 images, since parts recur. Received: {len(locations)}"
        )
    if not 2 <= visible <= parts:
        raise ValueError(
            "Expected at least 2 visible parts, at most as many as there are parts. "
            f"Received: visible={visible}, parts={parts}"
        )
    usable = int(present.any(axis=0).sum())
    if usable < parts:
        raise ValueError(
            f"Expected at least {parts} channels that respond to images of the class, one for each "
            f"part. Received: {usable}"
        )
    if variant not in ("formula", "published"):
        raise ValueError(f"`variant` must be formula or published. Received: {variant!r}")


class _Alternation:
    """The unknowns, from a random start."""

    def __init__(self, locations, present, aspects, parts, visible, separation, rng):
        self.locations, self.present, self.separation = locations, present, separation
        self.num_parts, self.num_visible = parts, visible
        # Each aspect gets an equal share of the images: none is empty to begin with.
        self.aspect = rng.permutation(len(locations)) % aspects
        usable = np.flatnonzero(present.any(axis=0))
        self.chosen = np.sort(
            np.stack([rng.choice(usable, parts, replace=False) for _ in range(aspects)])
        )
        own = self.chosen[self.aspect]  # (images, parts)
        there = np.take_along_axis(present, own, axis=1)[..., np.newaxis]
        places = np.take_along_axis(locations, own[..., np.newaxis], axis=1)
        total = np.where(there, places, 0).sum(axis=1)
        self.anchors = np.where(
            there.any(axis=1), total / np.maximum(there.sum(axis=1), 1), 0.5
        )  # (images, 2)
        self.visible = there[..., 0]
        self.shifts = np.zeros((aspects, parts, 2))
        self.costs = np.full((len(locations), parts), _ABSENT)

    @property
    def objective(self) -> float:
        return float(self.costs[self.visible].sum() + _ABSENT * self._missing().sum())

    def _missing(self) -> np.ndarray:
        """Returns how many parts each image lacks."""
        return np.maximum(self.num_visible - self.visible.sum(axis=1), 0)

    def result(self) -> Constellation:
        """Returns what was found, without empty aspects, and parts by visibility."""
        kept = np.flatnonzero(np.bincount(self.aspect, minlength=len(self.chosen)))
        order = np.stack(
            [
                np.argsort(-self.visible[self.aspect == number].sum(axis=0), kind="stable")
                for number in kept
            ]
        )
        names = np.searchsorted(kept, self.aspect)
        visible = np.take_along_axis(self.visible, order[names], axis=1)
        costs = np.where(visible, np.take_along_axis(self.costs, order[names], axis=1), 0)
        members = names == np.arange(len(kept))[:, np.newaxis]  # (aspects, images)
        count = members.sum(axis=1)
        seen = members.astype(float) @ visible
        shifts = np.take_along_axis(self.shifts[kept], order[..., np.newaxis], axis=1)
        # What all shifts of an aspect have in common is part of the anchor.
        common = shifts.mean(axis=1, keepdims=True)
        return Constellation(
            parts=np.take_along_axis(self.chosen[kept], order, axis=1),
            shifts=shifts - common,
            # Two axes share the square distance.
            variances=(members.astype(float) @ costs) / np.maximum(seen, 1) / 2,
            visibility=seen / count[:, np.newaxis],
            weights=count / len(names),
            aspect=names,
            anchors=self.anchors + common[names, 0],
            visible=visible,
            objective=self.objective,
        )

    def _take(self, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decides which parts are visible: the best of those that are there.

        Args:
            costs: `(..., parts)`, `_ABSENT` or more for those that are not.

        Returns:
            bool `(..., parts)` and the cost of the image, `(...)`.
        """
        ranks = np.argsort(np.argsort(costs, axis=-1, kind="stable"), axis=-1)
        visible = (ranks < self.num_visible) & (costs < _ABSENT)
        lacking = self.num_visible - visible.sum(axis=-1)
        return visible, np.where(visible, costs, 0).sum(axis=-1) + _ABSENT * lacking


class _Formula(_Alternation):
    """The updates that follow from the problem."""

    def maximise(self) -> None:
        """Given aspects and anchors, finds shifts and parts of each aspect."""
        for number in range(len(self.chosen)):
            rows = np.flatnonzero(self.aspect == number)
            if not len(rows):
                continue
            there = self.present[rows]  # (n, channels)
            offsets = self.locations[rows] - self.anchors[rows, np.newaxis]  # (n, channels, 2)
            # A part is visible in a share of the images: what a channel does in the others does
            # not count. The median is where a channel mostly is; the mean follows from its best.
            kept = max(-(-len(rows) * self.num_visible // self.num_parts), min(2, len(rows)))
            middle = _medians(offsets, there)
            distances = np.where(there, np.square(offsets - middle).sum(axis=-1), np.inf)
            best = np.argsort(distances, axis=0, kind="stable")[:kept]
            known = np.take_along_axis(there, best, axis=0)[..., np.newaxis]
            own = np.where(known, np.take_along_axis(offsets, best[..., np.newaxis], axis=0), 0)
            shifts = own.sum(axis=0) / np.maximum(known.sum(axis=0), 1)  # (channels, 2)
            squares = np.where(there, np.square(offsets - shifts).sum(axis=-1), _ABSENT)
            errors = np.sort(squares, axis=0)[:kept].mean(axis=0)
            chosen = np.sort(self._apart(np.argsort(errors, kind="stable"), shifts))
            self.chosen[number] = chosen
            self.shifts[number] = shifts[chosen]

    def _apart(self, order: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """Takes the first channels of an order whose places are apart from each other.

        Channels that respond to the same thing are always in one place, wherever it is: for the
        formula they are perfect parts. Where too few are apart, the next best follow.
        """
        taken: list[int] = []
        for channel in order:
            distances = np.square(shifts[taken] - shifts[channel]).sum(axis=-1)
            if (distances >= self.separation**2).all():
                taken.append(channel)
            if len(taken) == self.num_parts:
                break
        rest = order[~np.isin(order, taken)]
        return np.concatenate([taken, rest[: self.num_parts - len(taken)]]).astype(int)

    def expect(self) -> None:
        """Given the aspects, finds each image's own, its anchor and its visible parts."""
        places = self.locations[:, self.chosen] - self.shifts  # (images, aspects, parts, 2)
        there = self.present[:, self.chosen]  # (images, aspects, parts)
        # Each part tells where the anchor would be. Start from where most agree, then take those
        # that agree best, and their mean.
        distances = np.square(places[:, :, :, np.newaxis] - places[:, :, np.newaxis]).sum(axis=-1)
        distances[~there[..., np.newaxis] | ~there[..., np.newaxis, :]] = _ABSENT
        nearest = np.sort(distances, axis=-1)[..., : self.num_visible].sum(axis=-1)
        center = np.argmin(nearest, axis=-1)[..., np.newaxis, np.newaxis]
        anchors = np.take_along_axis(places, center, axis=2)[:, :, 0]
        anchors = np.where(there.any(axis=-1, keepdims=True), anchors, 0.5)
        for _ in range(2):
            visible, _ = self._take(_costs(places, anchors, there))
            shown = visible[..., np.newaxis]
            mean = np.where(shown, places, 0).sum(axis=2) / np.maximum(shown.sum(axis=2), 1)
            anchors = np.where(visible.any(axis=-1, keepdims=True), mean, anchors)
        costs = _costs(places, anchors, there)
        visible, total = self._take(costs)
        self.aspect = np.argmin(total, axis=1)
        rows = np.arange(len(places))
        self.anchors, self.visible, self.costs = (
            each[rows, self.aspect] for each in (anchors, visible, costs)
        )


def _medians(offsets: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Returns the median offset of each channel where it responds, `(channels, 2)`; else zero."""
    known = np.where(there[..., np.newaxis], offsets, np.nan)
    known[:, ~there.any(axis=0)] = 0.0
    return np.nanmedian(known, axis=0)


def _costs(places: np.ndarray, anchors: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Returns what each part of each aspect would cost in each image, `(images, aspects, parts)`.

    Args:
        places: where each part says that the anchor is.
        anchors: where it is, `(images, aspects, 2)`.
        there: bool, whether the channel responds.
    """
    squares = np.square(places - anchors[:, :, np.newaxis]).sum(axis=-1)
    return np.where(there, np.minimum(squares, _ABSENT), _ABSENT)


class _Published(_Alternation):
    """The updates of the authors' program."""

    def maximise(self) -> None:
        """Finds shifts and anchors from all channels, and the parts of each aspect."""
        there = self.present[..., np.newaxis]
        offsets = np.where(there, self.locations - self.anchors[:, np.newaxis], 0)
        shifts = offsets.sum(axis=0) / np.maximum(there.sum(axis=0), 1)  # (channels, 2)
        places = np.where(there, self.locations - shifts, 0)
        self.anchors = places.sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        squares = np.square(self.locations - self.anchors[:, np.newaxis] - shifts).sum(axis=-1)
        # (images, channels)
        self._errors = np.where(self.present, np.minimum(squares, _ABSENT), _ABSENT)
        for number in range(len(self.chosen)):
            rows = self.aspect == number
            if rows.any():
                order = np.argsort(self._errors[rows].mean(axis=0), kind="stable")
                self.chosen[number] = np.sort(order[: self.num_parts])
        self.shifts = shifts[self.chosen]

    def expect(self) -> None:
        """Finds each image's aspect and its visible parts."""
        costs = self._errors[:, self.chosen]  # (images, aspects, parts)
        visible, total = self._take(costs)
        self.aspect = np.argmin(total, axis=1)
        rows = np.arange(len(costs))
        self.visible, self.costs = visible[rows, self.aspect], costs[rows, self.aspect]
