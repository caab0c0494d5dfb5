"""Matching images that are looked at twice inside a graph, as `Matcher(look_twice=...)` does."""

import tensorflow as tf

from anchornet_tf.features.look_twice import FIRST_LOOK
from anchornet_tf.features.object_probe import ObjectProbe
from anchornet_tf.matchers.closer_look import CLOSER_ODDS, MOST_CELLS, surer
from anchornet_tf.matchers.confidence import Confidence
from export.graph_flow import GridFlow, are_inside, cells_of_grid, centers, read
from export.graph_matching import Describe, describe_images, match_maps
from export.graph_parts import Parts, object_parts


def match_images(
    describe: Describe,
    source: tf.Tensor,
    target: tf.Tensor,
    image_size: tuple[int, int],
    closer_size: tuple[int, int],
    probe: ObjectProbe,
    matcher: str = "nearest",
    confidence: Confidence | None = None,
) -> GridFlow:
    """Matches images pair by pair, and the parts that show their objects once more.

    Args:
        describe: images `(batch, height, width, 3)` -> descriptors `(batch, rows, columns, depth)`.
        source: images as in `export.graph_matching.match_images`.
        target: The same.
        image_size: (height, width) that whole images are resized to for `describe`.
        closer_size: (height, width) that the parts are resized to.
        probe: What tells objects from background in the descriptors.
        matcher: As in `export.graph_matching.match_images`.
        confidence: As there. It sees the matches on the matcher's grid, whatever `closer_size`;
            `Matcher` looks at grids of more than 112 cells per side, which `nearest` has above 448
            pixels, on a coarser one.

    Raises:
        ValueError: for another matcher.
    """
    images = source, target
    maps = describe_images(describe, *images, image_size)
    sizes = [tf.shape(each)[1:3] for each in images]
    whole = match_maps(*maps, *sizes, matcher, confidence)
    parts = [
        object_parts(probe.logits(values), size) for values, size in zip(maps, sizes, strict=True)
    ]
    crops = [part.cut_out(each, closer_size) for part, each in zip(parts, images, strict=True)]
    second = tf.split(describe(tf.concat(crops, axis=0)), 2)
    closer = match_maps(
        *(_both_looks(*each) for each in zip(maps, second, parts, strict=True)),
        *(part.size[:, tf.newaxis] for part in parts),
        matcher,
        confidence,
        # Confidences are fitted to single looks.
        looked_at=tuple(second),
    )
    # As `Matcher` does: scores stay as they are.
    fitted = confidence is not None and confidence.is_for(matcher, second[0].shape[-1])
    return with_closer_look(whole, closer, *parts, CLOSER_ODDS if fitted else 1.0)


def _both_looks(first, second, parts: Parts):
    """Returns the second look at parts with the first one beside it, as `FocusedMap.closer`.

    Args:
        first: float32 `(batch, height, width, depth)` of whole images.
        second: float32 `(batch, rows, columns, depth)` of the parts.
        parts: The parts.
    """
    first = _unit(first)
    batch, height, width, depth = tf.unstack(tf.shape(first))
    rows, columns = tf.unstack(tf.shape(second)[1:3])
    (top, left), (bottom, right) = (tf.unstack(each, axis=-1) for each in parts.shares())
    down, across = _reading(height, rows, top, bottom), _reading(width, columns, left, right)
    # The two axes separate: rows of cells first, then cells within the rows.
    read_rows = tf.matmul(down, tf.reshape(first, (batch, height, width * depth)))
    read_rows = tf.reshape(read_rows, (batch, rows, width, depth))
    first = tf.ensure_shape(tf.matmul(across[:, tf.newaxis], read_rows), second.shape)
    return tf.concat([_unit(second), FIRST_LOOK**0.5 * _unit(first)], axis=-1)


def _unit(values):
    return values / tf.maximum(tf.norm(values, axis=-1, keepdims=True), 1e-6)


def _reading(cells, count, first, last):
    """Returns `(batch, count, cells)` weights that read places of parts of an axis bilinearly."""
    steps = (tf.range(tf.cast(count, tf.float64), dtype=tf.float64) + 0.5) / tf.cast(
        count, tf.float64
    )
    places = first[:, tf.newaxis] + steps * (last - first)[:, tf.newaxis]  # (batch, count)
    side = tf.cast(cells, tf.float64)
    places = tf.clip_by_value(places * side - 0.5, tf.zeros((), tf.float64), side - 1)
    distances = tf.abs(places[..., tf.newaxis] - tf.range(side, dtype=tf.float64))
    return tf.cast(tf.maximum(1 - distances, 0), tf.float32)


def with_closer_look(
    whole: GridFlow, closer: GridFlow, source: Parts, target: Parts, odds: float = 1.0
) -> GridFlow:
    """Returns flows that are the closer ones inside parts of the source images.

    Args:
        whole: Flows between images of one size.
        closer: Flows between a part of each.
        source: The parts of the source images.
        target: The parts of the target images.
        odds: How many times as high the odds of the closer matches are than they say.
    """
    grid = tf.minimum(whole.source_size, MOST_CELLS)
    # In double precision, as NumPy does it: whether a cell is inside a part must not depend on
    # rounding.
    starts = centers(cells_of_grid(grid, tf.float64), grid, whole.source_size)
    batch = tf.shape(whole.displacement)[0]
    starts = tf.tile(tf.reshape(starts, (1, -1, 2)), (batch, 1, 1))  # (batch, n, 2) of (y, x)
    vectors, sure = read(whole, starts)
    places = _within(starts, source)
    closer_vectors, closer_sure = read(closer, places)
    ends = _beyond(places + tf.cast(closer_vectors, tf.float64), target)
    inside = are_inside(places, closer.source_size)
    displacement = tf.where(inside[..., tf.newaxis], ends - starts, tf.cast(vectors, tf.float64))
    shape = tf.concat([[batch], grid], axis=0)
    return GridFlow(
        tf.cast(tf.reshape(displacement, tf.concat([shape, [2]], axis=0)), tf.float32),
        tf.reshape(tf.where(inside, surer(closer_sure, odds), sure), shape),
        whole.source_size,
        whole.target_size,
    )


def _within(places, parts: Parts):
    """Turns (y, x) in pixels of images, `(batch, n, 2)`, into pixels of parts of them."""
    first, last = (share[:, tf.newaxis] for share in parts.shares())
    shares = (places + 0.5) / tf.cast(parts.image_size, tf.float64)
    size = tf.cast(parts.size[:, tf.newaxis], tf.float64)
    return (shares - first) / (last - first) * size - 0.5


def _beyond(places, parts: Parts):
    """Turns (y, x) in pixels of parts, `(batch, n, 2)`, into pixels of the images."""
    first, last = (share[:, tf.newaxis] for share in parts.shares())
    size = tf.cast(parts.size[:, tf.newaxis], tf.float64)
    shares = first + (places + 0.5) / size * (last - first)
    return shares * tf.cast(parts.image_size, tf.float64) - 0.5
