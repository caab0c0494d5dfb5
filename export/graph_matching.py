"""Matching two batches of images inside a graph, with the numbers of `anchornet_tf.match_pair`."""

from collections.abc import Callable

import tensorflow as tf

from anchornet_tf.features.object_probe import GRID
from anchornet_tf.matchers.confidence import Confidence
from anchornet_tf.matchers.hough import HoughMatcher, hough_cells
from anchornet_tf.matchers.nearest import nearest_cells
from export.graph_flow import GridFlow, centers, flow_of_cells

MATCHERS = ("nearest", "hough")

Describe = Callable[[tf.Tensor], tf.Tensor]
Nearest = Callable[[tf.Tensor, tf.Tensor], tuple]


def match_images(
    describe: Describe,
    source: tf.Tensor,
    target: tf.Tensor,
    image_size: tuple[int, int],
    matcher: str = "nearest",
    confidence: Confidence | None = None,
    nearest: Nearest = nearest_cells,
    precision: tf.DType = tf.float64,
) -> GridFlow:
    """Matches images pair by pair.

    Args:
        describe: images `(batch, *image_size, 3)` -> descriptors `(batch, rows, columns, depth)`.
        source: images `(batch, height, width, 3)`, uint8 or float, sizes unknown if need be.
        target: images `(batch, target height, target width, 3)`.
        image_size: (height, width) that images are resized to for `describe`.
        matcher: one of `MATCHERS`, with its default options.
        confidence: what turns scores into probabilities, as in `Matcher`; None to leave them.
        nearest: what finds nearest neighbours: from two batches of descriptors to positions and
            similarities, as `nearest_cells` gives them first.
        precision: number type of pixel positions, as in `flow_of_cells`.

    Raises:
        ValueError: for another matcher.
    """
    maps = describe_images(describe, source, target, image_size)
    sizes = tf.shape(source)[1:3], tf.shape(target)[1:3]
    return match_maps(*maps, *sizes, matcher, confidence, nearest=nearest, precision=precision)


def describe_images(
    describe: Describe, source: tf.Tensor, target: tf.Tensor, image_size: tuple[int, int]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the descriptors of source and target images; the arguments are as in `match_images`.

    Both go through the network in one pass.
    """
    resized = [tf.image.resize(images, image_size, antialias=True) for images in (source, target)]
    return tuple(tf.split(describe(tf.concat(resized, axis=0)), 2))


def match_maps(
    source: tf.Tensor,
    target: tf.Tensor,
    source_size: tf.Tensor,
    target_size: tf.Tensor,
    matcher: str = "nearest",
    confidence: Confidence | None = None,
    looked_at: tuple[tf.Tensor, tf.Tensor] | None = None,
    nearest: Nearest = nearest_cells,
    precision: tf.DType = tf.float64,
) -> GridFlow:
    """Matches descriptors pair by pair.

    Args:
        source: float `(batch, rows, columns, depth)`.
        target: float `(batch, target rows, target columns, depth)`.
        source_size: height and width of the source images, as in `GridFlow`.
        target_size: those of the target images.
        matcher: As in `match_images`.
        confidence: As in `match_images`.
        looked_at: The maps of source and target that the confidence looks at; None for those that
            are matched.
        nearest: As in `match_images`.
        precision: As in `match_images`.

    Raises:
        ValueError: for another matcher.
    """
    check_matcher(matcher)
    if matcher == "hough":
        defaults = HoughMatcher()
        positions, sure, own = hough_cells(source, target, **defaults.options())
        target_grid = tf.constant(defaults.grid_size)
    else:
        positions, sure = nearest(source, target)[:2]
        own, target_grid = None, tf.shape(target)[1:3]
    looked_at = looked_at or (source, target)
    if confidence is not None and confidence.is_for(matcher, looked_at[0].shape[-1]):
        places = centers(positions, target_grid, tf.constant(GRID))
        looks = map(confidence.look, looked_at)
        sure = confidence.probabilities(matcher, *looks, places, sure, own)
    return flow_of_cells(positions, target_grid, sure, source_size, target_size, precision)


def check_matcher(matcher: str) -> str:
    """Returns `matcher`.

    Raises:
        ValueError: where it is none of `MATCHERS`.
    """
    if matcher not in MATCHERS:
        raise ValueError(f"Expected a matcher of {', '.join(MATCHERS)}. Received: {matcher!r}")
    return matcher
