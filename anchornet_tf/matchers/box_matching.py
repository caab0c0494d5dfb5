"""The three region matchers of Proposal Flow: NAM, PHM and LOM.

Each takes the similarity of every source box to every target box and returns a confidence of the
same shape; the match of a source box is the target box of highest confidence.

Reference:
    Ham, Cho, Schmid, Ponce: Proposal Flow, CVPR 2016. Numbers and order of operations are those of
    its published program, which differ in places from the paper's formulas.
"""

import numpy as np
import scipy.ndimage

from anchornet_tf.features.boxes import box_frames, check_boxes, intersection_areas

# Boxes match only if their aspect ratios differ by less than this factor.
_ASPECT_FACTOR = 2.0

# PHM: the Hough space of where the image corner lands and of the scale.
_HOUGH_CELLS = 8000  # cells in the plane, before the smallest side is applied
_HOUGH_MIN_SIDE = 5.0  # pixels
_HOUGH_SCALES = 20
_HOUGH_SCALE_RANGE = 4.0  # log2 of the ratio of areas runs over [-4, 4)
_HOUGH_KERNEL = 5
_HOUGH_SIGMA = 5 / 2 / 2.354  # 2.354 is the full width at half maximum of a unit Gaussian

# LOM: how fast the affinity falls with the distance from the neighbours' offset.
_LOM_POSITION_RATE = 0.05  # per pixel
_LOM_SCALE_RATE = 0.3  # per unit of area ratio
_LOM_MEDIAN_STEPS = 20
LOM_VARIANTS = ("ordered", "published", "parallel")


