"""Pictures of an alignment: averages before and after, and all images warped onto one."""

from collections.abc import Iterator, Sequence

import numpy as np
import PIL.Image
import PIL.ImageDraw

from anchornet_tf.tasks.aligned import AlignedImages
from anchornet_tf.tasks.common_frame import CommonFrame
from anchornet_tf.tasks.sheet_drawing import font, score_color

_SIDE = 300
_SHEET_SIDE = 180
_GAP = 12
_HEAD = 64
_CAPTION = 24
_COLUMNS = 6
_INK, _SOFT, _PAPER = (27, 31, 36), (87, 96, 106), (255, 255, 255)
_NOTHING = (234, 238, 242)  # Where an image has nothing to show.


def average_picture(frame: CommonFrame, aligned: AlignedImages, onto: int) -> PIL.Image.Image:
    """Draws one image, the average of all as they are, and the average of all warped onto it."""
    size = _picture_size(frame.size, _SIDE)
    before = np.mean([frame.stretched(n, size) for n in range(len(frame))], axis=0)
    total, weight = np.zeros((*size, 3)), np.zeros((*size, 1))
    for number in range(len(frame)):
        warped, inside = _warped(frame, aligned, onto, number, size)
        total += warped * inside
        weight += inside
    after = np.where(weight > 0, total / np.maximum(weight, 1), _NOTHING)
    panels = {
        "one image": frame.stretched(onto, size),
        "average before": before,
        "average after": after,
    }
    height, width = size
    picture = PIL.Image.new(
        "RGB", (len(panels) * (width + _GAP) + _GAP, height + 2 * _GAP + _CAPTION), _PAPER
    )
    draw = PIL.ImageDraw.Draw(picture)
    for place, (title, pixels) in enumerate(panels.items()):
        left = _GAP + place * (width + _GAP)
        draw.text((left, _GAP // 2), title, _INK, font(15, bold=True))
        picture.paste(_image(pixels), (left, _GAP + _CAPTION))
    return picture


def sheet_picture(
    frame: CommonFrame, aligned: AlignedImages, onto: int, names: Sequence[str]
) -> PIL.Image.Image:
    """Draws every image above itself warped onto one, with the share of 3-cycles that agree."""
    size = _picture_size(frame.size, _SHEET_SIDE)
    height, width = size
    cell = width + _GAP, 2 * height + _CAPTION + 2 * _GAP
    columns = min(_COLUMNS, len(frame))
    rows = -(-len(frame) // columns)
    picture = PIL.Image.new(
        "RGB", (max(columns * cell[0] + _GAP, 620), _HEAD + rows * cell[1]), _PAPER
    )
    draw = PIL.ImageDraw.Draw(picture)
    draw.text((_GAP, 10), f"All images warped onto {names[onto]}", _INK, font(18, bold=True))
    draw.text(
        (_GAP, 36),
        "Above as it is, below warped; the number is the share of 3-cycles that agree.",
        _SOFT,
        font(12),
    )
    shares = {
        number: float(aligned[onto, number].confidence.mean()) for number in range(len(frame))
    }
    others = sorted((n for n in shares if n != onto), key=lambda n: -shares[n])
    for place, number in enumerate([onto, *others]):
        left = _GAP + place % columns * cell[0]
        top = _HEAD + place // columns * cell[1]
        share = "" if number == onto else f"{shares[number]:.2f}"
        room = width - draw.textlength(share, font(12, bold=True)) - 16
        draw.text((left, top), _shortened(draw, names[number], room), _INK, font(12))
        if share:
            draw.text((left + width, top), share, _INK, font(12, bold=True), anchor="ra")
            bar = left, top + 18, left + max(1, round(width * shares[number])), top + 20
            draw.rectangle(bar, score_color(shares[number]))
        warped, inside = _warped(frame, aligned, onto, number, size)
        picture.paste(_image(frame.stretched(number, size)), (left, top + _CAPTION))
        shown = np.where(inside, warped, _NOTHING)
        picture.paste(_image(shown), (left, top + _CAPTION + height + 3))
    return picture


def _warped(frame, aligned, onto, number, size) -> tuple[np.ndarray, np.ndarray]:
    """Returns an image in the frame of another, and where it has something to show."""
    flow = aligned[onto, number].resized(size, size)
    return flow.warp(frame.stretched(number, size)), flow.lands_inside()[..., np.newaxis]


def _picture_size(size: tuple[int, int], longest: int) -> tuple[int, int]:
    height, width = (max(1, round(side * longest / max(size))) for side in size)
    return height, width


def _image(pixels: np.ndarray) -> PIL.Image.Image:
    return PIL.Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))


def _shortened(draw: PIL.ImageDraw.ImageDraw, text: str, room: float) -> str:
    """Returns a text that fits, with its middle left out where it is too long."""
    return next((short for short in _shorter(text) if draw.textlength(short, font(12)) <= room), "")


def _shorter(text: str) -> Iterator[str]:
    yield text
    for left in range(len(text) - 1, 1, -1):
        yield f"{text[: (left + 1) // 2]}…{text[len(text) - left // 2 :]}"
