"""Things without a class, made of the same outlines and materials as the objects."""

import numpy as np

from anchornet_tf.datasets.parts_world import materials, shapes
from anchornet_tf.datasets.parts_world.canvas import NOBODY, Canvas

_MATERIALS = tuple(sorted(materials.MATERIALS))


def add_clutter(
    canvas: Canvas,
    count: int,
    rng: np.random.Generator,
    *,
    scale: tuple[float, float],
    box: tuple[float, float, float, float] | None = None,
    owner: int = NOBODY,
) -> None:
    """Paints a number of random things.

    Args:
        canvas: Canvas to paint on.
        count: int. How many things.
        rng: np.random.Generator.
        scale: (least, greatest) radius in pixels.
        box: (left, top, right, bottom) for their centres, the whole canvas by default.
        owner: int. Who owns their pixels.
    """
    left, top, right, bottom = box or (0, 0, canvas.size, canvas.size)
    for _ in range(count):
        centre = rng.uniform((left, top), (right, bottom))
        radius = scale[0] * (scale[1] / scale[0]) ** rng.random()
        upright = rng.random() < 0.6
        angle = rng.uniform(-0.4, 0.4) if upright else rng.uniform(0, 2 * np.pi)
        cos, sin = radius * np.cos(angle), radius * np.sin(angle)
        turn = np.array([[cos, sin], [-sin, cos]])
        colour = materials.colour(materials.any_colour(rng), rng)
        material = materials.MATERIALS[_MATERIALS[rng.integers(len(_MATERIALS))]]
        contours, lights = _KINDS[rng.integers(len(_KINDS))](rng)
        outlines = [contour[:, :2] @ turn + centre for contour in contours]
        canvas.paint(outlines, lights, colour, material, owner)


def _stone(rng: np.random.Generator):
    angles = np.arange(8) * (np.pi / 4) + rng.uniform(-0.25, 0.25, 8)
    radii = rng.uniform(0.65, 1.0, 8)
    return shapes.blob(*np.stack([radii * np.cos(angles), 0.8 * radii * np.sin(angles)], 1)), [0.95]


def _box(rng: np.random.Generator):
    width, height = rng.uniform(0.4, 1.0, 2)
    slant, depth = rng.uniform(0.2, 0.6, 2)
    front = shapes.rectangle(-width, -height, width, height)
    lid = [(-width, -height), (-width + slant, -height - depth), (width + slant, -height - depth)]
    side = [(width, -height), (width + slant, -height - depth), (width + slant, height - depth)]
    lid, side = [*lid, (width, -height)], [*side, (width, height)]
    return shapes.union(front, shapes.polygon(*lid), shapes.polygon(*side)), [0.9, 1.15, 0.65]


def _stick(rng: np.random.Generator):
    bend, width = rng.uniform(-0.4, 0.4), rng.uniform(0.06, 0.25)
    return shapes.limb((-1.6, 0, width), (0, bend, width), (1.6, 0, width * 0.7)), [0.95]


def _tuft(rng: np.random.Generator):
    tips = rng.uniform(-1, 1, (6, 2)) * (1, 0.5) - (0, 0.8)
    blades = [
        shapes.polygon(
            (0.2 * x - 0.08, 0.6), (0.6 * x - 0.1, 0), (x, y), (0.6 * x + 0.1, 0), (0.2 * x, 0.6)
        )
        for x, y in tips
    ]
    return shapes.union(*blades), rng.uniform(0.65, 1.1, 6).tolist()


def _hoop(rng: np.random.Generator):
    return shapes.ring(0, 0, 0.8, rng.uniform(0.3, 0.65)), [0.95]


def _fence(rng: np.random.Generator):
    ends = np.linspace(-0.8, 0.8, rng.integers(2, 5))
    posts = [((x, -0.8), (x, 0.8)) for x in ends]
    return shapes.strokes(rng.uniform(0.1, 0.3), ((-1, -0.4), (1, -0.4)), *posts), [0.95] * (
        len(posts) + 1
    )


def _ball(rng: np.random.Generator):
    return shapes.ellipse(0, 0, 1.0, rng.uniform(0.4, 1.0)), [0.95]


def _post(rng: np.random.Generator):
    width = rng.uniform(0.15, 0.5)
    return shapes.union(
        shapes.rectangle(-width, -1.2, width, 1.2), shapes.ellipse(0, -1.2, width, width / 3)
    ), [0.85, 1.1]


_KINDS = (_stone, _stone, _box, _box, _stick, _tuft, _tuft, _hoop, _fence, _ball, _post)
