"""Places to put an object in.

Scenes do not depend on the class: only the object tells a picture of a class from a background.
Pictures are float32 arrays `(3, size, size)` in 0..255.
"""

import itertools

import numpy as np
import PIL.Image
import PIL.ImageFilter

from anchornet_tf.datasets.parts_world import materials, shapes
from anchornet_tf.datasets.parts_world.canvas import Canvas
from anchornet_tf.datasets.parts_world.clutter import add_clutter

_SKIES = ((122, 168, 218), (176, 204, 232), (204, 208, 214), (226, 188, 156), (90, 120, 170))
# Dark colour, bright colour, texture and its contrast.
_GROUNDS = (
    ((70, 100, 44), (122, 136, 68), "earth", 0.22),
    ((112, 86, 60), (156, 130, 98), "earth", 0.22),
    ((196, 176, 138), (220, 204, 172), "earth", 0.1),
    ((58, 96, 122), (112, 146, 164), "sheen", 0.14),
    ((92, 92, 94), (126, 124, 122), "grain", 0.1),
    ((210, 214, 222), (232, 236, 240), "cloud", 0.05),
)
_WALLS = ((214, 204, 186), (186, 196, 204), (150, 172, 150), (200, 160, 140), (222, 220, 214))
_FLOORS = ((150, 106, 66), (112, 78, 52), (170, 162, 152), (120, 112, 108), (140, 66, 60))
_LEAVES = ((52, 84, 38), (84, 118, 52), (118, 128, 62), (132, 102, 58), (44, 62, 44))
_LIGHT = (0.3, -0.8)


def scene(size: int, rng: np.random.Generator) -> np.ndarray:
    """Paints a random place.

    Args:
        size: int. Height and width in pixels.
        rng: np.random.Generator.

    Returns:
        float32 array `(3, size, size)` in 0..255.
    """
    kind = rng.choice(5, p=(0.36, 0.24, 0.14, 0.12, 0.14))
    return (_landscape, _room, _thicket, _town, _out_of_focus)[kind](size, rng)


def _landscape(size: int, rng: np.random.Generator) -> np.ndarray:
    horizon = int(rng.uniform(0.15, 0.75) * size)
    sky = _one_of(_SKIES, rng)[:, None, None]
    down = np.linspace(0, 0.7, horizon, dtype=np.float32)[:, None]
    clouds = materials.window("cloud", horizon, size, rng) * 0.35 - 0.1
    clouds = np.clip(clouds, 0, 1) * np.float32(rng.uniform(0, 1.2))
    white = down + (1 - down) * clouds  # (horizon, size)
    pixels = np.empty((3, size, size), np.float32)
    pixels[:, :horizon] = sky + (245 - sky) * white
    _ridges(pixels, horizon, rng)
    pixels[:, horizon:] = _ground(size, horizon, *_GROUNDS[rng.integers(len(_GROUNDS))], rng)
    return pixels


def _ridges(pixels: np.ndarray, horizon: int, rng: np.random.Generator) -> None:
    """Lays up to three hills or rows of trees before the sky."""
    size = pixels.shape[1]
    for _ in range(rng.integers(0, 4)):
        leaf = _one_of(_LEAVES, rng)[:, None, None]
        crest = materials.window(("cloud", "earth")[rng.integers(2)], 1, size, rng)[0]
        crest = horizon - size * rng.uniform(0.0, 0.2) + crest * size * rng.uniform(0.01, 0.06)
        top = int(np.clip(crest.min(), 0, horizon - 1))
        rows = np.arange(top, horizon, dtype=np.float32)[:, None]
        inside = np.clip(rows - crest.astype(np.float32) + 0.5, 0, 1)
        texture = 1 + 0.22 * materials.window("earth", horizon - top, size, rng)
        haze = np.float32(rng.uniform(0.0, 0.6))
        hill = leaf * (np.clip(texture, 0.3, 1.7) * (1 - haze)) + 190 * haze
        region = pixels[:, top:horizon]
        region += (hill - region) * inside


def _ground(size, horizon, dark, bright, tile, contrast, rng) -> np.ndarray:
    """Returns `(3, size - horizon, size)`: a plane that runs to the horizon."""
    nearness = (np.arange(size - horizon) + 2.0) / size
    # Under perspective, distance goes with the inverse of the height below the horizon.
    distance = np.minimum(0.5 / nearness, 14.0)
    rows = (distance * 0.5 * size + rng.integers(materials.TILE)).astype(np.intp)
    columns = np.outer(distance, np.arange(size) - rng.uniform(0.2, 0.8) * size)
    columns = columns.astype(np.intp) + rng.integers(materials.TILE)
    place = (rows[:, None] % materials.TILE, columns % materials.TILE)
    # What is too far to be resolved is grey, not noise.
    fade = np.minimum(nearness / 0.25, 1).astype(np.float32)[:, None]
    texture = materials.tile(tile)[place] * fade
    patches = np.clip(0.5 + 0.3 * materials.tile("cloud")[place] * fade, 0, 1)
    dark, bright = np.asarray(dark, np.float32), np.asarray(bright, np.float32)
    colour = dark[:, None, None] + (bright - dark)[:, None, None] * patches
    colour *= np.clip(1 + np.float32(contrast) * texture, 0.3, 1.7)
    return colour


