"""Runs one descriptor with every matcher on odd images: seconds, memory, and what is wrong."""

import dataclasses
import time
from collections.abc import Sequence

import numpy as np

from benchmarks import memory, odd_pictures

# How far an image may move when it is matched with itself, as a share of its longer side: some
# matchers average around the best cell.
_SAME = 0.01
_EDGE = 1e-3


@dataclasses.dataclass
class Measure:
    """A descriptor with a matcher.

    Attributes:
        features: Name of the descriptor.
        matcher: Name of the matcher.
        seconds: By pair.
        megabytes: Most that the process held, by pair.
        wrong: What should not be.
        moved: float. The median length of the flow of an image to itself.
    """

    features: str
    matcher: str
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    megabytes: dict[str, float] = dataclasses.field(default_factory=dict)
    wrong: list[str] = dataclasses.field(default_factory=list)
    moved: float = 0.0


def measure(
    features: str, options: dict, matchers: dict[str, dict], pairs: Sequence[str]
) -> list[Measure]:
    """Measures a descriptor with several matchers.

    Args:
        features: Name of the descriptor.
        options: Of the descriptor.
        matchers: Options of each matcher, by its name.
        pairs: Some of `odd_pictures.NAMES`.
    """
    from anchornet_tf.features.registry import get_descriptor
    from anchornet_tf.matchers.matcher import Matcher

    describe, measures = get_descriptor(features, **options), []
    # The first call makes graphs, of which no later one is to pay.
    images = {name: odd_pictures.pair(name) for name in pairs}
    for number, (name, of_matcher) in enumerate(matchers.items()):
        match, found = Matcher(describe, name, **of_matcher), Measure(features, name)
        if odd_pictures.USUAL in pairs:
            match(*images[odd_pictures.USUAL])
        for pair in pairs:
            _judge(found, match, pair, *images[pair])
        if not number:
            found.wrong += _asymmetric(match, images)
        measures.append(found)
        print(line(found), flush=True)
    return measures


def _judge(found: Measure, match, pair: str, source: np.ndarray, target: np.ndarray) -> None:
    flows: list = []

    def work():
        began = time.perf_counter()
        flows.append(match(source, target))
        found.seconds[pair] = time.perf_counter() - began

    try:
        found.megabytes[pair] = memory.peak_bytes(work) / memory.MEGABYTE
    except ValueError as error:
        text = str(error)
        if pair not in odd_pictures.REFUSED or "Received: " not in text or "\n" in text:
            found.wrong.append(f"{pair}: {type(error).__name__}: {text[:200]}")
        return
    except Exception as error:
        found.wrong.append(f"{pair}: {type(error).__name__}: {str(error)[:200]}")
        return
    if pair in odd_pictures.REFUSED:
        found.wrong.append(f"{pair}: was matched")
        return
    (flow,) = flows
    found.wrong += [f"{pair}: {text}" for text in flaws(flow, source, target, found.matcher)]
    if pair == odd_pictures.IDENTICAL:
        found.moved = float(np.median(np.linalg.norm(flow.displacement, axis=-1)))
        if found.moved > _SAME * max(source.shape):
            found.wrong.append(f"{pair}: moves by {found.moved:.1f} pixels")


def flaws(flow, source: np.ndarray, target: np.ndarray, matcher: str) -> list[str]:
    """Returns what a flow should not be.

    Args:
        flow: `Flow` from source to target.
        source: An image.
        target: An image.
        matcher: Name of the matcher; `none` stays where it is, even where the target ends before.
    """
    wrong = []
    if flow.shape != source.shape[:2] or flow.target_size != target.shape[:2]:
        wrong.append(f"a flow of {flow.shape} pixels to {flow.target_size}")
    if not (np.isfinite(flow.displacement).all() and np.isfinite(flow.confidence).all()):
        wrong.append("a flow that is not finite")
    ends = flow.target_positions()
    inside = (ends >= -_EDGE) & (ends <= np.subtract(flow.target_size, 1) + _EDGE)
    if matcher != "none" and not inside.all():
        wrong.append(f"{np.mean(~inside.all(axis=-1)):.1%} of a flow ends outside the target")
    if not flow.valid.any():
        wrong.append("no pixel is matched")
    return wrong


def _asymmetric(match, images: dict) -> list[str]:
    """Returns the pairs whose mutual nearest neighbours depend on which image comes first."""
    return [
        f"{pair}: mutual neighbours differ from those of the pair the other way round"
        for pair, both in images.items()
        if pair not in odd_pictures.REFUSED and not symmetric(*match.describe(both))
    ]


def symmetric(source, target, most_cells: int = 56) -> bool:
    """Returns whether mutual nearest neighbours are the same in both directions.

    Args:
        source: `FeatureMap`.
        target: `FeatureMap`.
        most_cells: int. Larger maps are resampled to so many cells per side.
    """
    import tensorflow as tf

    from anchornet_tf.matchers.nearest import nearest_cells

    source, target = (
        one.resized(*(min(side, most_cells) for side in one.grid_size)) for one in (source, target)
    )
    found = []
    for one, other in ((source, target), (target, source)):
        positions, _, valid = nearest_cells(
            tf.constant(one.values)[tf.newaxis],
            tf.constant(other.values)[tf.newaxis],
            mutual=True,
            refine=False,
        )
        from_cells = np.argwhere(valid[0].numpy())
        to_cells = np.rint(positions[0].numpy()[valid[0].numpy()]).astype(int)
        found.append([(*map(tuple, ends),) for ends in zip(from_cells, to_cells, strict=True)])
    forward, backward = ({tuple(map(tuple, ends)) for ends in way} for way in found)
    return forward == {(end, start) for start, end in backward}


def line(found: Measure) -> str:
    """Returns a line of the table for the terminal."""
    cells = [f"{found.features:<17}{found.matcher:<9}"]
    for pair in (odd_pictures.USUAL, odd_pictures.LARGE):
        seconds, megabytes = found.seconds.get(pair), found.megabytes.get(pair)
        cells.append(
            f"{seconds:>9.2f} s{megabytes:>8,.0f} MB" if seconds and megabytes else f"{'':>22}"
        )
    others = [s for p, s in found.seconds.items() if p != odd_pictures.LARGE]
    cells.append(f"{max(others, default=0):>9.2f} s")
    cells.append("; ".join(found.wrong) or "as it should be")
    return "  ".join(cells)