def box_similarity(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Returns the positive part of all dot products of two sets of box descriptors.

    Args:
        source: float array `(n_source, depth)`.
        target: float array `(n_target, depth)`.

    Returns:
        float32 array `(n_source, n_target)`.

    Raises:
        ValueError: If the depths differ.
    """
    source, target = np.asarray(source, np.float32), np.asarray(target, np.float32)
    if source.ndim != 2 or target.ndim != 2 or source.shape[1] != target.shape[1]:
        raise ValueError(
            "Descriptors of source and target boxes must be (n, depth) arrays of one depth. "
            f"Received: source.shape={source.shape}, target.shape={target.shape}"
        )
    similarity = source @ target.T
    return np.maximum(similarity, 0, out=similarity)


def best_matches(confidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns each source box's best target box and how sure it is.

    Args:
        confidence: array `(n_source, n_target)`.

    Returns:
        `(n_source,)` indices of target boxes (the first of equal ones, 0 where nothing matches) and
        `(n_source,)` confidences (0 where nothing matches).
    """
    if confidence.size == 0:
        return np.zeros(len(confidence), np.int64), np.zeros(len(confidence), np.float32)
    best = confidence.argmax(axis=1)
    return best, np.take_along_axis(confidence, best[:, np.newaxis], axis=1)[:, 0]


def naive_appearance_matching(
    similarity: np.ndarray,
    source_boxes: np.ndarray,
    target_boxes: np.ndarray,
    aspect_filter: bool = True,
) -> np.ndarray:
    """NAM: appearance alone, between boxes of about the same aspect ratio.

    Args:
        similarity: array `(n_source, n_target)`, not negative.
        source_boxes: `(n_source, 4)` boxes as in `anchornet_tf.features.boxes`.
        target_boxes: `(n_target, 4)` boxes.
        aspect_filter: bool. Whether aspect ratios that differ by a factor of two or more exclude a
            match. Boxes one pixel wide or high have no aspect ratio and never match.

    Returns:
        float32 array `(n_source, n_target)`.

    Raises:
        ValueError: If shapes disagree or a box is inside out.
    """
    similarity, source_boxes, target_boxes = _check(similarity, source_boxes, target_boxes)
    source, target = box_frames(source_boxes), box_frames(target_boxes)
    with np.errstate(divide="ignore", invalid="ignore"):
        source_aspect = np.log2(source.half_width / source.half_height)
        target_aspect = np.log2(target.half_width / target.half_height)
    allowed = np.isfinite(source_aspect)[:, np.newaxis] & np.isfinite(target_aspect)
    if aspect_filter:
        with np.errstate(invalid="ignore"):
            difference = np.abs(target_aspect - source_aspect[:, np.newaxis])
        allowed &= difference < np.log2(_ASPECT_FACTOR)
    return similarity * allowed


def probabilistic_hough_matching(
    appearance: np.ndarray,
    source_boxes: np.ndarray,
    target_boxes: np.ndarray,
    source_size: tuple[int, int],
    target_size: tuple[int, int],
) -> np.ndarray:
    """PHM: appearance times how many boxes agree on the same shift and scale of the object.

    Args:
        appearance: array `(n_source, n_target)`, the result of `naive_appearance_matching`.
        source_boxes: `(n_source, 4)` boxes as in `anchornet_tf.features.boxes`.
        target_boxes: `(n_target, 4)` boxes.
        source_size: `(height, width)` of the source image.
        target_size: `(height, width)` of the target image.

    Returns:
        float32 array `(n_source, n_target)`.

    Raises:
        ValueError: If shapes disagree or a box is inside out.
    """
    appearance, source_boxes, target_boxes = _check(appearance, source_boxes, target_boxes)
    bins, shape = _hough_bins(source_boxes, target_boxes, source_size, target_size)
    num_bins = int(np.prod(shape))
    voting = (appearance > 0) & (bins >= 0)
    rows, columns = np.nonzero(voting)
    votes, voted_bins = appearance[rows, columns], bins[rows, columns]

    # A box adds only its best vote to a bin. Non-negative floats sort like their bits, so that one
    # sort of (box, bin, vote) packed into integers puts the best vote last in its group.
    groups = rows.astype(np.uint64) * np.uint64(num_bins) + voted_bins.astype(np.uint64)
    packed = np.sort((groups << np.uint64(32)) | votes.view(np.uint32))
    groups = packed >> np.uint64(32)
    last = np.append(groups[1:] != groups[:-1], True)[: len(groups)]
    best_votes = (packed[last] & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    best_bins = (groups[last] % np.uint64(num_bins)).astype(np.int64)
    hough = np.bincount(best_bins, weights=best_votes, minlength=num_bins).reshape(shape)

    positions = np.arange(_HOUGH_KERNEL) - _HOUGH_KERNEL // 2
    kernel = np.exp(-0.5 * (positions / _HOUGH_SIGMA) ** 2)
    kernel /= kernel.sum()
    for axis in range(3):
        hough = scipy.ndimage.correlate1d(hough, kernel, axis=axis, mode="constant")

    confidence = np.zeros_like(appearance)
    confidence[rows, columns] = votes * hough.ravel()[voted_bins]
    return confidence


def _hough_bins(source_boxes, target_boxes, source_size, target_size):
    """Returns `(n_source, n_target)` indices of Hough bins, -1 for outside, and the bins' shape.

    A pair of boxes maps one image onto the other; its bin says where this map puts the bottom-right
    corner of the source image, and the ratio of areas.
    """
    source, target = box_frames(source_boxes), box_frames(target_boxes)
    source_height, source_width = source_size
    target_height, target_width = target_size
    side = max(np.sqrt(4 * target_width * target_height / _HOUGH_CELLS), _HOUGH_MIN_SIDE)
    shape = (
        max(int(np.floor(2 * target_height / side + 0.5)), 1),
        max(int(np.floor(2 * target_width / side + 0.5)), 1),
        _HOUGH_SCALES,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        # The program counts pixels from one, so that the corner is at (width, height) there and
        # the bins start at one: one less here.
        across = (source_width - 1 - source.center_x) / source.half_width
        down = (source_height - 1 - source.center_y) / source.half_height
        source_area = np.log2(source.half_width * source.half_height)
        target_area = np.log2(target.half_width * target.half_height)
        corner_x = target.center_x + target.half_width * across[:, np.newaxis]
        corner_y = target.center_y + target.half_height * down[:, np.newaxis]
        scale = target_area - source_area[:, np.newaxis]
    coordinates = (
        corner_y * (shape[0] / (2 * target_height - 1)),
        corner_x * (shape[1] / (2 * target_width - 1)),
        (scale + _HOUGH_SCALE_RANGE) * (_HOUGH_SCALES / (2 * _HOUGH_SCALE_RANGE)),
    )
    inside = np.ones(corner_x.shape, bool)
    index = np.zeros(corner_x.shape, np.int64)
    for coordinate, count in zip(coordinates, shape, strict=True):
        inside &= (coordinate >= 0) & (coordinate < count)  # False for NaN as well.
        index = index * count + np.where(inside, coordinate, 0).astype(np.int64)
    return np.where(inside, index, -1), shape


def local_offset_matching(
    appearance: np.ndarray,
    source_boxes: np.ndarray,
    target_boxes: np.ndarray,
    variant: str = "ordered",
) -> np.ndarray:
    """LOM: appearance times agreement with the offsets of the overlapping source boxes.

    Args:
        appearance: array `(n_source, n_target)`, the result of `naive_appearance_matching`.
        source_boxes: `(n_source, 4)` boxes as in `anchornet_tf.features.boxes`.
        target_boxes: `(n_target, 4)` boxes.
        variant: How boxes learn from their neighbours.
            `"ordered"`: one after the other; each sees the matches of those before it already
            improved, so that the result depends on the order of the boxes. The offset to agree with
            is the median of the neighbours'.
            `"published"`: the same with the published program's approximation of the median, which
            often stays at its start of one pixel, or leaves it by rounding errors.
            `"parallel"`: all boxes see the matches by appearance alone.

    Returns:
        float32 array `(n_source, n_target)`.

    Raises:
        ValueError: If shapes disagree, a box is inside out or `variant` is unknown.
    """
    if variant not in LOM_VARIANTS:
        raise ValueError(f"`variant` must be one of {LOM_VARIANTS}. Received: variant={variant!r}")
    appearance, source_boxes, target_boxes = _check(appearance, source_boxes, target_boxes)
    if not appearance.any():
        return appearance.copy()
    source, target = box_frames(source_boxes), box_frames(target_boxes)
    # A box one pixel wide or high has no area; it matches nothing, and any finite ratio serves.
    source_area = np.maximum(source.half_width * source.half_height, 0.25)
    target_area = np.maximum(target.half_width * target.half_height, 0.25)
    source_place = np.stack([source.center_x, source.center_y, source_area])  # (3, n_source)
    target_place = np.stack([target.center_x, target.center_y, target_area])  # (3, n_target)
    overlapping = intersection_areas(source_boxes, source_boxes) > 0
    if variant == "parallel":
        return _offset_matching_at_once(appearance, source_place, target_place, overlapping)
    median = _median if variant == "ordered" else _published_median
    return _offset_matching_in_order(appearance, source_place, target_place, overlapping, median)


def _offsets(source_place: np.ndarray, target_place: np.ndarray) -> np.ndarray:
    """Returns source minus target in x and y, and the ratio of areas, stacked first."""
    return np.stack(
        [
            source_place[0] - target_place[0],
            source_place[1] - target_place[1],
            source_place[2] / target_place[2],
        ]
    )


def _affinity(offsets: np.ndarray, median: np.ndarray) -> np.ndarray:
    """Returns how well offsets `(3, ...)` agree with a median of broadcastable shape."""
    x, y, area = offsets - median
    return np.exp(-_LOM_POSITION_RATE * np.sqrt(x * x + y * y) - _LOM_SCALE_RATE * np.abs(area))


def _offset_matching_in_order(appearance, source_place, target_place, overlapping, find_median):
    confidence = appearance.copy()
    best, best_confidence = best_matches(confidence)
    offsets = _offsets(source_place, target_place[:, best])  # (3, n_source): of the matches so far
    neighbours = np.split(np.nonzero(overlapping)[1], np.cumsum(overlapping.sum(axis=1))[:-1])
    for row, near in enumerate(neighbours):
        weight = best_confidence[near].sum() / best_confidence.sum()
        median = find_median(offsets[:, near])
        row_offsets = _offsets(source_place[:, row, np.newaxis], target_place)  # (3, n_target)
        confidence[row] *= _affinity(row_offsets, median[:, np.newaxis]) * weight
        # Only this row changed: so do its match and nothing else.
        match = confidence[row].argmax()
        best_confidence[row] = confidence[row, match]
        offsets[:, row] = row_offsets[:, match]
    return confidence


def _median(offsets: np.ndarray) -> np.ndarray:
    """Returns the median of each row of `(3, n)`; np.median does the same in thrice the time."""
    low, high = (offsets.shape[1] - 1) // 2, offsets.shape[1] // 2
    ordered = np.partition(offsets, (low, high), axis=1)
    return (ordered[:, low] + ordered[:, high]) / 2


def _published_median(offsets: np.ndarray) -> np.ndarray:
    """Approximates the median of each row of `(3, n)` by re-weighted means that start at one."""
    median = np.ones(3)
    weights = np.empty_like(offsets)
    epsilon = np.finfo(np.float64).eps
    for _ in range(_LOM_MEDIAN_STEPS):
        np.subtract(offsets, median[:, np.newaxis], out=weights)
        np.abs(weights, out=weights)
        np.add(weights, epsilon, out=weights)
        np.reciprocal(weights, out=weights)
        # Plain sums: a dot product with fused multiply-adds rounds differently, and with an offset
        # of exactly one, rounding errors are all that moves the result.
        median = np.einsum("cn,cn->c", weights, offsets) / weights.sum(axis=1)
    return median


def _offset_matching_at_once(appearance, source_place, target_place, overlapping):
    best, best_confidence = best_matches(appearance)
    offsets = _offsets(source_place, target_place[:, best])  # (3, n_source)
    median = np.stack([_masked_medians(values, overlapping) for values in offsets])  # (3, n_source)
    weight = overlapping @ best_confidence / best_confidence.sum()  # (n_source,)
    row_offsets = _offsets(source_place[..., np.newaxis], target_place[:, np.newaxis])
    affinity = _affinity(row_offsets, median[..., np.newaxis])
    return (appearance * affinity * weight[:, np.newaxis]).astype(np.float32)


def _masked_medians(values: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns `(rows,)`: the median of those of `(n,)` values that each mask `(rows, n)` picks."""
    order = np.argsort(values)
    values = values[order]
    rank = np.cumsum(masks[:, order], axis=1, dtype=np.int32)  # among the picked, from one
    count = rank[:, -1:]
    low = (rank < (count + 1) // 2).sum(axis=1)
    high = (rank < count // 2 + 1).sum(axis=1)
    return (values[low] + values[high]) / 2


def _check(similarity, source_boxes, target_boxes):
    similarity = np.asarray(similarity, np.float32)
    source_boxes = check_boxes(source_boxes, "source_boxes")
    target_boxes = check_boxes(target_boxes, "target_boxes")
    expected = (len(source_boxes), len(target_boxes))
    if similarity.shape != expected:
        raise ValueError(
            f"Similarities must have shape {expected}: source boxes by target boxes. "
            f"Received: shape={similarity.shape}"
        )
    return similarity, source_boxes, target_boxes
