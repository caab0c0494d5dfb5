"""Puts a figure together: random shape, joints and viewpoint; outlines on the screen come out."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from anchornet_tf.datasets.parts_world.figure import Figure, Part

_FOCAL = (0.0, 0.35)
_DISTANCE = 1.6
_WARP_WAVES = 2
_AMBIENT = 0.62
_DIFFUSE = 0.52


@dataclasses.dataclass(frozen=True)
class PosedPart:
    """A part as the camera sees it.

    Args:
        part: Part.
        outlines: float arrays `(points, 2)` of x, y, in drawing order; none where it looks away.
        lights: brightness of each outline by its direction to the light, about 1.
    """

    part: Part
    outlines: list[np.ndarray]
    lights: list[float]


@dataclasses.dataclass(frozen=True)
class PosedFigure:
    """A figure as the camera sees it, in units of its own.

    Args:
        parts: the parts that are there, in drawing order.
        keypoints: name -> (x, y, key of its part), only those whose part is there.
        mirrored: bool. Whether it faces left.
        light: (x, y) direction the light comes from, on the screen.
    """

    parts: tuple[PosedPart, ...]
    keypoints: dict[str, tuple[float, float, str]]
    mirrored: bool
    light: np.ndarray

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the least and the greatest (x, y) of all outlines."""
        points = np.concatenate([outline for part in self.parts for outline in part.outlines])
        return points.min(0), points.max(0)


@dataclasses.dataclass(frozen=True)
class _Frame:
    """Takes points of a part to the plane of the figure."""

    origin: np.ndarray
    rotation: np.ndarray
    stretch: np.ndarray

    def __call__(self, points: np.ndarray) -> np.ndarray:
        return self.origin + (points * self.stretch) @ self.rotation.T


def pose(figure: Figure, rng: np.random.Generator) -> PosedFigure:
    """Draws a random body and a random view of a figure.

    Args:
        figure: Figure. The table of parts.
        rng: np.random.Generator. The only source of randomness.

    Returns:
        PosedFigure.
    """
    frames = _assemble(figure, rng)
    warp = _random_warp(figure, rng)
    camera = _Camera(figure, rng)
    there = [part for part in figure.parts if part.id in frames]
    depths = {part.id: part.depth for part in there}

    # Everything is warped and projected in one go: pieces are many and small.
    contours = [(part, contour) for part in there for contour in part.shape]
    named = [(name, *place) for name, place in figure.keypoints.items() if place[0] in frames]
    flat = [frames[part.id](contour[:, :2]) for part, contour in contours]
    deep = [contour[:, 2] + part.depth for part, contour in contours]
    for _, key, x, y, *z in named:
        flat.append(frames[key](np.array([[x, y]])))
        deep.append(np.array([depths[key] + sum(z)]))
    world = np.concatenate([warp(np.concatenate(flat)), np.concatenate(deep)[:, None]], 1)
    seen = camera.look(world)
    screen = camera.project(seen)

    lengths = np.array([len(contour) for _, contour in contours])
    starts = np.cumsum(lengths) - lengths
    shown, lights = camera.faces(seen, screen, starts, lengths)
    posed = {part.id: PosedPart(part, [], []) for part in there}
    for number, (part, _) in enumerate(contours):
        piece = slice(starts[number], starts[number] + lengths[number])
        if part.thickness:
            walls, wall_lights = camera.walls(seen[piece], screen[piece], part.thickness)
            posed[part.id].outlines.extend(walls)
            posed[part.id].lights.extend(wall_lights)
        if shown[number]:
            posed[part.id].outlines.append(screen[piece])
            posed[part.id].lights.append(float(lights[number]))
    places = screen[lengths.sum() :].tolist()
    keypoints = {name: (x, y, key) for (name, key, *_), (x, y) in zip(named, places, strict=True)}
    return PosedFigure(tuple(posed.values()), keypoints, camera.mirrored, camera.screen_light)


def _assemble(figure: Figure, rng: np.random.Generator) -> dict[str, _Frame]:
    """Returns the frame of every part that is there, by key."""
    count = len(figure.parts)
    deviations = np.clip(rng.standard_normal((count, 2)), -2, 2)
    luck = rng.random(count).tolist()
    swings = rng.uniform(-1, 1, count).tolist()
    by_key = {part.id: (number, part) for number, part in enumerate(figure.parts)}
    # The first of a kind decides for its twins.
    first: dict[str, int] = {}
    for number, part in enumerate(figure.parts):
        first.setdefault(part.kind, number)
    frames: dict[str, _Frame] = {}

    def place(number: int, part: Part) -> _Frame | None:
        if part.id in frames:
            return frames[part.id]
        if luck[first[part.kind]] >= part.odds:
            return None
        origin, rotation = np.array(part.at), np.eye(2)
        if part.parent is not None:
            parent = place(*by_key[part.parent])
            if parent is None:
                return None
            origin, rotation = parent(origin), parent.rotation
        angle = math.radians(part.turn + part.swing * swings[number])
        cos, sin = math.cos(angle), math.sin(angle)
        stretch = 1 + part.jitter * deviations[first[part.kind]]
        frames[part.id] = _Frame(origin, rotation @ np.array([[cos, -sin], [sin, cos]]), stretch)
        return frames[part.id]

    for number, part in enumerate(figure.parts):
        place(number, part)
    return frames


