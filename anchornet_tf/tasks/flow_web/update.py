"""Sends the flows that gain most through their hubs."""

import numpy as np

from anchornet_tf.tasks.flow_web.priority import Gains
from anchornet_tf.tasks.flow_web.web import Web, is_inside, pixel_places


def send_through_hubs(
    web: Web,
    gains: list[Gains],
    proposal_rate: float,
    update_rate: float,
    noise: float = 0.0,
    generator: np.random.Generator | None = None,
) -> int:
    """Replaces flows by the way through their best hub, where that gains most.

    The flow back from where a pixel lands becomes the reverse. Where several pixels land on one,
    the one that gains most is reversed; the published program leaves that open.

    Args:
        web: The flows, which are changed.
        gains: Of `best_hubs`.
        proposal_rate: float. The share of a flow's pixels that may be proposed.
        update_rate: float. The share of all proposals that is carried out.
        noise: float. Standard deviation of what is added to gains to break ties.
        generator: Random numbers for that; needed where `noise` is not 0.

    Returns:
        How many pixels were changed.
    """
    source, target, pixel, hub, gain = _proposals(web, gains, proposal_rate)
    if noise and len(gain):
        gain = gain + (noise * generator.standard_normal(len(gain))).astype(np.float32)
    chosen = _largest(gain, _round(update_rate * len(gain)))
    order = chosen[np.argsort(-gain[chosen], kind="stable")]
    source, target, pixel, hub = (values[order] for values in (source, target, pixel, hub))
    # All flows are read before any is changed.
    flow = _composed(web, source, target, pixel, hub)
    landing = pixel_places(web.size)[pixel] + flow
    kept = is_inside(landing, web.size)
    source, target, pixel, flow = source[kept], target[kept], pixel[kept], flow[kept]
    back = landing[kept, 1].astype(np.intp) * web.size[0] + landing[kept, 0]
    for first, second, members in _by_pair(source, target):
        web.flows[first][pixel[members], web.links.column(first, second)] = flow[members]
        # NumPy keeps the last of several values: that of the largest gain.
        last_first = members[::-1]
        column = web.links.column(second, first)
        web.flows[second][back[last_first], column] = -flow[last_first]
    return len(source)


def _proposals(web: Web, gains: list[Gains], rate: float):
    """Returns source, target, pixel, hub and gain of the proposals with a positive gain."""
    most = _round(rate * web.num_pixels)
    found = []
    for source, own in enumerate(gains):
        for column, target in enumerate(own.targets):
            gain = own.gain[:, column]
            pixel = np.flatnonzero(gain > 0)
            pixel = pixel[_largest(gain[pixel], most)]
            pixel = pixel[np.argsort(-gain[pixel], kind="stable")].astype(np.int32)
            ends = (np.full(len(pixel), image, np.int32) for image in (source, target))
            found.append((*ends, pixel, own.hub[pixel, column], gain[pixel]))
    return [np.concatenate(values) for values in zip(*found, strict=True)]


def _composed(web: Web, source, target, pixel, hub) -> np.ndarray:
    """Returns the flows through the hubs, `(n, 2)` of int32."""
    flow = np.zeros((len(pixel), 2), np.int32)
    for first, middle, members in _by_pair(source, hub):
        out = web.flows[first][pixel[members], web.links.column(first, middle)].astype(np.int32)
        place = pixel_places(web.size)[pixel[members]] + out
        number = place[:, 1].astype(np.intp) * web.size[0] + place[:, 0]
        columns, _ = web.links.columns(middle, target[members])
        flow[members] = out + web.flows[middle][number, columns]
    return flow


def _by_pair(first: np.ndarray, second: np.ndarray):
    """Yields (first, second, members) for each pair of images; members keep their order."""
    if not len(first):
        return
    key = first.astype(np.int64) << 32 | second
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        yield int(first[members[0]]), int(second[members[0]]), members


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Returns the indices of the largest values in their order; of equal ones the first."""
    if count >= len(values):
        return np.arange(len(values))
    if count == 0:
        return np.zeros(0, np.intp)
    limit = np.partition(values, len(values) - count)[len(values) - count]
    above = values > limit
    equal = np.flatnonzero(values == limit)[: count - np.count_nonzero(above)]
    above[equal] = True
    return np.flatnonzero(above)


def _round(value: float) -> int:
    return int(np.floor(value + 0.5))
