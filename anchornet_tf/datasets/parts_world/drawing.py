"""Draws one picture of *parts_world*, a function of class, index, split and seed alone."""

import dataclasses
import zlib

import numpy as np
import PIL.Image
import PIL.ImageFilter

from anchornet_tf.datasets.parts_world import background, materials
from anchornet_tf.datasets.parts_world.canvas import NOBODY, Canvas
from anchornet_tf.datasets.parts_world.clutter import add_clutter
from anchornet_tf.datasets.parts_world.figure import SCENERY, Figure, mirrored_name
from anchornet_tf.datasets.parts_world.figures import FIGURES
from anchornet_tf.datasets.parts_world.pose import PosedFigure, pose
from anchornet_tf.datasets.voc_classes import BACKGROUND, VOC_CLASSES

SPLITS = ("train", "test")
DEFAULT_SEED = 0
IMAGE_SIZE = 224
_SIZES = (32, materials.TILE)

_OBJECT_SIZE = (0.42, 0.98)
_OCCLUDED_ODDS = 0.45
_TRUNCATION = 0.12
_OCCLUDER = -2
_FAR_TONE = 0.78


@dataclasses.dataclass(frozen=True)
class Example:
    """One picture with what is known about it.

    Args:
        image: uint8 array `(size, size, 3)`, RGB.
        label: str. One of `VOC_CLASSES`, or "background".
        keypoints: name -> (x, y, visible) in pixels; a keypoint outside the picture, behind clutter
            or behind another part of the object is not visible. Empty for a background.
        part_names: tuple of str. The parts that show a pixel.
        part_map: uint8 array `(size, size)`: 0, or the position of the visible part in `part_names`
            counted from 1.
        box: (left, top, right, bottom), the first and last columns and rows of the object inside
            the picture, as if no clutter stood before it; None for a background.
    """

    image: np.ndarray
    label: str
    keypoints: dict[str, tuple[float, float, bool]]
    part_names: tuple[str, ...]
    part_map: np.ndarray
    box: tuple[int, int, int, int] | None

    @property
    def part_masks(self) -> dict[str, np.ndarray]:
        """name -> bool array `(size, size)`: the visible pixels of every part; none overlap."""
        return {name: self.part_map == i for i, name in enumerate(self.part_names, start=1)}


def draw(
    class_name: str,
    index: int,
    *,
    split: str = "train",
    seed: int = DEFAULT_SEED,
    size: int = IMAGE_SIZE,
) -> Example:
    """Draws the picture number `index` of a class.

    Every picture has random numbers of its own, so that any of them can be drawn alone and in any
    order, always with the same pixels.

    Args:
        class_name: str. One of `VOC_CLASSES`, or "background".
        index: int. The number of the picture within its class and split, from 0.
        split: str. "train" or "test".
        seed: int, not negative.
        size: int. Height and width in pixels, 32 to 512.

    Returns:
        Example.

    Raises:
        ValueError: If an argument is out of its range.

    Example:

    ```python
    from anchornet_tf.datasets import parts_world

    example = parts_world.draw("horse", 3)
    assert example.image.shape == (224, 224, 3)
    x, y, visible = example.keypoints["nose"]
    ```
    """
    _check(class_name, index, split, seed, size)
    word = zlib.crc32(class_name.encode())
    rng = np.random.default_rng([seed, SPLITS.index(split), word, index])
    if class_name == BACKGROUND:
        light = (rng.uniform(-0.6, 0.6), rng.uniform(-0.8, -0.4))
        canvas = Canvas(background.scene(size, rng), light, rng)
        _add_clutter(canvas, rng)
        # Things as large as objects, so that size and shading do not give a class away.
        large = (0.15 * size, 0.3 * size)
        add_clutter(canvas, int(rng.integers(0, 3)), rng, scale=large)
        no_parts = np.zeros((size, size), np.uint8)
        return Example(_develop(canvas.pixels, rng), BACKGROUND, {}, (), no_parts, None)
    return _draw_object(class_name, size, rng)


def _draw_object(class_name: str, size: int, rng: np.random.Generator) -> Example:
    figure = FIGURES[class_name][rng.integers(len(FIGURES[class_name]))]
    posed = pose(figure, rng)
    scale, shift = _placement(posed, size, rng)
    canvas = Canvas(background.scene(size, rng), posed.light, rng)
    _add_clutter(canvas, rng)
    if figure.grounded:
        _cast_shadow(canvas, posed, scale, shift, rng)
    _paint_figure(canvas, figure, posed, scale, shift, rng)
    whole = canvas.owner >= 0
    rows, columns = np.flatnonzero(whole.any(1)), np.flatnonzero(whole.any(0))
    box = tuple(int(edge) for edge in (columns[0], rows[0], columns[-1], rows[-1]))
    if rng.random() < _OCCLUDED_ODDS:
        span = max(box[2] - box[0], box[3] - box[1])
        count = int(rng.integers(1, 3))
        scale_range = (0.06 * span, 0.18 * span)
        add_clutter(canvas, count, rng, scale=scale_range, box=box, owner=_OCCLUDER)
    image = _develop(canvas.pixels, rng)
    keypoints = _keypoints(canvas.owner, posed, scale, shift)
    return Example(image, class_name, keypoints, *_part_map(canvas.owner, posed), box)


def _placement(posed: PosedFigure, size: int, rng: np.random.Generator):
    """Returns the scale and shift that bring a figure into the picture."""
    low, high = posed.bounds()
    extent = high - low
    scale = rng.uniform(*_OBJECT_SIZE) * size / extent.max()
    slack = size - extent * scale
    # A figure may lose a strip at the border of the picture, as objects in photographs do.
    beyond = _TRUNCATION * extent * scale * (rng.random(2) < 0.3)
    corner = rng.uniform(np.minimum(-beyond, slack + beyond), np.maximum(slack + beyond, -beyond))
    return scale, corner - low * scale


