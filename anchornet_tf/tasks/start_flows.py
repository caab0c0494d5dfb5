"""The flows that an alignment starts from: of a matcher, or given ones."""

from collections.abc import Iterator, Mapping

import numpy as np
import tqdm

from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.tasks.common_frame import CommonFrame
from anchornet_tf.tasks.flow_web.links import Links
from anchornet_tf.tasks.layout import layout_of, layout_similarity

_DESCRIBED_AT_ONCE = 8


def similar_links(frame: CommonFrame, matcher: Matcher, count: int, progress: bool) -> Links:
    """Links each image to the `count` images whose layout is most like its own."""
    seen, layouts = frame.seen_by(matcher), []
    starts = range(0, len(seen), _DESCRIBED_AT_ONCE)
    for start in tqdm.tqdm(starts, "Describing", unit="batch", disable=not progress):
        maps = matcher.describe(seen[start : start + _DESCRIBED_AT_ONCE])
        layouts += [layout_of(features) for features in maps]
    similarity = np.ones((len(seen), len(seen)))
    for first in range(len(seen)):
        for second in range(first):
            alike = layout_similarity(layouts[first], layouts[second])
            similarity[first, second] = similarity[second, first] = alike
    return Links.nearest(similarity, count)


def matched_flows(
    frame: CommonFrame, matcher: Matcher, links: Links, begin: int, progress: bool
) -> Iterator[np.ndarray]:
    """Matches the linked pairs.

    Args:
        frame: The images.
        matcher: What matches them.
        links: Which pairs to match.
        begin: int. The first image to match to its neighbours.
        progress: bool. Whether to show a progress bar.

    Yields:
        For each image from `begin` on, int16 `(pixels, neighbours, 2)`.
    """
    pairs = [
        (source, int(target))
        for source in range(begin, len(frame))
        for target in links.neighbors[source]
        if target != source
    ]
    every = sum(len(own) - 1 for own in links.neighbors)
    flows = matcher.match_many(pairs, frame.seen_by(matcher), progress=False)
    bar = tqdm.tqdm(
        total=every, initial=every - len(pairs), desc="Matching", unit="pair", disable=not progress
    )
    with bar:
        for source in range(begin, len(frame)):
            found = _nothing(frame, links, source)
            for column, target in enumerate(links.neighbors[source]):
                if target != source:
                    found[:, column] = frame.whole_pixels(next(flows))
                    bar.update()
            yield found


def given_flows(
    frame: CommonFrame, flows: Mapping[tuple[int, int], Flow], links: Links
) -> Iterator[np.ndarray]:
    """Takes flows that are known already, in pixels of the images as they were given.

    Raises:
        ValueError: If a flow is missing or has other sizes than its images.
    """
    for source in range(len(frame)):
        found = _nothing(frame, links, source)
        for column, target in enumerate(links.neighbors[source]):
            if target != source:
                found[:, column] = frame.whole_pixels(_given(frame, flows, source, int(target)))
        yield found


def _given(frame: CommonFrame, flows, source: int, target: int) -> Flow:
    try:
        flow = flows[source, target]
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(
            "Expected `flows` with a Flow for every ordered pair of images, such as "
            f"flows[0, 1]. Received: none for ({source}, {target})"
        ) from error
    sizes = frame.sizes[source], frame.sizes[target]
    if (flow.shape, flow.target_size) != sizes:
        raise ValueError(
            f"Expected flows[{source}, {target}] from an image of {sizes[0]} to one of {sizes[1]} "
            f"(height, width). Received: {flow!r}"
        )
    return flow


def _nothing(frame: CommonFrame, links: Links, source: int) -> np.ndarray:
    pixels = frame.size[0] * frame.size[1]
    return np.zeros((pixels, len(links.neighbors[source]), 2), np.int16)
