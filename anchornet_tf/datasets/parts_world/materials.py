"""Colours, coat patterns and surface textures.

Textures are periodic noise tiles, made once in a process from a fixed seed; a picture takes a
random window of a tile, so that what it shows depends on its own random numbers only.
"""

import dataclasses
import functools

import numpy as np

TILE = 512
_TILE_SEED = 20170721


@dataclasses.dataclass(frozen=True)
class Material:
    """How a surface looks.

    Args:
        tile: str. The noise that modulates its colour.
        contrast: float. Strength of that noise.
        relief: float. How round the piece looks; 0 for a flat sheet.
        gloss: float. Strength of highlights.
    """

    tile: str = "grain"
    contrast: float = 0.05
    relief: float = 0.6
    gloss: float = 0.0


MATERIALS = {
    "plain": Material("grain", 0.05, 0.5, 0.1),
    "fur": Material("hair", 0.13, 1.0),
    "wool": Material("curls", 0.24, 1.1),
    "feather": Material("scales", 0.16, 1.0),
    "skin": Material("cloud", 0.08, 1.0, 0.1),
    "hair": Material("hair", 0.35, 0.8, 0.15),
    "cloth": Material("weave", 0.1, 0.6),
    "folds": Material("cloud", 0.3, 0.8),
    "leather": Material("pebble", 0.14, 0.9, 0.35),
    "paint": Material("sheen", 0.16, 0.35, 0.5),
    "metal": Material("sheen", 0.3, 0.8, 0.8),
    "chrome": Material("sheen", 0.45, 0.9, 1.0),
    "glass": Material("streak", 0.35, 0.0),
    "rubber": Material("grain", 0.12, 0.5, 0.1),
    "wood": Material("planks", 0.28, 0.3, 0.15),
    "leaf": Material("cloud", 0.28, 0.7, 0.25),
    "clay": Material("pebble", 0.14, 1.0, 0.2),
    "plastic": Material("cloud", 0.06, 0.5, 0.5),
    "liquid": Material("cloud", 0.18, 1.3, 1.0),
    "stone": Material("pebble", 0.2, 0.8),
    "plaster": Material("earth", 0.1, 0.0),
}

# A slot draws one of these names, then a small deviation of its own.
COLOURS = {
    "white": (232, 230, 224),
    "cream": (222, 205, 170),
    "grey": (140, 140, 142),
    "silver": (186, 190, 196),
    "dark": (62, 60, 62),
    "black": (32, 31, 34),
    "brown": (112, 74, 46),
    "chestnut": (134, 72, 38),
    "tan": (190, 150, 102),
    "ginger": (205, 128, 58),
    "sand": (205, 182, 140),
    "red": (186, 38, 36),
    "maroon": (112, 28, 38),
    "orange": (226, 122, 32),
    "yellow": (232, 196, 50),
    "lime": (142, 182, 62),
    "green": (62, 122, 56),
    "olive": (98, 108, 52),
    "teal": (40, 128, 132),
    "sky": (122, 172, 214),
    "blue": (44, 82, 164),
    "navy": (34, 42, 84),
    "purple": (112, 62, 132),
    "pink": (222, 148, 158),
    "glass": (78, 98, 114),
    "night": (28, 34, 44),
    "skin1": (238, 196, 164),
    "skin2": (206, 152, 112),
    "skin3": (140, 94, 66),
    "skin4": (86, 56, 42),
    "terracotta": (186, 98, 62),
    "lamp": (250, 240, 206),
}

_DULL = ("grey", "dark", "brown", "tan", "sand", "olive", "glass", "cream", "terracotta", "navy")

# Pattern -> (tile, threshold, softness) of the second coat colour; None leaves the coat plain.
PATTERNS = {
    "plain": None,
    "patches": ("cloud", 0.25, 0.08),
    "spots": ("curls", 0.9, 0.2),
    "tabby": ("stripes", 0.6, 0.9),
}


def colour(name: str, rng: np.random.Generator) -> np.ndarray:
    """Returns a named colour with a random deviation, float32 RGB in 0..255."""
    base = np.asarray(COLOURS[name], np.float32)
    shade = 1 + 0.12 * rng.standard_normal()
    return np.clip(base * shade + 9 * rng.standard_normal(3), 8, 248).astype(np.float32)


def any_colour(rng: np.random.Generator) -> str:
    """Returns the name of a colour, more often a dull one than a bright one."""
    names = _DULL if rng.random() < 0.6 else tuple(COLOURS)
    return names[rng.integers(len(names))]


