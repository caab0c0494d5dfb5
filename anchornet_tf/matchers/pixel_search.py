"""Distances between descriptors, and a search for the best displacement around a given one.

The search compares every pixel with a window of target pixels around the place where its current
displacement leads: hundreds of descriptors, most of which the windows of its neighbours share.
Pixels are therefore grouped by the tile of the target in which their window is centred, and a
group is compared with all that its windows can reach in one matrix product.
"""

import tensorflow as tf

_TILE = 4  # Side of a tile of window centres, in steps of the search.
_GROUP = 16  # Pixels compared at once; a tile with more of them makes several groups.
# Numbers of a chunk of groups: small enough to stay in the cache from one operation to the next.
_CHUNK_SIZE = 2**19
_FAR = 1e30  # Stands for infinity.


def pack_source(descriptors: tf.Tensor) -> tf.Tensor:
    """Prepares descriptors so that a dot product with packed targets is a squared distance.

    Args:
        descriptors: float tensor `(..., depth)`.

    Returns:
        Tensor `(..., depth + 2)`.
    """
    squares = tf.reduce_sum(tf.square(descriptors), axis=-1, keepdims=True)
    return tf.concat([-2 * descriptors, squares, tf.ones_like(squares)], axis=-1)


def pack_target(descriptors: tf.Tensor, outside_distance: float) -> tf.Tensor:
    """The counterpart of `pack_source` for the other side of the product.

    Args:
        descriptors: float tensor `(height, width, depth)`.
        outside_distance: float. Distance of every source to what lies outside the image.

    Returns:
        Tensor `(height * width + 1, depth + 2)`; the last row stands for all that lies outside.
    """
    depth = tf.shape(descriptors)[-1]
    descriptors = tf.reshape(descriptors, (-1, depth))
    squares = tf.reduce_sum(tf.square(descriptors), axis=-1, keepdims=True)
    inside = tf.concat([descriptors, tf.ones_like(squares), squares], axis=-1)
    outside = tf.one_hot([depth + 1], depth + 2, on_value=outside_distance**2, dtype=inside.dtype)
    return tf.concat([inside, outside], axis=0)


