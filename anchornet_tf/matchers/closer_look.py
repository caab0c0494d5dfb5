"""Flows of images that were looked at twice: the closer look counts where it shows something."""

from collections.abc import Callable, Sequence

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap, cell_centers
from anchornet_tf.features.look_twice import Box, FocusedMap
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.utils.image_io import ScaledImage

# Both flows are read on a grid of at most so many cells along a side: finer than either.
MOST_CELLS = 112

# Evidence is fitted to single looks; a closer one is right more often than it says. Chosen on the
# half of PF-WILLOW that is for tuning and on drawings, which want 1.9 and 1.6.
CLOSER_ODDS = 1.65

Match = Callable[[Sequence, Sequence, Sequence, Sequence], list[Flow]]


def match_with_closer_look(
    match: Match,
    sources: Sequence[FeatureMap],
    targets: Sequence[FeatureMap],
    source_images: Sequence[ScaledImage | None],
    target_images: Sequence[ScaledImage | None],
) -> list[Flow]:
    """Matches pairs of maps, and their objects again where both images were looked at twice.

    Args:
        match: Callable from as many sources, targets, source images and target images to flows.
        sources: Feature maps of the source images.
        targets: Feature maps of the target images.
        source_images: The source images, or None where `match` needs none.
        target_images: The target images.

    Returns:
        The flow of each pair.
    """
    flows = match(sources, targets, source_images, target_images)
    twice = [
        number
        for number, pair in enumerate(zip(sources, targets, strict=True))
        if all(isinstance(features, FocusedMap) for features in pair)
    ]
    if not twice:
        return flows
    closer = match(
        *([maps[number].closer for number in twice] for maps in (sources, targets)),
        *(
            [_cropped(images[number], maps[number].box) for number in twice]
            for images, maps in ((source_images, sources), (target_images, targets))
        ),
    )
    for number, flow in zip(twice, closer, strict=True):
        boxes = sources[number].box, targets[number].box
        flows[number] = with_closer_look(flows[number], flow, *boxes)
    return flows


def with_closer_look(whole: Flow, closer: Flow, source: Box, target: Box) -> Flow:
    """Returns a flow that is the closer one inside a part of the source image.

    Args:
        whole: The flow between two images.
        closer: The flow between a part of each.
        source: The part of the source image.
        target: The part of the target image.
    """
    grid = tuple(min(side, MOST_CELLS) for side in whole.shape)
    scored = _composed(whole.with_scores(), closer.with_scores(), source, target, grid)
    flow = _flow(scored, whole, grid)
    if not whole.has_probabilities:
        return flow
    *_, sure = _composed(whole, closer, source, target, grid, CLOSER_ODDS)
    return flow.with_confidence(sure.reshape(grid))


def surer(probabilities, odds: float):
    """Returns probabilities whose odds are so many times as high; arrays or tensors."""
    return odds * probabilities / (1 + (odds - 1) * probabilities)


def _composed(whole: Flow, closer: Flow, source: Box, target: Box, grid, odds: float = 1.0):
    """Reads two flows at the cells of a grid: starts and ends `(n, 2)` of (x, y), confidence."""
    rows, columns = (cell_centers(*sides) for sides in zip(grid, whole.shape, strict=True))
    starts = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
    ends, sure = whole.transfer_with_confidence(starts)
    places = _within(starts, whole.shape, source, closer.shape)
    inside = ((places >= -0.5) & (places < np.subtract(closer.shape[::-1], 0.5))).all(axis=-1)
    if inside.any():
        moved, known = closer.transfer_with_confidence(places[inside])
        ends[inside] = _beyond(moved, whole.target_size, target, closer.target_size)
        sure[inside] = surer(known, odds)
    return starts, ends, sure


def _flow(composed, whole: Flow, grid) -> Flow:
    starts, ends, sure = composed
    displacement = (ends - starts)[:, ::-1].reshape(*grid, 2)
    valid = np.isfinite(displacement).all(axis=-1)
    return Flow.from_grid(displacement, whole.shape, whole.target_size, valid, sure.reshape(grid))


def _within(points, size, box: Box, part_size):
    """Turns (x, y) in pixels of an image into pixels of a part of it."""
    shares = (points + 0.5) / size[::-1]
    first, last = np.array([box.left, box.top]), np.array([box.right, box.bottom])
    return (shares - first) / (last - first) * part_size[::-1] - 0.5


def _beyond(points, size, box: Box, part_size):
    """Turns (x, y) in pixels of a part of an image into pixels of the image."""
    first, last = np.array([box.left, box.top]), np.array([box.right, box.bottom])
    shares = first + (points + 0.5) / part_size[::-1] * (last - first)
    return shares * size[::-1] - 0.5


def _cropped(image: ScaledImage | None, box: Box) -> ScaledImage | None:
    if image is None:
        return None
    rows, columns = box.pixels(image.original_size)
    size = rows.stop - rows.start, columns.stop - columns.start
    return ScaledImage(image.pixels[box.pixels(image.pixels.shape[:2])], size)