def _room(size: int, rng: np.random.Generator) -> np.ndarray:
    edge = int(rng.uniform(0.45, 0.9) * size)
    y, x = (
        np.arange(size, dtype=np.float32)[:, None] / size,
        np.arange(size, dtype=np.float32) / size,
    )
    shade = 1 + rng.uniform(-0.3, 0.3) * (x - 0.5) + rng.uniform(-0.3, 0.1) * y
    shade = shade + 0.05 * _wallpaper(x, y, rng)
    shade += 0.02 * materials.window("earth", size, size, rng)
    wall = _one_of(_WALLS, rng) * np.float32(rng.uniform(0.5, 1.0))
    canvas = Canvas(wall[:, None, None] * shade.astype(np.float32), _LIGHT, rng)
    for _ in range(rng.integers(0, 4)):
        _hang(canvas, edge, rng)
    floor = _one_of(_FLOORS, rng)
    tile = ("planks", "grain", "weave", "cloud")[rng.integers(4)]
    canvas.pixels[:, edge:] = _ground(size, edge, floor * 0.85, floor * 1.1, tile, 0.12, rng)
    canvas.pixels[:, edge - 3 : edge] *= rng.uniform(0.5, 1.1)
    return canvas.pixels


def _wallpaper(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns nothing, stripes, checks, tiles or panels, in -1..1."""
    period = rng.uniform(12, 60)
    kind = rng.integers(5)
    if kind == 0:
        return np.zeros_like(x * y)
    if kind == 1:
        return np.sign(np.sin(period * x)) * np.ones_like(y)
    if kind == 2:
        return np.sign(np.sin(period * x) * np.sin(period * y))
    if kind == 3:
        return -2 * np.maximum(np.cos(2 * period * y), np.cos(period * x)) ** 15
    return materials.window("planks", len(y), len(x), rng).T


def _hang(canvas: Canvas, edge: float, rng: np.random.Generator) -> None:
    """Hangs a picture, a window or a cupboard on the wall."""
    size = canvas.size
    width, height = rng.uniform(0.1, 0.4, 2) * size
    x, y = rng.uniform(-0.1, 0.9) * size, rng.uniform(0, edge)
    inner = ("cloth", "glass", "folds", "wood")[rng.integers(4)]
    for inset, material in ((0, "wood"), (0.02 * size, inner)):
        (outline,) = shapes.rectangle(x + inset, y + inset, x + width - inset, y + height - inset)
        colour = materials.colour(materials.any_colour(rng), rng)
        canvas.paint([outline[:, :2]], [0.9], colour, materials.MATERIALS[material])


def _thicket(size: int, rng: np.random.Generator) -> np.ndarray:
    """Leaves, bark, gravel: texture from edge to edge in three colours."""
    low, middle, high = (_one_of(_LEAVES + _FLOORS, rng)[:, None, None] for _ in range(3))
    fine = ("earth", "curls", "pebble", "hair")[rng.integers(4)]
    value = 0.18 * materials.window(fine, size, size, rng)
    value += 0.2 * materials.window("earth", size, size, rng) + 0.5
    value = np.clip(value, 0, 1)
    pixels = low * 0.6 + (middle - low * 0.6) * np.minimum(2 * value, 1)
    pixels += (high * 1.1 - pixels) * np.maximum(2 * value - 1, 0)
    return pixels


def _town(size: int, rng: np.random.Generator) -> np.ndarray:
    canvas = Canvas(_landscape(size, rng), _LIGHT, rng)
    foot = rng.uniform(0.5, 0.9) * size
    left = rng.uniform(-0.3, 0.2) * size
    while left < size:
        width, top = rng.uniform(0.25, 0.5) * size, rng.uniform(-0.2, 0.5) * foot
        stones = ("cream", "grey", "terracotta", "sand", "brown")
        stone = materials.colour(stones[rng.integers(len(stones))], rng)
        (house,) = shapes.rectangle(left, top, left + width, foot)
        canvas.paint([house[:, :2]], [0.85], stone, materials.MATERIALS["plaster"])
        step = rng.uniform(0.06, 0.11) * size
        (frame,) = shapes.rectangle(0, 0, 0.7 * step, step)
        columns = np.arange(left + 0.5 * step, left + width - step, 1.3 * step)
        rows = np.arange(top + 0.6 * step, foot - step, 1.8 * step)
        panes = [frame[:, :2] + corner for corner in itertools.product(columns, rows)]
        pane = materials.colour(("glass", "night", "sky")[rng.integers(3)], rng)
        canvas.paint(panes, [0.9] * len(panes), pane, materials.MATERIALS["glass"])
        left += width * rng.uniform(0.9, 1.6)
    return canvas.pixels


def _out_of_focus(size: int, rng: np.random.Generator) -> np.ndarray:
    painter = (_landscape, _room, _thicket)[rng.integers(3)]
    canvas = Canvas(painter(size, rng), _LIGHT, rng)
    add_clutter(canvas, int(rng.integers(3, 8)), rng, scale=(0.05 * size, 0.2 * size))
    pixels = np.clip(canvas.pixels, 0, 255).astype(np.uint8).transpose(1, 2, 0)
    radius = rng.uniform(0.01, 0.035) * size
    blurred = PIL.Image.fromarray(np.ascontiguousarray(pixels))
    blurred = blurred.filter(PIL.ImageFilter.BoxBlur(radius))
    blurred = blurred.filter(PIL.ImageFilter.BoxBlur(radius * 0.6))
    return np.ascontiguousarray(np.asarray(blurred).transpose(2, 0, 1), dtype=np.float32)


def _one_of(colours, rng: np.random.Generator) -> np.ndarray:
    return np.asarray(colours[rng.integers(len(colours))], np.float32)