def locate(rows: tf.Tensor, columns: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
    """Returns the rows of `pack_target` that hold given pixels.

    Args:
        rows: int32 tensor. May be negative or too large: outside.
        columns: int32 tensor that broadcasts with `rows`.
        size: int32 tensor `(2,)`, the image's height and width.

    Returns:
        int32 tensor of the broadcast shape.
    """
    inside = (rows >= 0) & (rows < size[0]) & (columns >= 0) & (columns < size[1])
    return tf.where(inside, rows * size[1] + columns, size[0] * size[1])


def search_pixels(
    source: tf.Tensor,
    target: tf.Tensor,
    displacement: tf.Tensor,
    *,
    radius: int,
    step: int,
    deformation: float,
    outside_distance: float,
    dtype: tf.DType = tf.float32,
) -> tf.Tensor:
    """Moves every pixel's displacement to the best of a window around it.

    A candidate costs the Euclidean distance of the two descriptors, or `outside_distance` beyond
    the target's border, plus `deformation` for each pixel that it departs from the displacement
    given, along y and along x. The first of equals wins, in the order of x, then y.

    Args:
        source: float tensor `(height, width, depth)`.
        target: float tensor `(target height, target width, depth)`.
        displacement: int32 tensor `(height, width, 2)` of `(dy, dx)`.
        radius: int. Largest change along an axis in pixels, a multiple of `step`.
        step: int. Distance of neighbouring candidates in pixels.
        deformation: float. Cost of a change by one pixel.
        outside_distance: float. Distance to anything beyond the target's border.
        dtype: Float type of the matrix products. Squared distances are differences of large
            numbers: in float32 distances are off by about `1e-7 * norm**2 / distance`.

    Returns:
        int32 tensor `(height, width, 2)`.

    Raises:
        ValueError: If `radius` is not a multiple of `step`.
    """
    if step < 1 or radius < 0 or radius % step:
        raise ValueError(
            "`radius` must be a multiple of `step`, which must be positive. "
            f"Received: radius={radius}, step={step}"
        )
    depth = tf.shape(source)[-1]
    reach = radius // step
    region = _TILE + 2 * reach  # Side of what the windows centred in a tile can see, in steps.
    size, target_size = tf.shape(source)[:2], tf.shape(target)[:2]
    # A window that misses the image by a pixel sees as little of it as one further away.
    centers = tf.clip_by_value(pixel_grid(size) + displacement, -radius - 1, target_size + radius)
    chunk_size = tf.maximum(_CHUNK_SIZE // (region * region * (depth + 2)), 1)
    members, origins, slots = _group_pixels(
        tf.reshape(centers, (-1, 2)), target_size, radius, step, chunk_size
    )
    local = tf.reshape(centers // step % _TILE, (-1, 2))  # Place of a centre in its tile.
    flat_source = tf.reshape(source, (-1, depth))
    packed_target = pack_target(tf.cast(target, dtype), outside_distance)

    def penalties(places):
        """`(groups, pixels)` places in the tile -> costs `(groups, region, pixels)` of moves."""
        moves = tf.abs(tf.range(region)[:, tf.newaxis] - reach - places[:, tf.newaxis])
        return tf.where(moves <= reach, deformation * step * tf.cast(moves, tf.float32), _FAR)

    def search_chunk(inputs):
        pixels, origin = inputs  # (groups, pixels), (groups, 2)
        rows, columns = tf.unstack(
            origin[..., tf.newaxis] + step * tf.range(region), axis=1
        )  # (groups, region)
        # x before y: among equals argmin finds the first in that order.
        candidates = locate(rows[:, tf.newaxis], columns[:, :, tf.newaxis], target_size)
        squares = tf.matmul(
            tf.gather(packed_target, tf.reshape(candidates, (-1, region * region))),
            pack_source(tf.cast(tf.gather(flat_source, pixels), dtype)),
            transpose_b=True,
        )  # (groups, region * region, pixels)
        places = tf.gather(local, pixels)  # (groups, pixels, 2)
        deviation = (
            penalties(places[..., 1])[:, :, tf.newaxis] + penalties(places[..., 0])[:, tf.newaxis]
        )  # (groups, region x, region y, pixels)
        costs = tf.sqrt(tf.nn.relu(tf.cast(squares, tf.float32)))
        costs += tf.reshape(deviation, tf.shape(costs))
        best = tf.argmin(costs, axis=1, output_type=tf.int32)  # (groups, pixels)
        return tf.stack([best % region, best // region], axis=-1) - reach - places

    moves = tf.map_fn(search_chunk, (members, origins), fn_output_signature=tf.int32)
    moves = tf.gather(tf.reshape(moves, (-1, 2)), slots)  # (pixels, 2)
    return displacement + step * tf.reshape(moves, tf.shape(displacement))


def flow_distances(
    source: tf.Tensor, target: tf.Tensor, displacement: tf.Tensor, outside_distance: float
) -> tf.Tensor:
    """Returns the Euclidean distance of each pixel's descriptor to that of its match.

    Args:
        source: float tensor `(height, width, depth)`.
        target: float tensor `(target height, target width, depth)`.
        displacement: int32 tensor `(height, width, 2)` of `(dy, dx)`.
        outside_distance: float. Distance to anything beyond the target's border.

    Returns:
        float32 tensor `(height, width)`.
    """
    target_size = tf.shape(target)[:2]
    positions = pixel_grid(tf.shape(source)[:2]) + displacement
    inside = tf.reduce_all((positions >= 0) & (positions < target_size), axis=-1)
    matches = tf.gather_nd(target, tf.clip_by_value(positions, 0, target_size - 1))
    squares = tf.reduce_sum(tf.math.squared_difference(source, matches), axis=-1)
    return tf.where(inside, tf.sqrt(squares), outside_distance)


def pixel_grid(size: tf.Tensor) -> tf.Tensor:
    """Returns the `(y, x)` of each pixel: int32 `(height, width, 2)`."""
    return tf.stack(tf.meshgrid(tf.range(size[0]), tf.range(size[1]), indexing="ij"), axis=-1)


def _group_pixels(
    centers: tf.Tensor, target_size: tf.Tensor, radius: int, step: int, chunk_size: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Groups pixels whose windows are centred in one tile of the target.

    Candidates lie `step` pixels apart: centres of one phase (remainder of the division by `step`)
    only meet target pixels of that phase. A tile is therefore one of such a sub-grid.

    Args:
        centers: int32 tensor `(pixels, 2)` of `(y, x)` in the target, at most `radius` pixels off
            it.
        chunk_size: int32. Groups of a chunk at most.

    Returns:
        `members` `(chunks, chunk_size, pixels of a group)`: numbers of pixels, padded with 0;
        `origins` `(chunks, chunk_size, 2)`: the target pixel where each group's region begins;
        `slots` `(pixels,)`: where each pixel is found in the flattened `members`.
    """
    phases, steps = centers % step, centers // step
    first_tile = (-radius - 1) // step // _TILE
    tiles = steps // _TILE - first_tile
    grid = (target_size + radius) // step // _TILE - first_tile + 1
    keys = (tiles[:, 0] * grid[1] + tiles[:, 1]) * step**2 + phases[:, 0] * step + phases[:, 1]
    counts = tf.math.bincount(keys, minlength=grid[0] * grid[1] * step**2)
    group_counts = -(-counts // _GROUP)
    num_groups = tf.reduce_sum(group_counts)
    num_chunks = -(-num_groups // chunk_size)
    chunk_size = -(-num_groups // num_chunks)  # Chunks of about one size need little padding.

    order = tf.argsort(keys)
    sorted_keys = tf.gather(keys, order)
    first_slots = _GROUP * tf.cumsum(group_counts, exclusive=True) - tf.cumsum(
        counts, exclusive=True
    )
    sorted_slots = tf.gather(first_slots, sorted_keys) + tf.range(tf.size(keys))
    members = tf.scatter_nd(sorted_slots[:, tf.newaxis], order, [num_chunks * chunk_size * _GROUP])
    slots = tf.scatter_nd(order[:, tf.newaxis], sorted_slots, tf.shape(keys))

    group_keys = tf.repeat(tf.range(tf.size(counts)), group_counts)
    group_keys = tf.pad(group_keys, [[0, num_chunks * chunk_size - num_groups]])
    group_tiles = group_keys // step**2
    group_tiles = tf.stack([group_tiles // grid[1], group_tiles % grid[1]], axis=-1)
    group_phases = tf.stack([group_keys // step % step, group_keys % step], axis=-1)
    origins = ((group_tiles + first_tile) * _TILE - radius // step) * step + group_phases
    return (
        tf.reshape(members, (num_chunks, chunk_size, _GROUP)),
        tf.reshape(origins, (num_chunks, chunk_size, 2)),
        slots,
    )
