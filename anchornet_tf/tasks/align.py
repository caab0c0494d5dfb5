"""Aligns a set of images: flows between all of them that agree with each other."""

import os
from collections.abc import Iterable, Mapping

import numpy as np
import tqdm

from anchornet_tf.features.registry import Descriptor
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.matchers.registry import PairMatcher
from anchornet_tf.tasks.aligned import AlignedImages
from anchornet_tf.tasks.common_frame import SEEN_SIDE, CommonFrame
from anchornet_tf.tasks.flow_web.links import Links
from anchornet_tf.tasks.flow_web.optimization import Consistent, make_consistent
from anchornet_tf.tasks.flow_web.settings import FlowWebSettings
from anchornet_tf.tasks.flow_web.web import Web
from anchornet_tf.tasks.start_flows import given_flows, matched_flows, similar_links
from anchornet_tf.utils.image_io import read_scaled

MAX_SIDE = 150
FEWEST_IMAGES = 3


def align(
    images: Iterable,
    features: str | Descriptor = "anchornet",
    matcher: str | PairMatcher | Matcher = "hough",
    *,
    flows: Mapping[tuple[int, int], Flow] | None = None,
    max_side: int = MAX_SIDE,
    neighbors: int | None = None,
    settings: FlowWebSettings | None = None,
    progress: bool = False,
    **options,
) -> AlignedImages:
    """Finds flows between all images of a set that agree with each other (FlowWeb).

    The pairs are matched one by one. Then flows are changed until as many as possible are
    consistent: going from one image to another through a third ends where the direct way ends.

    Args:
        images: At least three paths, arrays or PIL images, of any sizes. They should show the same
            kind of object from about the same side.
        features: As in `Matcher`.
        matcher: As in `Matcher`, or a `Matcher`, which takes the place of `features` and `options`.
        flows: Flows to start from: `flows[i, j]` for every ordered pair, in pixels of the images.
            None to match the images.
        max_side: int. Images are worked on at one common size, whose longer side this is.
        neighbors: int. Link each image only to this many images, those most like it. None for all.
            All pairs have flows either way; those that are not linked go through others.
        settings: The constants; None for those of the published program.
        progress: bool. Whether to show progress bars.
        **options: As in `Matcher`.

    Returns:
        The flows: `aligned[i, j]` is that from image i to image j. Its confidence is the share of
        3-cycles that agree with it.

    Raises:
        FileNotFoundError: If an image is a path that does not exist.
        ValueError: If there are fewer than three images, one cannot be read, `flows` lack a pair,
            or an option is unknown or out of range.

    Example:

    ```python
    import anchornet_tf
    from anchornet_tf.datasets import parts_world

    cars = [parts_world.draw("car", number).image for number in range(4)]
    aligned = anchornet_tf.align(cars, "sift", "dsp", max_side=48)
    flow = aligned[0, 3]  # in pixels of the two images
    print(aligned.objective, flow.confidence.mean())
    ```
    """
    if isinstance(images, str | os.PathLike) or not isinstance(images, Iterable):
        raise ValueError(f"Expected a list of images, such as paths. Received: {images!r}")
    images = [read_scaled(image, SEEN_SIDE) for image in images]
    check_set(len(images), neighbors)
    frame = CommonFrame.of(images, max_side)
    made = matcher if isinstance(matcher, Matcher) else None
    if not isinstance(matcher, Matcher) and (flows is None or neighbors):
        # The iterations find out by themselves which matches are right.
        made = Matcher(features, matcher, **{"confidence": None} | options)
    elif options:
        raise ValueError(
            "Expected no options beside flows or a Matcher, which has its own. "
            f"Received: {', '.join(options)}"
        )
    store = Store()
    return align_frame(frame, made, neighbors, settings, store, progress, flows)


class Store:
    """Keeps what is done of an alignment; this one keeps nothing."""

    def links(self) -> Links | None:
        """Returns the links, if they are known."""

    def save_links(self, links: Links) -> None:
        """Keeps the links."""

    def start(self, source: int) -> np.ndarray | None:
        """Returns the flows of an image before the first iteration, if they are known."""

    def save_start(self, source: int, flows: np.ndarray) -> None:
        """Keeps the flows of an image before the first iteration."""

    def iteration(self, start: Web) -> Consistent | None:
        """Returns the flows after the last iteration, if there was one."""

    def save_iteration(self, found: Consistent) -> None:
        """Keeps the flows after an iteration."""


def check_set(num_images: int, neighbors: int | None) -> None:
    """Raises ValueError for too few images or links."""
    if num_images < FEWEST_IMAGES:
        raise ValueError(
            f"Expected at least {FEWEST_IMAGES} images: flows are compared around three. "
            f"Received: {num_images}"
        )
    if neighbors is not None and not neighbors >= 1:
        raise ValueError(
            f"`neighbors` must be at least 1, or None for all. Received: neighbors={neighbors}"
        )


def align_frame(
    frame: CommonFrame,
    matcher: Matcher | None,
    neighbors: int | None,
    settings: FlowWebSettings | None,
    store: Store,
    progress: bool,
    flows: Mapping[tuple[int, int], Flow] | None = None,
) -> AlignedImages:
    """Aligns images, or goes on where an earlier call was stopped.

    Args:
        frame: The images.
        matcher: What matches them; None where `flows` are given and all images are linked.
        neighbors: As in `align`.
        settings: As in `align`.
        store: What is done already, and what keeps the rest.
        progress: As in `align`.
        flows: As in `align`.
    """
    settings = settings or FlowWebSettings()
    links = store.links()
    if links is None:
        if neighbors is None or neighbors >= len(frame) - 1:
            links = Links.complete(len(frame))
        elif matcher is None:
            raise ValueError("Expected a matcher to choose neighbours with. Received: None")
        else:
            links = similar_links(frame, matcher, neighbors, progress)
        store.save_links(links)
    start = Web(frame.size, links, _start(frame, matcher, links, store, progress, flows))
    bar = tqdm.tqdm(
        total=settings.iterations, desc="Aligning", unit="iteration", disable=not progress
    )

    def keep(found: Consistent) -> None:
        store.save_iteration(found)
        bar.set_postfix_str(f"objective {found.objective[-1]:.4f}", refresh=False)
        bar.update()

    with bar:
        so_far = store.iteration(start)
        if so_far is not None:
            bar.update(len(so_far.objective))
        found = make_consistent(start, settings, keep, so_far)
        bar.set_postfix_str(f"objective {found.objective[-1]:.4f}")
    return AlignedImages(frame.sizes, found)


def _start(frame, matcher, links, store: Store, progress, flows) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    while len(found) < len(frame) and (kept := store.start(len(found))) is not None:
        found.append(kept)
    if len(found) == len(frame):
        return found
    if flows is not None:
        rest = given_flows(frame, flows, links)
        found = []
    else:
        rest = matched_flows(frame, matcher, links, len(found), progress)
    for own in rest:
        store.save_start(len(found), own)
        found.append(own)
    return found
