"""Outlines of parts: closed contours in a part's own frame.

A shape is a tuple of contours. A contour is a float array `(points, 3)` of x (forward), y (down)
and z (towards the viewer), whose points run clockwise when the outside of the surface is looked at.
"""

import numpy as np

Shape = tuple[np.ndarray, ...]

_CURVE_SAMPLES = 5
_CAP_SAMPLES = 5
_ROUND_SAMPLES = 28


def polygon(*points: tuple[float, float]) -> Shape:
    """Returns straight lines between (x, y) points."""
    return (_clockwise(np.asarray(points, np.float64)),)


def blob(*points: tuple[float, float]) -> Shape:
    """Returns a smooth closed curve through (x, y) points."""
    return (_clockwise(_smooth_loop(np.asarray(points, np.float64))),)


def ellipse(x: float, y: float, radius_x: float, radius_y: float | None = None) -> Shape:
    """Returns an ellipse, a circle where `radius_y` is not given."""
    angles = np.linspace(0, 2 * np.pi, _ROUND_SAMPLES, endpoint=False)
    radius_y = radius_x if radius_y is None else radius_y
    return (
        _clockwise(np.stack([x + radius_x * np.cos(angles), y + radius_y * np.sin(angles)], 1)),
    )


def rectangle(left: float, top: float, right: float, bottom: float) -> Shape:
    """Returns an upright rectangle."""
    return polygon((left, top), (right, top), (right, bottom), (left, bottom))


def ring(x: float, y: float, outer: float, inner: float) -> Shape:
    """Returns a disc with a round hole: one contour, out along the rim and back along the hole."""
    (rim,), (hole,) = ellipse(x, y, outer), ellipse(x, y, inner)
    return (np.concatenate([rim, rim[:1], hole[:1], hole[:0:-1], hole[:1]]),)


def spokes(x: float, y: float, radius: float, count: int, width: float) -> Shape:
    """Returns bars through the centre of a wheel."""
    angles = np.arange(count) * np.pi / count
    ends = radius * np.stack([np.cos(angles), np.sin(angles)], 1)
    centre = np.array([x, y])
    return strokes(width, *((centre - end, centre + end) for end in ends))


def limb(*stations: tuple[float, float, float]) -> Shape:
    """Returns a round-ended limb along (x, y, width) stations."""
    stations = np.asarray(stations, np.float64)
    centres, radii = _smooth_path(stations[:, :2]), _smooth_path(stations[:, 2:]) / 2
    along = np.gradient(centres, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True) + 1e-9
    across = np.stack([-along[:, 1], along[:, 0]], 1)
    left, right = centres + across * radii, centres - across * radii
    sweep = np.linspace(0, np.pi, _CAP_SAMPLES + 2)[1:-1, None]
    end = centres[-1] + radii[-1] * (across[-1] * np.cos(sweep) + along[-1] * np.sin(sweep))
    start = centres[0] - radii[0] * (across[0] * np.cos(sweep) + along[0] * np.sin(sweep))
    return (_clockwise(np.concatenate([left, end, right[::-1], start])),)


def strokes(width: float, *paths: tuple[tuple[float, float], ...]) -> Shape:
    """Returns straight bars of one width along (x, y) paths."""
    contours = []
    for path in paths:
        path = np.asarray(path, np.float64)
        for start, stop in zip(path[:-1], path[1:], strict=True):
            along = (stop - start) / (np.linalg.norm(stop - start) + 1e-9)
            across = np.array([-along[1], along[0]]) * width / 2
            tip = along * width / 3
            corners = [start - tip + across, stop + tip + across]
            corners += [stop + tip - across, start - tip - across]
            contours.append(_clockwise(np.stack(corners)))
    return tuple(contours)


def moved(shape: Shape, x: float) -> Shape:
    """Returns a shape shifted forward."""
    return tuple(contour + np.array([x, 0.0, 0.0]) for contour in shape)


def union(*shapes: Shape) -> Shape:
    """Returns several shapes as one."""
    return tuple(contour for shape in shapes for contour in shape)


def on_front(shape: Shape, x: float) -> Shape:
    """Stands a shape drawn as seen from the front on the plane at `x`."""
    return tuple(np.stack([c[:, 2] + x, c[:, 1], -c[:, 0]], 1) for c in shape)


def on_back(shape: Shape, x: float) -> Shape:
    """Stands a shape drawn as seen from behind on the plane at `x`."""
    return tuple(np.stack([c[:, 2] + x, c[:, 1], c[:, 0]], 1) for c in shape)


def on_top(shape: Shape, y: float) -> Shape:
    """Lays a shape drawn as seen from above on the plane at `y`."""
    return tuple(np.stack([c[:, 0], c[:, 2] + y, c[:, 1]], 1) for c in shape)


def faces(*corners: tuple[tuple[float, float, float], ...]) -> Shape:
    """Returns flat faces with (x, y, z) corners, clockwise as seen from outside."""
    return tuple(np.asarray(face, np.float64) for face in corners)


def _clockwise(points: np.ndarray) -> np.ndarray:
    """Returns `(points, 2)` in clockwise order on the screen, as `(points, 3)`."""
    following = np.concatenate([points[1:], points[:1]])
    area = (points[:, 0] * following[:, 1] - points[:, 1] * following[:, 0]).sum()
    ordered = np.zeros((len(points), 3))
    ordered[:, :2] = points[::-1] if area < 0 else points
    return ordered


def _smooth_loop(points: np.ndarray) -> np.ndarray:
    before, after = np.roll(points, 1, 0), np.roll(points, -1, 0)
    return _catmull_rom(before, points, after, np.roll(points, -2, 0)).reshape(-1, 2)


def _smooth_path(points: np.ndarray) -> np.ndarray:
    if len(points) == 2:
        return points
    first, last = 2 * points[:1] - points[1:2], 2 * points[-1:] - points[-2:-1]
    padded = np.concatenate([first, points, last])
    curve = _catmull_rom(padded[:-3], padded[1:-2], padded[2:-1], padded[3:])
    return np.concatenate([curve.reshape(-1, points.shape[1]), points[-1:]])


def _catmull_rom(before, start, stop, after) -> np.ndarray:
    t = np.linspace(0, 1, _CURVE_SAMPLES, endpoint=False)[None, :, None]
    before, start, stop, after = (p[:, None, :] for p in (before, start, stop, after))
    return 0.5 * (
        2 * start
        + (stop - before) * t
        + (2 * before - 5 * start + 4 * stop - after) * t**2
        + (3 * start - 3 * stop + after - before) * t**3
    )
