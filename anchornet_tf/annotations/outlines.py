"""Outlines of masks: polygons exactly along the borders of pixels, and simpler ones."""

import numpy as np


def trace(mask: np.ndarray, tolerance: float = 0.0) -> list[np.ndarray]:
    """Returns the outlines of a mask, one per part whose pixels share edges.

    The outlines follow the borders of pixels, so that the pixels whose centres they enclose are the
    mask. A hole is joined to its outer border by a cut without width: formats that take the union
    of polygons, as COCO does, would fill a polygon of its own. Time is linear in the pixels of the
    mask's bounding box plus the corners of its border.

    Args:
        mask: bool `(height, width)`.
        tolerance: float, pixels by which an outline may leave the border to have fewer corners.

    Returns:
        float64 arrays `(corners, 2)` of `(x, y)`, pixel centres at whole numbers.
    """
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if rows.size == 0:
        return []
    top, left = rows[0], columns[0]
    padded = np.pad(mask[top : rows[-1] + 1, left : columns[-1] + 1], 1)
    rings, is_outer = _rings(padded)
    parents = _parents(padded, rings, is_outer)
    outlines = {}
    for index, ring in enumerate(rings):
        ring = _simplified(ring.astype(np.float64), tolerance)
        if not is_outer[index]:
            # Holes go round the other way, so that their area counts as negative.
            ring = np.roll(ring[::-1], 1, axis=0)
        outlines.setdefault(parents[index], []).append(ring)
    return [_joined(parts) + (left - 0.5, top - 0.5) for parts in outlines.values()]


def _rings(padded: np.ndarray) -> tuple[list[np.ndarray], list[bool]]:
    """Returns the closed borders as arrays of `(x, y)` between pixels, and which are outer ones.

    The corners of a border are joined by horizontal and vertical lines in turn. Sorted along a row,
    the corners begin and end such lines in turn, and likewise along a column.
    """
    # The four pixels around each place between pixels.
    upper_left, upper_right = padded[:-1, :-1], padded[:-1, 1:]
    lower_left, lower_right = padded[1:, :-1], padded[1:, 1:]
    crossed = (upper_left != upper_right) & (upper_left != lower_left) & (upper_left == lower_right)
    is_corner = upper_left ^ upper_right ^ lower_left ^ lower_right
    # Where two parts touch at a corner only, two borders turn: that place is there twice.
    y, x = np.nonzero(is_corner | crossed)
    twice = crossed[y, x]
    y, x = np.repeat(y, 1 + twice), np.repeat(x, 1 + twice)
    count = len(x)
    second = np.zeros(count, bool)
    second[np.cumsum(1 + twice)[twice] - 1] = True
    in_row = np.arange(count) ^ 1  # Sorted by rows: 0 and 1 end the same line, then 2 and 3.
    # The first of two corners ends the line from the left. It turns up where the pixel above it and
    # to the left is in the mask, otherwise down: then it comes second in its column.
    falls = ~upper_left[y, x]
    late = np.where(crossed[y, x] & falls, ~second, second)
    order = np.lexsort((late, y, x))
    in_column = np.empty(count, np.int64)
    in_column[order] = order[np.arange(count) ^ 1]

    across, along = in_row.tolist(), in_column.tolist()
    visited = bytearray(count)
    places = np.stack([x, y], axis=1)
    rings, is_outer = [], []
    # By rows, so that a ring begins at its topmost corner, of these at the leftmost.
    for first in range(count):
        if visited[first]:
            continue
        ring, corner = [], first
        while not visited[corner]:
            visited[corner] = 1
            ring.append(corner)
            corner = across[corner]
            visited[corner] = 1
            ring.append(corner)
            corner = along[corner]
        rings.append(places[ring])
        is_outer.append(bool(lower_right[y[first], x[first]]))
    return rings, is_outer


def _parents(padded: np.ndarray, rings: list[np.ndarray], is_outer: list[bool]) -> list[int]:
    """Returns for each ring the index of the outer ring of its part."""
    parents = list(range(len(rings)))
    holes = [index for index, outer in enumerate(is_outer) if not outer]
    if not holes:
        return parents
    # All vertical lines, one per pixel row that they pass, sorted by row and then by x.
    owner = np.repeat(np.arange(len(rings)), [len(ring) // 2 for ring in rings])
    upright = np.concatenate([_uprights(ring) for ring in rings])
    x, y, lengths = upright.T
    total = int(lengths.sum())
    within = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    width = padded.shape[1] + 1
    keys = (np.repeat(y, lengths) + within) * width + np.repeat(x, lengths)
    owners = np.repeat(owner, lengths)
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    # To the left of a hole's leftmost line is its part, up to the next line, which is the part's
    # own border or that of a hole further left.
    leftmost = []
    for index in holes:
        lines = _uprights(rings[index])
        leftmost.append(lines[lines[:, 0].argmin(), :2])
    leftmost = np.array(leftmost)
    beside = owners[np.searchsorted(keys, leftmost[:, 1] * width + leftmost[:, 0]) - 1]
    for place in np.argsort(leftmost[:, 0], kind="stable").tolist():
        parents[holes[place]] = parents[beside[place]]
    return parents


def _uprights(ring: np.ndarray) -> np.ndarray:
    """Returns the vertical lines of a ring as `(x, top, length)`."""
    start, end = ring[1::2], np.roll(ring, -1, axis=0)[1::2]
    tops = np.minimum(start[:, 1], end[:, 1])
    return np.stack([start[:, 0], tops, np.abs(start[:, 1] - end[:, 1])], axis=1)


def _joined(rings: list[np.ndarray]) -> np.ndarray:
    """Returns one outline of an outer ring and its holes, each reached by going there and back.

    A cut may lead across anything: what it adds on the way there it removes on the way back.
    """
    pieces = [rings[0]]
    for hole in rings[1:]:
        pieces += [rings[0][:1], hole, hole[:1]]
    if len(rings) > 1:
        pieces.append(rings[0][:1])
    return np.concatenate(pieces)


def _simplified(ring: np.ndarray, tolerance: float) -> np.ndarray:
    """Drops corners of a closed outline that leave it within a tolerance (Douglas and Peucker)."""
    if tolerance <= 0 or len(ring) <= 4:
        return ring
    # The outline is divided at the corner furthest from the first.
    halfway = int(((ring - ring[0]) ** 2).sum(axis=1).argmax())
    closed = np.concatenate([ring, ring[:1]])
    kept = np.zeros(len(closed), bool)
    kept[[0, halfway]] = True
    pending = [(0, halfway), (halfway, len(ring))]
    while pending:
        first, last = pending.pop()
        if last - first < 2:
            continue
        between = closed[first + 1 : last] - closed[first]
        line = closed[last] - closed[first]
        # From the line's nearest point, which may be one of its ends.
        share = np.clip(between @ line / max(line @ line, 1e-12), 0, 1)
        distances = np.hypot(*(between - share[:, None] * line).T)
        worst = int(distances.argmax())
        if distances[worst] > tolerance:
            middle = first + 1 + worst
            kept[middle] = True
            pending += [(first, middle), (middle, last)]
    simple = ring[kept[:-1]]
    return simple if len(simple) >= 3 else ring
