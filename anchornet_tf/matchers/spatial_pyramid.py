"""The regions of DSP's spatial pyramid: what each displacement costs them, and where they lie.

Distances are taken between samples on a lattice of the two images, and displacements are multiples
of the lattice's step: all that regions compare are pairs of samples.
"""

import tensorflow as tf

from anchornet_tf.matchers.pixel_search import locate, pack_source, pack_target

NUM_LEVELS = 3
LEVEL_SIDES = tuple(2**level for level in range(NUM_LEVELS))  # Regions per side of each level.
NUM_SAMPLES = 2500  # The lattice has about this many points.


def lattice(size: tf.Tensor, target_size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses the lattice of samples and displacements for two images.

    Args:
        size: int32 tensor `(2,)`, the source's height and width.
        target_size: int32 tensor `(2,)`, the target's.

    Returns:
        Tuple of the distance of neighbouring samples in pixels, and of the number `(2,)` of
        lattice steps (along y and x) that a displacement can reach in either direction.
    """
    area = tf.cast(tf.reduce_prod(size), tf.float64)
    step = tf.maximum(tf.cast(tf.sqrt(area / NUM_SAMPLES) + 0.5, tf.int32), 1)
    radius = (tf.maximum(size, target_size) + 1) // 2
    return step, radius // step


def node_costs(
    source: tf.Tensor,
    target: tf.Tensor,
    num_steps: tf.Tensor,
    *,
    truncation: float,
    reference: bool = False,
) -> tf.Tensor:
    """Averages the distances of descriptors over each region for each displacement.

    Args:
        source: float32 tensor `(rows, columns, depth)`: the source's samples, see `lattice`.
        target: float32 tensor `(target rows, target columns, depth)`: the target's samples.
        num_steps: int32 tensor `(2,)`. Reach of displacements, see `lattice`.
        truncation: float. Largest distance, and that to anything outside the target.
        reference: bool. Whether regions leave out their first row and column, as they do in the
            published program.

    Returns:
        float32 tensor `(nodes, x states, y states)`.
    """
    rows, columns = tf.shape(source)[0], tf.shape(source)[1]
    states_y, states_x = 2 * num_steps[0] + 1, 2 * num_steps[1] + 1
    # Sample (i, j) moved by (dy, dx) steps meets the target's sample (i + dy, j + dx): with a
    # margin of `num_steps` around the source's lattice every such place exists.
    places = locate(
        tf.range(-num_steps[0], rows + num_steps[0])[:, tf.newaxis],
        tf.range(-num_steps[1], columns + num_steps[1]),
        tf.shape(target)[:2],
    )
    target = tf.gather(pack_target(tf.cast(target, tf.float64), truncation), places)
    source = pack_source(tf.cast(source, tf.float64))
    corner_rows, corner_columns, areas = _corners(rows, columns, reference)

    def add_row(row, column_sums, integrals):
        squares = tf.matmul(
            source[row], target[row : row + states_y], transpose_b=True
        )  # (y states, columns, padded columns)
        squares = _skew(tf.cast(squares, tf.float32), states_x)  # (y states, columns, x states)
        column_sums += tf.sqrt(tf.clip_by_value(squares, 0.0, truncation**2))
        here = corner_rows == row  # (corners,)

        def read_corners():
            integral = tf.pad(tf.cumsum(column_sums, axis=1), [[0, 0], [1, 0], [0, 0]])
            met = tf.gather(integral, corner_columns + 1, axis=1)
            return integrals + tf.where(here[:, tf.newaxis], met, 0.0)

        integrals = tf.cond(tf.reduce_any(here), read_corners, lambda: integrals)
        return row + 1, column_sums, integrals

    _, _, integrals = tf.while_loop(
        lambda row, *_: row < rows,
        add_row,
        (
            0,
            tf.zeros((states_y, columns, states_x)),
            tf.zeros((states_y, tf.size(corner_rows), states_x)),
        ),
    )
    last_last, first_first, first_last, last_first = tf.split(integrals, 4, axis=1)
    sums = last_last + first_first - first_last - last_first  # (y states, nodes, x states)
    # A lattice narrower than the finest level leaves regions empty: they have no say.
    return tf.math.divide_no_nan(tf.transpose(sums, (1, 2, 0)), areas[:, tf.newaxis, tf.newaxis])


def normalize_levels(costs: tf.Tensor, reference: bool = False) -> tf.Tensor:
    """Divides the costs of each level by their mean.

    Args:
        costs: float32 tensor `(nodes, x states, y states)`.
        reference: bool. Whether to add up one by one in float32, whose errors reach 3e-4 here.

    Returns:
        Tensor of the same shape.
    """
    normalized = []
    for level in tf.split(costs, [side * side for side in LEVEL_SIDES]):
        mean = tf.reduce_mean(level)
        if reference:
            mean = tf.cumsum(tf.reshape(level, [-1]))[-1] / tf.cast(tf.size(level), tf.float32)
        normalized.append(tf.math.divide_no_nan(level, mean))
    return tf.concat(normalized, axis=0)


def leaf_regions(
    states: tf.Tensor, size: tf.Tensor, step: tf.Tensor, num_steps: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Finds the pixels of each region of the finest level, and its displacement.

    Args:
        states: int32 tensor `(nodes,)` from `propagate_beliefs`.
        size: int32 tensor `(2,)`, the source's height and width.
        step: int32. See `lattice`.
        num_steps: int32 tensor `(2,)`. See `lattice`.

    Returns:
        First pixel `(y, x)` of each region that holds any, the pixel after its last, and its
        displacement `(dy, dx)` in pixels: int32 tensors `(regions, 2)`.
    """
    side = LEVEL_SIDES[-1]
    states_y = 2 * num_steps[0] + 1
    leaves = states[-side * side :]  # Along y first.
    displacements = step * (tf.stack([leaves % states_y, leaves // states_y], axis=-1) - num_steps)
    inner = tf.range(1, side) * (size[:, tf.newaxis] - 1) // side  # (2, side - 1)
    borders = tf.concat([tf.zeros((2, 1), tf.int32), inner, size[:, tf.newaxis]], axis=1)
    x, y = (tf.reshape(part, [-1]) for part in tf.meshgrid(*2 * [tf.range(side)], indexing="ij"))
    first = tf.stack([tf.gather(borders[0], y), tf.gather(borders[1], x)], axis=-1)
    end = tf.stack([tf.gather(borders[0], y + 1), tf.gather(borders[1], x + 1)], axis=-1)
    held = tf.where(tf.reduce_all(first < end, axis=-1))[:, 0]
    return tuple(tf.gather(part, held) for part in (first, end, displacements))


def _corners(
    rows: tf.Tensor, columns: tf.Tensor, reference: bool
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Finds where to read an integral image of the lattice for the sums over the regions.

    Args:
        rows: int32. Rows of the lattice.
        columns: int32. Columns of the lattice.
        reference: bool. Whether regions leave out their first row and column.

    Returns:
        Rows and columns `(4 * nodes,)` of four corners per region: its last row and last column;
        the row and the column before its first; the former with its last column; its last row
        with the latter. And the areas `(nodes,)`, float32.
    """
    before = 0 if reference else -1
    ends, areas = [], []
    for side in LEVEL_SIDES:
        height, width = rows // side, columns // side
        x, y = (
            tf.reshape(part, [-1]) for part in tf.meshgrid(*2 * [tf.range(side)], indexing="ij")
        )
        first_row, first_column = y * height, x * width
        ends.append(
            tf.stack(
                [
                    first_row + before,
                    first_row + height - 1,
                    first_column + before,
                    first_column + width - 1,
                ]
            )
        )
        areas.append(tf.fill([side * side], height * width))
    first_rows, last_rows, first_columns, last_columns = tf.unstack(tf.concat(ends, axis=1))
    return (
        tf.concat([last_rows, first_rows, first_rows, last_rows], axis=0),
        tf.concat([last_columns, first_columns, last_columns, first_columns], axis=0),
        tf.cast(tf.concat(areas, axis=0), tf.float32),
    )


def _skew(values: tf.Tensor, width: tf.Tensor) -> tf.Tensor:
    """Shifts row `j` of each `(rows, rows + width - 1)` matrix left by `j`.

    Args:
        values: tensor `(batch, rows, rows + width - 1)`.

    Returns:
        Tensor `(batch, rows, width)`.
    """
    batch, rows, columns = (tf.shape(values)[axis] for axis in range(3))
    # Read with rows one longer than they are, the flat matrix starts each row one further on.
    flat = tf.pad(tf.reshape(values, (batch, rows * columns)), [[0, 0], [0, rows]])
    return tf.reshape(flat, (batch, rows, columns + 1))[:, :, :width]