def window(name: str, height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Returns a random window of a tile: float32 `(height, width)`, mean 0, deviation 1."""
    top, left = rng.integers(0, TILE, 2)
    return _doubled(name)[top : top + height, left : left + width]


@functools.cache
def tile(name: str) -> np.ndarray:
    """Returns a whole tile: float32 `(TILE, TILE)`, periodic, mean 0, deviation 1, in -2.5..2.5."""
    rng = np.random.default_rng([_TILE_SEED, sorted(_TILES).index(name)])
    values = _TILES[name](rng)
    return np.clip((values - values.mean()) / values.std(), -2.5, 2.5).astype(np.float32)


@functools.cache
def _doubled(name: str) -> np.ndarray:
    # Twice the tile in both directions holds every window without wrapping around.
    return np.tile(tile(name), (2, 2))


def _filtered(rng, response) -> np.ndarray:
    """Returns periodic noise whose spectrum is `response(fy, fx)`, frequencies in cycles a tile."""
    spectrum = np.fft.rfft2(rng.standard_normal((TILE, TILE)))
    fy = np.fft.fftfreq(TILE)[:, None] * TILE
    fx = np.fft.rfftfreq(TILE)[None, :] * TILE
    gain = np.array(response(fy, fx))
    gain[0, 0] = 0
    return np.fft.irfft2(spectrum * gain, (TILE, TILE))


def _band(rng, frequency, width) -> np.ndarray:
    return _filtered(rng, lambda fy, fx: np.exp(-(((np.hypot(fy, fx) - frequency) / width) ** 2)))


def _hair(rng) -> np.ndarray:
    # Long in one direction, fine in the other, and bent by a slow field.
    fine = _filtered(rng, lambda fy, fx: np.exp(-((fx / 130) ** 2) - ((fy / 45) ** 2)))
    slow = _band(rng, 4, 2)
    rows = np.arange(TILE)[:, None] + np.rint(6 * slow / slow.std()).astype(int)
    return fine[rows % TILE, np.arange(TILE)[None, :]]


def _scales(rng) -> np.ndarray:
    y, x = np.mgrid[:TILE, :TILE] * (2 * np.pi / TILE)
    slow = _band(rng, 6, 3)
    phase = 1.2 * slow / slow.std()
    return np.abs(np.sin(30 * x + 16 * y + phase)) + 0.5 * np.abs(np.sin(30 * x - 16 * y + phase))


def _weave(rng) -> np.ndarray:
    y, x = np.mgrid[:TILE, :TILE] * (2 * np.pi / TILE)
    folds = _band(rng, 5, 4)
    return np.sin(120 * x) * np.sin(120 * y) + 1.2 * folds / folds.std()


def _planks(rng) -> np.ndarray:
    return _filtered(rng, lambda fy, fx: np.exp(-((fx / 4) ** 2)) / (1 + np.abs(fy) / 30) ** 2)


def _stripes(rng) -> np.ndarray:
    y, x = np.mgrid[:TILE, :TILE] * (2 * np.pi / TILE)
    slow = _band(rng, 5, 3)
    return np.sin(34 * x + 2.2 * slow / slow.std())


def _cloud(rng) -> np.ndarray:
    return _filtered(rng, lambda fy, fx: 1 / (4 + np.hypot(fy, fx)) ** 1.9)


def _earth(rng) -> np.ndarray:
    return _filtered(rng, lambda fy, fx: 1 / (3 + np.hypot(fy, fx)) ** 1.25)


def _sheen(rng) -> np.ndarray:
    return _filtered(rng, lambda fy, fx: np.exp(-((fx / 3) ** 2)) / (2 + np.abs(fy)) ** 1.5)


def _streak(rng) -> np.ndarray:
    return _filtered(rng, lambda fy, fx: np.exp(-(((fx - fy) / 5) ** 2)) / (3 + np.hypot(fx, fy)))


_TILES = {
    "cloud": _cloud,
    "curls": lambda rng: np.abs(_band(rng, 30, 14)) ** 0.7,
    "earth": _earth,
    "grain": lambda rng: _filtered(rng, lambda fy, fx: 1 / (40 + np.hypot(fy, fx))),
    "hair": _hair,
    "noise": lambda rng: _filtered(rng, lambda fy, fx: np.exp(-((np.hypot(fy, fx) / 220) ** 2))),
    "pebble": lambda rng: _band(rng, 50, 25),
    "planks": _planks,
    "scales": _scales,
    "sheen": _sheen,
    "streak": _streak,
    "stripes": _stripes,
    "weave": _weave,
}
