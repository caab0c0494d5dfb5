"""A picture of what a search found: crops around the places, best first."""

import math
from collections.abc import Sequence

import numpy as np
import PIL.Image
import PIL.ImageDraw

from anchornet_tf.utils.image_io import read_scaled

_SIDE = 144
_CAPTION = 16
_GAP = 6
_COLUMNS = 7
# Of the longer side of the image: the part with some of its surroundings.
_CROP = 0.45
_PAPER, _INK, _MARK, _ASKED = (255, 255, 255), (60, 60, 60), (255, 220, 0), (200, 30, 60)
_RADIUS = 7


def crops(entries: Sequence[tuple[str, float, float, str]], asked: bool) -> PIL.Image.Image:
    """Draws one crop for each place.

    Args:
        entries: Path of the image, x, y and caption of each place.
        asked: bool. Whether the first is what was asked for.
    """
    rows = math.ceil(len(entries) / _COLUMNS)
    columns = min(_COLUMNS, len(entries))
    size = (columns * (_SIDE + _GAP) + _GAP, rows * (_SIDE + _CAPTION + _GAP) + _GAP)
    sheet = PIL.Image.new("RGB", size, _PAPER)
    draw = PIL.ImageDraw.Draw(sheet)
    for number, (path, x, y, caption) in enumerate(entries):
        row, column = divmod(number, _COLUMNS)
        corner = _GAP + column * (_SIDE + _GAP), _GAP + row * (_SIDE + _CAPTION + _GAP)
        tile, center = crop(path, x, y)
        sheet.paste(tile, corner)
        first = asked and number == 0
        middle = corner[0] + center[0], corner[1] + center[1]
        box = [side + sign * _RADIUS for sign in (-1, 1) for side in middle]
        draw.ellipse(box, outline=_ASKED if first else _MARK, width=2)
        if first:
            far = corner[0] + _SIDE - 1, corner[1] + _SIDE - 1
            draw.rectangle([*corner, *far], outline=_ASKED, width=3)
        draw.text((corner[0], corner[1] + _SIDE + 1), caption, fill=_ASKED if first else _INK)
    return sheet


def crop(path: str, x: float, y: float) -> tuple[PIL.Image.Image, tuple[float, float]]:
    """Returns a square around a point, as near as the image's border lets it be, and the point."""
    image = read_scaled(path)
    height, width = image.pixels.shape[:2]
    scale = height / image.original_size[0]
    side = round(min(max(_CROP * max(height, width), 2), height, width))
    corner = np.array([x, y]) * scale - side / 2
    left, top = np.clip(np.round(corner), 0, [width - side, height - side]).astype(int)
    cut = PIL.Image.fromarray(image.pixels[top : top + side, left : left + side])
    zoom = _SIDE / side
    center = ((x * scale - left + 0.5) * zoom, (y * scale - top + 0.5) * zoom)
    return cut.resize((_SIDE, _SIDE), PIL.Image.Resampling.BICUBIC), center