def _random_warp(figure: Figure, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a smooth deformation of `(points, 2)`, with a stretch of the whole."""
    stretch = 1 + figure.stretch * np.clip(rng.standard_normal(2), -2, 2)
    waves = rng.normal(0, 4.0, (_WARP_WAVES, 2))
    phases = rng.uniform(0, 2 * np.pi, _WARP_WAVES)
    pushes = rng.normal(0, figure.warp, (_WARP_WAVES, 2))

    def warp(points: np.ndarray) -> np.ndarray:
        return (points + np.sin(points @ waves.T + phases) @ pushes) * stretch

    return warp


class _Camera:
    """Turns the world about the vertical axis, looks down on it, projects and maybe mirrors it."""

    def __init__(self, figure: Figure, rng: np.random.Generator):
        yaw, pitch = np.deg2rad([rng.uniform(*figure.yaw), rng.uniform(*figure.pitch)])
        roll = np.deg2rad(figure.roll * rng.uniform(-1, 1))
        self._focal = rng.uniform(*_FOCAL)
        self.mirrored = bool(rng.random() < 0.5)
        self._side = -1.0 if self.mirrored else 1.0
        about_y = [[np.cos(yaw), 0, -np.sin(yaw)], [0, 1, 0], [np.sin(yaw), 0, np.cos(yaw)]]
        about_x = [[1, 0, 0], [0, np.cos(pitch), np.sin(pitch)], [0, -np.sin(pitch), np.cos(pitch)]]
        self._view = np.array(about_x) @ np.array(about_y)
        self._roll = np.array([[np.cos(roll), -np.sin(roll)], [np.sin(roll), np.cos(roll)]])
        light = np.array([rng.uniform(-0.8, 0.8), rng.uniform(-1.0, -0.5), rng.uniform(0.4, 1.0)])
        self._light = light / np.linalg.norm(light)
        self.screen_light = self._light[:2] * (self._side, 1.0)

    def look(self, points: np.ndarray) -> np.ndarray:
        """Takes `(..., 3)` of the world to the frame of the camera."""
        return points @ self._view.T

    def project(self, seen: np.ndarray) -> np.ndarray:
        """Takes `(..., 3)` of the frame of the camera to `(..., 2)` of the screen."""
        nearness = _DISTANCE / (_DISTANCE - self._focal * seen[..., 2:])
        return ((seen[..., :2] * nearness) @ self._roll.T) * (self._side, 1.0)

    def faces(self, seen, screen, starts, lengths) -> tuple[np.ndarray, np.ndarray]:
        """Returns whether each contour shows its outside, and how bright it is."""
        following = np.arange(1, starts[-1] + lengths[-1] + 1)
        following[starts + lengths - 1] = starts
        x, y = screen[: len(following)].T
        areas = np.add.reduceat(x * y[following] - y * x[following], starts)
        corner, third = seen[starts], lengths // 3
        normals = _cross(seen[starts + third] - corner, seen[starts + 2 * third] - corner)
        return areas * self._side > 0, self._brightness(normals)

    def walls(self, seen, screen, thickness: float) -> tuple[list[np.ndarray], list[float]]:
        """Returns outlines and brightness of the walls that show of an extruded contour."""
        behind = seen - thickness * self._view[:, 2]
        back = self.project(behind)
        following = np.concatenate([np.arange(1, len(seen)), [0]])
        outlines = np.stack([back, back[following], screen[following], screen], 1)
        # (walls, 4, 2); the diagonals of a quadrangle span its area and its normal.
        one, other = outlines[:, 2] - outlines[:, 0], outlines[:, 3] - outlines[:, 1]
        shown = (one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]) * self._side > 0
        normals = _cross(seen[following] - behind, seen - behind[following])
        return list(outlines[shown]), self._brightness(normals[shown]).tolist()

    def _brightness(self, normals: np.ndarray) -> np.ndarray:
        # A face that shows looks towards the viewer, whichever way its corners were taken.
        lengths = np.sqrt((normals**2).sum(-1)) + 1e-12
        cosines = normals @ self._light * np.sign(normals[:, 2]) / lengths
        return _AMBIENT + _DIFFUSE * np.maximum(cosines, 0)


def _cross(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns the cross products of `(n, 3)`; `np.cross` is slow on small arrays."""
    (ax, ay, az), (bx, by, bz) = first.T, second.T
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], 1)
