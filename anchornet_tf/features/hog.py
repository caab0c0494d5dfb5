"""Histograms of oriented gradients in 31 channels, of images and of boxes in them.

The channels of a cell are 18 signed directions, 9 unsigned ones and 4 sums of gradient energy, one
for each of the blocks of 2 x 2 cells by which the cell is normalised.

Reference:
    Felzenszwalb, Girshick, McAllester, Ramanan: Object Detection with Discriminatively Trained
    Part-Based Models, PAMI 2010, section 6, with the numbers of its published program.
"""

import numpy as np
import scipy.sparse

from anchornet_tf.features.boxes import check_boxes

NUM_CHANNELS = 31
CELL_SIZE = 8  # pixels
TEMPLATE_CELLS = 8  # cells on a side of a box
_NUM_DIRECTIONS = 9  # in half a turn
# The program's own digits of cos and sin: exact ones would break its ties differently.
_COSINES = np.array([1.0, 0.9397, 0.766, 0.5, 0.1736, -0.1736, -0.5, -0.766, -0.9397])
_SINES = np.array([0.0, 0.342, 0.6428, 0.866, 0.9848, 0.9848, 0.866, 0.6428, 0.342])
_BLOCK_EPSILON = 1e-4
_CLIP = 0.2
_DIRECTION_FACTOR = 0.5
_ENERGY_FACTOR = 0.2357
_LEVEL_PARTS = 16  # crops are kept to a sixteenth of a level
_BOXES_AT_ONCE = 64  # bounds memory: a box of 10 x 10 cells takes about a megabyte on the way


def hog(images: np.ndarray, cell_size: int = CELL_SIZE) -> np.ndarray:
    """Computes gradient histograms of a batch of images of one size.

    Args:
        images: float or integer array `(batch, height, width, 3)`, in levels of 0 to 255.
        cell_size: int. Side of a cell in pixels.

    Returns:
        `(batch, rows, columns, 31)` where an axis of `round(size / cell_size)` cells loses its
        first and last cell, which have no complete blocks. Floats of the input's precision, float32
        for integers.

    Raises:
        ValueError: If the shape is another or no cell is left.
    """
    images = np.asarray(images)
    if images.ndim != 4 or images.shape[3] != 3:
        raise ValueError(
            "`images` must have shape (batch, height, width, 3). "
            f"Received: images.shape={images.shape}"
        )
    if not np.issubdtype(images.dtype, np.floating):
        images = images.astype(np.float32)
    num_cells = [int(size / cell_size + 0.5) for size in images.shape[1:3]]
    if min(num_cells) < 3:
        raise ValueError(
            f"Images must be at least three cells of {cell_size} pixels high and wide. "
            f"Received: images.shape={images.shape}"
        )
    magnitude, direction = _oriented_gradients(images, [n * cell_size for n in num_cells])
    histograms = _cell_histograms(magnitude, direction, num_cells, cell_size)
    return _normalized_cells(histograms)


def _oriented_gradients(images, size):
    """Returns the gradient's length and direction 0..17 inside `size`, without a border of one."""
    energy = None
    for channel in np.moveaxis(images, -1, 0):  # (batch, height, width)
        along = channel[:, 1:-1, 2:] - channel[:, 1:-1, :-2]
        down = channel[:, 2:, 1:-1] - channel[:, :-2, 1:-1]
        channel_energy = along * along + down * down
        if energy is None:
            strongest_along, strongest_down, energy = along, down, channel_energy
            continue
        stronger = channel_energy > energy
        np.copyto(strongest_along, along, where=stronger)
        np.copyto(strongest_down, down, where=stronger)
        np.copyto(energy, channel_energy, where=stronger)
    direction = _directions(strongest_along, strongest_down)
    # Cells are rounded to whole ones: where they reach past the image its last gradient repeats.
    rows, columns = (
        np.minimum(np.arange(side - 2), extent - 1)
        for side, extent in zip(size, energy.shape[1:], strict=True)
    )
    if energy.shape[1:] != (len(rows), len(columns)):
        energy, direction = energy[:, rows][..., columns], direction[:, rows][..., columns]
    return np.sqrt(energy), direction