def _cast_shadow(canvas, posed, scale, shift, rng) -> None:
    low, high = (corner * scale + shift for corner in posed.bounds())
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    radius = np.array([0.52 * (high[0] - low[0]), 0.07 * (high[1] - low[1]) + 2])
    centre = np.array([(low[0] + high[0]) / 2 - 0.1 * radius[0] * posed.light[0], high[1]])
    outline = centre + radius * np.stack([np.cos(angles), np.sin(angles)], 1)
    canvas.shade(outline, rng.uniform(0.2, 0.6), float(max(2.0, 0.6 * radius[1])))


def _paint_figure(canvas, figure: Figure, posed, scale, shift, rng) -> None:
    palette = {
        slot: materials.colour(names[rng.integers(len(names))], rng)
        for slot, names in figure.palette.items()
    }
    second = _coat_pattern(figure, palette, canvas.size, rng)
    for owner, piece in enumerate(posed.parts):
        part = piece.part
        tone = part.tone * (_FAR_TONE if part.id.startswith("far_") else 1.0)
        canvas.paint(
            [outline * scale + shift for outline in piece.outlines],
            [light * tone for light in piece.lights],
            palette[part.colour],
            materials.MATERIALS[part.material],
            NOBODY if part.name == SCENERY else owner,
            second if part.colour == "coat" else None,
        )


def _coat_pattern(figure: Figure, palette, size: int, rng):
    """Returns the second coat colour and where it shows, or None for a plain coat."""
    pattern = materials.PATTERNS[figure.patterns[rng.integers(len(figure.patterns))]]
    if pattern is None:
        return None
    tile, threshold, softness = pattern
    field = (materials.window(tile, size, size, rng) - threshold) / softness
    return palette["second"], np.clip(field + 0.5, 0, 1)


def _part_map(owner: np.ndarray, posed: PosedFigure) -> tuple[tuple[str, ...], np.ndarray]:
    """Returns the names of the visible parts and their map, counted from 1."""
    pixels = np.bincount(np.maximum(owner + 1, 0).ravel(), minlength=len(posed.parts) + 1)[1:]
    numbers: dict[str, int] = {}
    # Owners below zero are nobody's: the last entries of the table, where negative indices lead.
    table = np.zeros(len(posed.parts) + 2, np.uint8)
    for number, piece in enumerate(posed.parts):
        if pixels[number]:
            name = mirrored_name(piece.part.name) if posed.mirrored else piece.part.name
            table[number] = numbers.setdefault(name, len(numbers) + 1)
    return tuple(numbers), table[owner]


def _keypoints(owner, posed: PosedFigure, scale, shift) -> dict[str, tuple[float, float, bool]]:
    size = owner.shape[0]
    numbers = {piece.part.id: number for number, piece in enumerate(posed.parts)}
    found = {}
    for name, (x, y, key) in posed.keypoints.items():
        x, y = x * scale + shift[0], y * scale + shift[1]
        column, row = round(x), round(y)
        number = numbers[key]
        visible = bool(posed.parts[number].outlines)
        visible = visible and 0 <= column < size and 0 <= row < size
        if visible:
            top = int(owner[row, column])
            # Pieces of one part join without hiding each other.
            joined = top >= 0 and posed.parts[top].part.name == posed.parts[number].part.name
            visible = top == NOBODY or 0 <= top <= number or joined
        found[mirrored_name(name) if posed.mirrored else name] = (float(x), float(y), visible)
    return dict(sorted(found.items()))


def _add_clutter(canvas: Canvas, rng: np.random.Generator) -> None:
    count = int(rng.integers(0, 8))
    size = canvas.size
    ground = (0, 0.2 * size, size, size)
    add_clutter(canvas, count, rng, scale=(0.03 * size, 0.14 * size), box=ground)


def _develop(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Turns `(3, size, size)` into a photograph: exposure, colour cast, grain and blur."""
    gain = rng.uniform(0.75, 1.15) * (1 + 0.05 * rng.standard_normal(3))
    pixels *= gain.astype(np.float32)[:, None, None]
    grain = np.float32(rng.uniform(1, 6))
    pixels += materials.window("noise", *pixels.shape[1:], rng) * grain + rng.uniform(-12, 16)
    exposed = np.clip(pixels, 0, 255, out=pixels).astype(np.uint8)
    image = PIL.Image.fromarray(np.ascontiguousarray(exposed.transpose(1, 2, 0)))
    return np.array(image.filter(PIL.ImageFilter.BoxBlur(rng.uniform(0, 0.7))))


def _check(class_name, index, split, seed, size) -> None:
    if class_name != BACKGROUND and class_name not in VOC_CLASSES:
        raise ValueError(
            f"`class_name` must be {BACKGROUND!r} or one of {', '.join(VOC_CLASSES)}. "
            f"Received: class_name={class_name!r}"
        )
    if split not in SPLITS:
        raise ValueError(f"`split` must be one of {SPLITS}. Received: split={split!r}")
    if index < 0 or seed < 0:
        raise ValueError(
            f"`index` and `seed` must not be negative. Received: index={index}, seed={seed}"
        )
    if not _SIZES[0] <= size <= _SIZES[1]:
        raise ValueError(
            f"`size` must be between {_SIZES[0]} and {_SIZES[1]} pixels. Received: size={size}"
        )
