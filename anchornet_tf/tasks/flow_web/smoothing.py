"""The filter inside images: pixels that agree with few others follow neighbours that agree more."""

import math

import numpy as np

from anchornet_tf.tasks.flow_web.cycles import for_each_image, hub_counts
from anchornet_tf.tasks.flow_web.web import Web

# Smaller weights of distance count as none, so that only a window is looked at.
_SMALLEST_WEIGHT = 1e-3
_PIXELS_AT_ONCE = 256


def follow_neighbors(
    web: Web, hubs: list[np.ndarray], spatial_scale: float, cycle_scale: float, rate: float
) -> None:
    """Replaces the flows of the least consistent pixels by those of consistent pixels around.

    A pixel takes the mean over pixels that agree with at least as many 3-cycles as itself. Their
    weight falls with their distance d as `exp(-d^2 / spatial_scale)` and grows exponentially with
    the share of their 3-cycles.

    Args:
        web: The flows, which are changed.
        hubs: Of `hub_sets` for these flows.
        spatial_scale: float, in squared pixels.
        cycle_scale: float. The share of 3-cycles by which a weight grows e-fold.
        rate: float. The share of each flow's pixels that are replaced.
    """
    window = _Window(web.size, spatial_scale)

    def work(image: int) -> None:
        # Pair by pair, pixels lie side by side.
        counts = np.ascontiguousarray(hub_counts(hubs[image])[:-1].T)
        possible = web.links.num_hubs[image]
        for column in range(len(possible)):
            if possible[column] > 0:
                flow = web.flows[image][:, column]
                pixels, mean = window.means(
                    counts[column], flow, cycle_scale * possible[column], rate
                )
                # Halves are rounded away from zero.
                flow[pixels] = np.copysign(np.floor(np.abs(mean) + 0.5), mean)

    for_each_image(work, len(web))


class _Window:
    """Weighted means over the pixels around, in images of one size."""

    def __init__(self, size: tuple[int, int], scale: float):
        height, width = size
        self._radius = radius = int(math.sqrt(-math.log(_SMALLEST_WEIGHT) * scale))
        side = np.arange(-radius, radius + 1)
        weights = np.exp(-(side[:, np.newaxis] ** 2 + side**2) / scale)  # (columns, rows)
        columns, rows = np.nonzero(weights >= _SMALLEST_WEIGHT)
        # Images get a frame of the radius, so that each neighbour is a fixed number of pixels off.
        stride = height + 2 * radius
        self._offsets = (columns - radius) * stride + rows - radius
        self._weights = weights[columns, rows].astype(np.float32)
        x, y = np.divmod(np.arange(height * width), height)
        self._inner = (x + radius) * stride + y + radius
        self._framed = stride * (width + 2 * radius)

    def means(self, counts, flow, scale: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
        """Returns the pixels to replace and their new flows `(n, 2)`."""
        # Of equal counts, the pixels that come first.
        pixels = np.argsort(counts, kind="stable")[: int(rate * len(counts) + 0.5)]
        # In the order of pixels, what is read lies close together.
        pixels = np.sort(pixels)
        # The weight of a pixel beside its distance. It grows with the count, so that comparing it
        # is comparing counts; the frame around the image has less than any pixel.
        growth = np.zeros(self._framed, np.float32)
        growth[self._inner] = np.exp(counts / scale)
        sums = [np.zeros_like(growth) for _ in range(2)]
        for axis, values in enumerate(sums):
            values[self._inner] = growth[self._inner] * flow[:, axis]
        means = np.empty((len(pixels), 2), np.float32)
        for start in range(0, len(pixels), _PIXELS_AT_ONCE):
            part = slice(start, start + _PIXELS_AT_ONCE)
            places = self._inner[pixels[part]]
            around = places[:, np.newaxis] + self._offsets
            found = np.take(growth, around, mode="clip")
            weights = (found >= growth[places][:, np.newaxis]) * self._weights
            total = np.einsum("pq,pq->p", found, weights)
            for axis, values in enumerate(sums):
                np.take(values, around, out=found, mode="clip")
                means[part, axis] = np.einsum("pq,pq->p", found, weights) / total
        return pixels, means