def _directions(along, down):
    """Returns which of 18 directions each gradient is closest to."""
    backwards = (down < 0) | ((down == 0) & (along < 0))
    sign = np.where(backwards, -1, 1).astype(along.dtype)
    along, down = along * sign, down * sign
    # In the upper half turn, the direction is the number of borders between directions passed.
    cosines, sines = np.append(_COSINES, -_COSINES[0]), np.append(_SINES, -_SINES[0])
    direction = np.zeros(along.shape, np.uint8)
    for cosine, sine in zip(np.diff(cosines), np.diff(sines), strict=True):
        direction += along.dtype.type(cosine) * along + along.dtype.type(sine) * down > 0
    direction += backwards * np.uint8(_NUM_DIRECTIONS)
    return direction % (2 * _NUM_DIRECTIONS)


def _cell_histograms(magnitude, direction, num_cells, cell_size):
    """Returns `(batch, rows, columns, 18)`: each pixel votes for its four nearest cells."""
    batch, height, width = magnitude.shape
    votes = np.zeros((magnitude.size, 2 * _NUM_DIRECTIONS), magnitude.dtype)
    votes[np.arange(magnitude.size), direction.ravel()] = magnitude.ravel()
    rows, columns = (_vote_weights(n, cell_size).astype(magnitude.dtype) for n in num_cells)
    votes = rows @ votes.reshape(batch, height, -1)
    return columns @ votes.reshape(batch, num_cells[0], width, -1)


def _vote_weights(num_cells, cell_size):
    """Returns `(cells, pixels - 2)`: each cell's linear share of each pixel but the outermost."""
    pixels = (np.arange(1, num_cells * cell_size - 1) + 0.5) / cell_size - 0.5
    return np.maximum(0, 1 - np.abs(np.arange(num_cells)[:, np.newaxis] - pixels))


def _normalized_cells(histograms):
    """Returns `(batch, rows - 2, columns - 2, 31)` from `(batch, rows, columns, 18)`."""
    unsigned = histograms[..., :_NUM_DIRECTIONS] + histograms[..., _NUM_DIRECTIONS:]
    energy = np.einsum("...o,...o->...", unsigned, unsigned)
    blocks = energy[:, :-1, :-1] + energy[:, 1:, :-1] + energy[:, :-1, 1:] + energy[:, 1:, 1:]
    scale = 1 / np.sqrt(blocks + _BLOCK_EPSILON)
    inner = slice(1, -1)
    channels = np.concatenate([histograms, unsigned], axis=-1)[:, inner, inner]
    directions, energies = 0, []
    # The four blocks of a cell, in the program's order of energy channels.
    for below, right in ((1, 1), (0, 1), (1, 0), (0, 0)):
        rows, columns = (slice(shift, shift - 1 or None) for shift in (below, right))
        clipped = np.minimum(channels * scale[:, rows, columns, np.newaxis], _CLIP)
        directions = directions + clipped
        energies.append(clipped[..., : 2 * _NUM_DIRECTIONS].sum(axis=-1))
    return np.concatenate(
        [_DIRECTION_FACTOR * directions, _ENERGY_FACTOR * np.stack(energies, axis=-1)], axis=-1
    )


def box_hog(image: np.ndarray, boxes: np.ndarray, reference: bool = False) -> np.ndarray:
    """Computes the 8 x 8 cells of each box, whatever its size.

    A box grows by an eighth on each side (one cell), is cut out with the image's border repeated
    and resized to 80 x 80 pixels; the outermost cells are dropped.

    Args:
        image: uint8 array `(height, width, 3)`.
        boxes: `(n, 4)` boxes as in `anchornet_tf.features.boxes`; they may reach over the image.
        reference: bool. True reproduces the published matching program as it was run: crops are
            rounded to whole levels, and shrinking ones use weights that do not sum to one. This
            puts a pattern of dots on flat regions of large boxes; False leaves it out.

    Returns:
        `(n, 8, 8, 31)`; float64 if `reference`, else float32.
    """
    boxes = check_boxes(boxes)
    dtype = np.float64 if reference else np.float32
    side = TEMPLATE_CELLS + 2
    result = np.empty((len(boxes), TEMPLATE_CELLS, TEMPLATE_CELLS, NUM_CHANNELS), dtype)
    for start in range(0, len(boxes), _BOXES_AT_ONCE):
        batch = slice(start, start + _BOXES_AT_ONCE)
        crops = _crop_boxes(
            np.asarray(image, dtype), boxes[batch], side * CELL_SIZE, normalized=not reference
        )
        if reference:
            # Halves go up, also those that rounding errors put just below.
            crops = np.clip(np.floor(crops + (0.5 + 1e-7)), 0, 255)
        else:
            # Normalisation would blow up rounding errors on regions that are perfectly flat.
            crops = np.rint(crops * _LEVEL_PARTS) / _LEVEL_PARTS
        result[batch] = hog(crops)
    return result


