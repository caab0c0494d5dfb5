"""Matching two batches of images inside a graph, with the numbers of `anchornet_tf.match_pair`."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from anchornet_tf.matchers.confidence import Confidence
from anchornet_tf.matchers.evidence import GRID
from anchornet_tf.matchers.hough import HoughMatcher, hough_cells
from anchornet_tf.matchers.nearest import nearest_cells

MATCHERS = ("nearest", "hough")


class GridFlow(NamedTuple):
    """A flow on a grid of the source image, before it is spread over the pixels.

    Attributes:
        displacement: float32 `(batch, rows, columns, 2)`: (dy, dx) in pixels.
        confidence: float32 `(batch, rows, columns)`: the probability that a match is right.
        source_size: int32 `(2,)`: height and width of the source images.
        target_size: int32 `(2,)`: height and width of the target images.
    """

    displacement: tf.Tensor
    confidence: tf.Tensor
    source_size: tf.Tensor
    target_size: tf.Tensor


def match_images(
    describe: Callable[[tf.Tensor], tf.Tensor],
    source: tf.Tensor,
    target: tf.Tensor,
    image_size: tuple[int, int],
    matcher: str = "nearest",
    confidence: Confidence | None = None,
) -> GridFlow:
    """Matches images pair by pair.

    Args:
        describe: images `(batch, *image_size, 3)` -> descriptors `(batch, rows, columns, depth)`.
        source: float images `(batch, height, width, 3)`, sizes unknown if need be.
        target: float images `(batch, target height, target width, 3)`.
        image_size: (height, width) that images are resized to for `describe`.
        matcher: one of `MATCHERS`, with its default options.
        confidence: what turns scores into probabilities, as in `Matcher`; None to leave them.

    Raises:
        ValueError: for another matcher.
    """
    check_matcher(matcher)
    resized = [tf.image.resize(images, image_size, antialias=True) for images in (source, target)]
    # One pass of the network for both.
    source_cells, target_cells = tf.split(describe(tf.concat(resized, axis=0)), 2)
    if matcher == "hough":
        defaults = HoughMatcher()
        positions, sure, own = hough_cells(source_cells, target_cells, **defaults.options())
        target_grid = tf.constant(defaults.grid_size)
    else:
        positions, sure, _ = nearest_cells(source_cells, target_cells)
        own, target_grid = None, tf.shape(target_cells)[1:3]
    if confidence is not None and confidence.is_for(matcher, source_cells.shape[-1]):
        places = _centers(positions, target_grid, tf.constant(GRID))
        sure = confidence.probabilities(matcher, source_cells, target_cells, places, sure, own)
    source_size, target_size = tf.shape(source)[1:3], tf.shape(target)[1:3]
    # In double precision, as NumPy does it: positions of thousands of pixels would lose digits.
    pixels = _centers(tf.cast(positions, tf.float64), target_grid, target_size)
    rows, columns = (tf.range(side) for side in tf.unstack(tf.shape(positions)[1:3]))
    cells = tf.stack(tf.meshgrid(rows, columns, indexing="ij"), axis=-1)  # (rows, columns, 2)
    origin = _centers(tf.cast(cells, tf.float64), tf.shape(positions)[1:3], source_size)
    return GridFlow(tf.cast(pixels - origin, tf.float32), sure, source_size, target_size)


def check_matcher(matcher: str) -> str:
    """Returns `matcher`.

    Raises:
        ValueError: where it is none of `MATCHERS`.
    """
    if matcher not in MATCHERS:
        raise ValueError(f"Expected a matcher of {', '.join(MATCHERS)}. Received: {matcher!r}")
    return matcher


def spread(flow: GridFlow) -> tuple[tf.Tensor, tf.Tensor]:
    """Spreads a flow over all pixels of the source, as `Flow.from_grid` does.

    Returns:
        displacement `(batch, height, width, 2)` and confidence `(batch, height, width)`.
    """
    displacement = tf.image.resize(flow.displacement, flow.source_size)
    confidence = tf.image.resize(flow.confidence[..., tf.newaxis], flow.source_size)[..., 0]
    rows, columns = (tf.range(side) for side in tf.unstack(flow.source_size))
    pixels = tf.stack(tf.meshgrid(rows, columns, indexing="ij"), axis=-1)  # (height, width, 2)
    return _inside(displacement, pixels, flow.target_size), confidence


def transfer_points(flow: GridFlow, points: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Carries points across, as `Flow.transfer_points` does, without spreading the flow.

    Args:
        flow: of a batch of pairs.
        points: float `(batch, n, 2)` of (x, y), 0-based pixels of the source.

    Returns:
        points `(batch, n, 2)` of (x, y) in pixels of the target, and their confidence `(batch, n)`.

    Raises:
        tf.errors.InvalidArgumentError: when the graph runs, for a point that is NaN or off the
            source image.
    """
    limits = tf.cast(flow.source_size, tf.float32)
    places = points[..., ::-1]  # (y, x)
    inside = tf.reduce_all((places >= -0.5) & (places < limits - 0.5))
    check = tf.debugging.Assert(
        inside,
        [
            "Expected points as (x, y) pixels inside the source image of (height, width) =",
            flow.source_size,
            "Received: points =",
            points,
        ],
        summarize=10,
    )
    with tf.control_dependencies([check]):
        reading = tf.clip_by_value(places, 0.0, limits - 1)
    values = tf.concat([flow.displacement, flow.confidence[..., tf.newaxis]], axis=-1)

    def pixel_values(pixels):
        """Reads the spread flow at whole pixels `(batch, n, 2)`."""
        grid = tf.shape(values)[1:3]
        read = _bilinear(values, _centers(tf.cast(pixels, tf.float32), flow.source_size, grid))
        moved = _inside(read[..., :2], pixels, flow.target_size)
        return tf.concat([moved, read[..., 2:]], axis=-1)

    corner = tf.floor(reading)
    read = _mix(pixel_values, tf.cast(corner, tf.int32), reading - corner, flow.source_size)
    return points + read[..., 1::-1], read[..., 2]


def _centers(positions, grid, size):
    """Turns positions in cells of a grid into cells of another grid of the same image."""
    scale = tf.cast(size, positions.dtype) / tf.cast(grid, positions.dtype)
    return (positions + 0.5) * scale - 0.5


def _inside(displacement, pixels, target_size):
    """Shortens vectors at `pixels` (row, column) that would leave the target."""
    origin = tf.cast(pixels, tf.float32)
    last = tf.cast(target_size - 1, tf.float32)
    return tf.clip_by_value(displacement, -origin, last - origin)


def _bilinear(values, positions):
    """Reads maps `(batch, rows, columns, depth)` at `(batch, n, 2)` positions, clamped to them."""
    size = tf.shape(values)[1:3]
    positions = tf.clip_by_value(positions, 0.0, tf.cast(size - 1, tf.float32))
    corner = tf.floor(positions)

    def read(cells):
        return tf.gather_nd(values, cells, batch_dims=1)

    return _mix(read, tf.cast(corner, tf.int32), positions - corner, size)


def _mix(read, corner, share, size):
    """Interpolates between four whole positions, from `corner` `(batch, n, 2)` on, by `share`."""
    result = 0.0
    for down in (0, 1):
        for across in (0, 1):
            cells = tf.minimum(corner + tf.constant([down, across]), size - 1)
            row_share = share[..., :1] if down else 1 - share[..., :1]
            column_share = share[..., 1:] if across else 1 - share[..., 1:]
            result += row_share * column_share * read(cells)
    return result
