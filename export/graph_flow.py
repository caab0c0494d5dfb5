"""Flows of batches inside a graph, with the numbers of `anchornet_tf.Flow`."""

from typing import NamedTuple

import tensorflow as tf


class GridFlow(NamedTuple):
    """A flow on a grid of the source image, before it is spread over the pixels.

    Attributes:
        displacement: float32 `(batch, rows, columns, 2)`: (dy, dx) in pixels.
        confidence: float32 `(batch, rows, columns)`: the probability that a match is right.
        source_size: int32 `(2,)`: height and width of the source images; `(batch, 1, 2)` where
            they differ.
        target_size: int32: the same of the target images.
    """

    displacement: tf.Tensor
    confidence: tf.Tensor
    source_size: tf.Tensor
    target_size: tf.Tensor


def flow_of_cells(
    positions: tf.Tensor,
    target_grid: tf.Tensor,
    confidence: tf.Tensor,
    source_size: tf.Tensor,
    target_size: tf.Tensor,
    precision: tf.DType = tf.float64,
) -> GridFlow:
    """Turns matches between cells into a flow between pixels.

    Args:
        positions: float32 `(batch, rows, columns, 2)`: (row, column) in cells of the target.
        target_grid: int32 `(2,)`: height and width of the target's grid in cells.
        confidence: As in `GridFlow`.
        source_size: As in `GridFlow`.
        target_size: As in `GridFlow`.
        precision: number type of pixel positions. In double precision, as NumPy does it, positions
            of thousands of pixels lose no digits.
    """
    # Not by slices with a new axis: a slice of a slice does not convert to ONNX.
    pixels = centers(tf.cast(positions, precision), target_grid, tf.expand_dims(target_size, -2))
    grid = tf.shape(positions)[1:3]
    origin = centers(cells_of_grid(grid, precision), grid, tf.expand_dims(source_size, -2))
    return GridFlow(tf.cast(pixels - origin, tf.float32), confidence, source_size, target_size)


def spread(flow: GridFlow) -> tuple[tf.Tensor, tf.Tensor]:
    """Spreads a flow between images of one size over all pixels, as `Flow.from_grid` does.

    Returns:
        displacement `(batch, height, width, 2)` and confidence `(batch, height, width)`.
    """
    displacement = tf.image.resize(flow.displacement, flow.source_size)
    confidence = tf.image.resize(flow.confidence[..., tf.newaxis], flow.source_size)[..., 0]
    pixels = cells_of_grid(flow.source_size, tf.float32)
    return _inside(displacement, pixels, flow.target_size), confidence


def transfer_points(
    flow: GridFlow, points: tf.Tensor, checked: bool = True
) -> tuple[tf.Tensor, tf.Tensor]:
    """Carries points across, as `Flow.transfer_points` does, without spreading the flow.

    Args:
        flow: of a batch of pairs, between images of one size.
        points: float `(batch, n, 2)` of (x, y), 0-based pixels of the source.
        checked: bool. Whether the graph fails for points off the source image, or takes the place
            on the image that is nearest to them.

    Returns:
        points `(batch, n, 2)` of (x, y) in pixels of the target, and their confidence `(batch, n)`.

    Raises:
        tf.errors.InvalidArgumentError: when the graph runs, for a point that is NaN or off the
            source image, unless `checked` is False.
    """
    with tf.control_dependencies([_check_inside(flow, points)] if checked else []):
        places = tf.identity(points[..., ::-1])  # (y, x)
    displacement, confidence = read(flow, places)
    return points + displacement[..., ::-1], confidence


def _check_inside(flow, points):
    return tf.debugging.Assert(
        tf.reduce_all(are_inside(points[..., ::-1], flow.source_size)),
        [
            "Expected points as (x, y) pixels inside the source image of (height, width) =",
            flow.source_size,
            "Received: points =",
            points,
        ],
        summarize=10,
    )


def are_inside(places: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Returns which places `(batch, n, 2)` of (y, x) are on an image: bool `(batch, n)`."""
    limits = tf.cast(size, places.dtype)
    return tf.reduce_all((places >= -0.5) & (places < limits - 0.5), axis=-1)


def read(flow: GridFlow, places: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Reads a flow between the pixels, as if it were spread over them.

    Args:
        flow: of a batch of pairs; the images may differ in size.
        places: float32 or float64 `(batch, n, 2)` of (y, x), pixels of the source. Those off the
            image read its border.

    Returns:
        displacement `(batch, n, 2)` and confidence `(batch, n)`, float32.
    """
    places = tf.clip_by_value(
        places, tf.zeros((), places.dtype), tf.cast(flow.source_size - 1, places.dtype)
    )
    values = tf.concat([flow.displacement, flow.confidence[..., tf.newaxis]], axis=-1)

    def pixel_values(pixels):
        """Reads the spread flow at whole pixels `(batch, n, 2)`."""
        pixels = tf.cast(pixels, tf.float32)
        found = _bilinear(values, centers(pixels, flow.source_size, tf.shape(values)[1:3]))
        moved = _inside(found[..., :2], pixels, flow.target_size)
        return tf.concat([moved, found[..., 2:]], axis=-1)

    corner = tf.floor(places)
    share = tf.cast(places - corner, tf.float32)
    found = _mix(pixel_values, tf.cast(corner, tf.int32), share, flow.source_size)
    return found[..., :2], found[..., 2]


def centers(positions: tf.Tensor, grid: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Turns positions in cells of a grid into cells of another grid of the same image."""
    scale = tf.cast(size, positions.dtype) / tf.cast(grid, positions.dtype)
    return (positions + 0.5) * scale - 0.5


def cells_of_grid(grid: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Returns `(rows, columns, 2)`: the (row, column) of each cell of a grid of `(2,)` sides."""
    sides = (tf.range(side) for side in tf.unstack(grid))
    return tf.cast(tf.stack(tf.meshgrid(*sides, indexing="ij"), axis=-1), dtype)


def _inside(displacement, pixels, target_size):
    """Shortens vectors at `pixels` (row, column) that would leave the target."""
    last = tf.cast(target_size - 1, tf.float32)
    return tf.clip_by_value(displacement, -pixels, last - pixels)


def _bilinear(values, positions):
    """Reads maps `(batch, rows, columns, depth)` at `(batch, n, 2)` positions, clamped to them."""
    size = tf.shape(values)[1:3]
    positions = tf.clip_by_value(positions, 0.0, tf.cast(size - 1, tf.float32))
    corner = tf.floor(positions)

    def read_cells(cells):
        return tf.gather_nd(values, cells, batch_dims=1)

    return _mix(read_cells, tf.cast(corner, tf.int32), positions - corner, size)


def _mix(read_cells, corner, share, size):
    """Interpolates between four whole positions, from `corner` `(batch, n, 2)` on, by `share`."""
    steps = [(down, across) for down in (0, 1) for across in (0, 1)]
    cells = [tf.minimum(corner + tf.constant(step), size - 1) for step in steps]
    # All four are read at once: fewer operations, which a model is exported and loaded faster with.
    found = tf.split(read_cells(tf.concat(cells, axis=1)), len(steps), axis=1)
    result = 0.0
    for (down, across), values in zip(steps, found, strict=True):
        row_share = share[..., :1] if down else 1 - share[..., :1]
        column_share = share[..., 1:] if across else 1 - share[..., 1:]
        result += row_share * column_share * values
    return result
