"""Webs of flows for tests: of known shifts, with some of the flows spoilt."""

import numpy as np

from anchornet_tf.tasks.flow_web.links import Links
from anchornet_tf.tasks.flow_web.web import Web


def shifted_web(
    num_images: int, size=(14, 18), spoilt: float = 0.4, seed: int = 0, links: Links | None = None
) -> tuple[Web, np.ndarray]:
    """Returns flows between copies of one image under known shifts, a share of them wrong.

    Returns:
        The web, and the shift `(dy, dx)` of each image.
    """
    rng = np.random.default_rng(seed)
    shifts = rng.integers(-2, 3, (num_images, 2))
    links = links or Links.complete(num_images)
    flows = []
    for image, own in enumerate(links.neighbors):
        true = np.broadcast_to(shifts[own] - shifts[image], (size[0] * size[1], len(own), 2))
        wrong = rng.random(true.shape[:2]) < spoilt
        noise = rng.integers(-4, 5, true.shape)
        flow = np.where(wrong[..., np.newaxis], noise, true)
        flow[:, own == image] = 0
        flows.append(flow.astype(np.int16))
    return Web(size, links, flows), shifts


def share_right(web: Web, shifts: np.ndarray) -> float:
    """Returns the share of flows that are the true shift."""
    right = [
        (web.flows[image] == shifts[own] - shifts[image]).all(axis=-1).mean()
        for image, own in enumerate(web.links.neighbors)
    ]
    return float(np.mean(right))