def _crop_boxes(image, boxes, size, normalized):
    """Returns boxes with a margin of one cell, resized linearly: `(n, size, size, 3)`."""
    height, width = image.shape[:2]
    margin = (boxes[:, 2:] - boxes[:, :2] + 1) / TEMPLATE_CELLS
    first = _round_half_away(boxes[:, :2] - margin)
    last = _round_half_away(boxes[:, 2:] + margin)
    # Both axes are sparse matrix products over all boxes at once: the rows of the one image, then
    # the columns of each box's own rows.
    weights, pixels = _resize_weights(first[:, 1], last[:, 1], size, height, normalized)
    resized = _mix(weights, pixels, np.moveaxis(image, 2, 1).reshape(height, 3 * width))
    resized = resized.reshape(len(boxes), size, 3, width).transpose(0, 3, 2, 1)
    weights, pixels = _resize_weights(first[:, 0], last[:, 0], size, width, normalized)
    pixels += np.arange(len(boxes))[:, np.newaxis, np.newaxis] * width
    resized = _mix(weights, pixels, resized.reshape(len(boxes) * width, 3 * size))
    return resized.reshape(len(boxes), size, 3, size).transpose(0, 3, 1, 2)


def _round_half_away(pixels):
    """Rounds as the program does, whose pixels count from one: -1.5 is its -0.5 and becomes -2."""
    pixels = pixels + 1
    return np.sign(pixels) * np.floor(np.abs(pixels) + 0.5) - 1


def _resize_weights(first, last, size, extent, normalized):
    """Finds what the pixels of an axis add to the samples of crops along it.

    Args:
        first: `(n,)` first pixel of each crop, possibly negative.
        last: `(n,)` last pixel of each crop, possibly past the end.
        size: int. Samples of each crop.
        extent: int. Pixels of the image along the axis.
        normalized: bool. Whether the weights of a sample sum to one.

    Returns:
        Weights and pixels, each `(n, size, taps)`; a pixel may come up more than once.
    """
    length = (last - first + 1)[:, np.newaxis, np.newaxis]
    shrink = np.maximum(length / size, 1)
    centers = (np.arange(size)[:, np.newaxis] + 0.5) * (length / size) - 0.5  # (n, size, 1)
    reach = int(np.ceil(shrink.max(initial=1)))
    taps = np.floor(centers) + np.arange(-reach, reach + 2)  # (n, size, taps)
    weights = np.maximum(0, 1 - np.abs(taps - centers) / shrink) / shrink
    if normalized:
        weights /= weights.sum(axis=-1, keepdims=True)
    # The crop ends before the image: its own border is repeated first, then the image's.
    pixels = np.clip(taps, 0, length - 1) + first[:, np.newaxis, np.newaxis]
    return weights, np.clip(pixels, 0, extent - 1).astype(np.int64)


def _mix(weights, indices, values):
    """Returns the weighted sums of rows of `values` `(m, k)` that `(..., taps)` weights pick."""
    taps = weights.shape[-1]
    starts = np.arange(0, weights.size + 1, taps)
    mixture = scipy.sparse.csr_array(
        (weights.astype(values.dtype).ravel(), indices.ravel(), starts),
        shape=(len(starts) - 1, len(values)),
    )
    return mixture @ values
