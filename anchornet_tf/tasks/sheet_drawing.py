"""Thumbnails of annotated images, small enough for a sheet of them, clear enough to check.

Points are discs whose colour is their score, with a number that stands for their name; crosses
mark points that are hidden. Regions are tinted, one colour per name.
"""

import functools
import math
import pathlib

import matplotlib
import numpy as np
import PIL.Image
import PIL.ImageChops
import PIL.ImageDraw
import PIL.ImageFilter
import PIL.ImageFont

from anchornet_tf.annotations.items import HIDDEN, NOT_LABELLED, ImageAnnotations, Region
from anchornet_tf.utils.image_io import read_scaled

INK = (27, 31, 36)
PALE = (140, 149, 159)
_PAPER = (234, 238, 242)
_WHITE = (255, 255, 255)
# Drawn larger and averaged down, so that edges are smooth.
_OVERSAMPLING = 2
# Sizes in pixels of the thumbnail.
_RADIUS, _RIM, _CROSS, _FONT_SIZE, _LABEL_GAP = 4.0, 1.5, 5.0, 10, 4.5
_FILL = 0.32
_OUTLINE = 3  # In pixels of the larger drawing.
_DIRECTIONS = 8
# Okabe and Ito: distinct for every kind of colour vision. Yellow and blue mean scores here.
_REGION_COLORS = ((213, 94, 0), (86, 180, 233), (204, 121, 167), (230, 159, 0), (0, 158, 115))


class Names:
    """Numbers for the names of points and colours for those of regions, as they turn up."""

    def __init__(self):
        self.points: dict[str, int] = {}
        self.regions: dict[str, tuple[int, int, int]] = {}

    def number(self, point: str) -> int:
        """Returns the number of a point, from 1."""
        return self.points.setdefault(point, len(self.points) + 1)

    def color(self, region: str) -> tuple[int, int, int]:
        """Returns the colour of a region."""
        color = _REGION_COLORS[len(self.regions) % len(_REGION_COLORS)]
        return self.regions.setdefault(region, color)

    def note(self, annotations: ImageAnnotations) -> None:
        """Gives numbers and colours to all names of an image."""
        for thing in annotations.objects:
            for name in thing.points:
                self.number(name)
            for region in thing.regions:
                self.color(region_name(region, thing.category))


def region_name(region: Region, category: str) -> str:
    """Returns what a legend calls a region."""
    return region.name or category or "object"


def score_color(score: float | None) -> tuple[int, int, int]:
    """Returns the colour of a score: viridis from violet (0) to yellow (1), white for None."""
    if score is None:
        return _WHITE
    share = 0.0 if math.isnan(score) else min(max(float(score), 0.0), 1.0)
    red, green, blue, _ = matplotlib.colormaps["viridis"](share, bytes=True)
    return int(red), int(green), int(blue)


@functools.cache
def font(size: int, bold: bool = False) -> PIL.ImageFont.FreeTypeFont:
    """Returns the font that comes with matplotlib, which knows most alphabets."""
    file = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    folder = pathlib.Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return PIL.ImageFont.truetype(str(folder / file), size)


def draw_thumbnail(
    image,
    annotations: ImageAnnotations,
    names: Names,
    side: int,
    max_pixels: int | None = None,
) -> PIL.Image.Image:
    """Draws an image with what is marked in it.

    Args:
        image: A path, an array, a PIL image or a `ScaledImage`, or a function that returns one;
            None draws an empty sheet, as does an image that cannot be read.
        annotations: What is marked, in pixels of `annotations.size`, or of the original image
            where that is None.
        names: The numbers and colours of names, of which it may get more.
        side: int, the long side of the thumbnail in pixels.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.

    Returns:
        An RGB image.
    """
    names.note(annotations)
    try:
        image = image() if callable(image) else image
        if image is None:
            return _no_image(side)
        read = read_scaled(image, 2 * side * _OVERSAMPLING, max_pixels, min_side=1)
    except (ValueError, OSError):
        # A report about many images must not fail for one of them.
        return _no_image(side)
    height, width = read.original_size
    scale = side / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    large = tuple(_OVERSAMPLING * length for length in size)
    canvas = PIL.Image.fromarray(read.pixels).resize(large, PIL.Image.Resampling.BICUBIC)
    height, width = annotations.size or read.original_size
    to_canvas = np.divide(large, (width, height))
    for thing in annotations.objects:
        for region in thing.regions:
            color = names.color(region_name(region, thing.category))
            _draw_region(canvas, region, to_canvas, color)
    _draw_points(canvas, annotations, to_canvas, names)
    return canvas.reduce(_OVERSAMPLING)


def _no_image(side: int) -> PIL.Image.Image:
    sheet = PIL.Image.new("RGB", (side, side * 3 // 4), _PAPER)
    place = (sheet.width / 2, sheet.height / 2)
    PIL.ImageDraw.Draw(sheet).text(place, "no image", PALE, font(14), anchor="mm")
    return sheet


def _draw_region(canvas, region: Region, to_canvas, color) -> None:
    covered = PIL.Image.new("L", canvas.size)
    draw = PIL.ImageDraw.Draw(covered)
    if region.mask is not None:
        mask = PIL.Image.fromarray(np.asarray(region.mask, bool).astype(np.uint8) * 255)
        covered = mask.resize(canvas.size, PIL.Image.Resampling.BOX)
    elif region.box is not None:
        # Outer edges, half a pixel from the centres; at least a line of it is drawn.
        corners = np.reshape(region.box, (2, 2)) + 0.5
        left, top, right, bottom = (corners * to_canvas).ravel().tolist()
        draw.rectangle((left, top, max(left, right), max(top, bottom)), fill=255)
    for outline in region.polygons:
        corners = (np.asarray(outline, float).reshape(-1, 2) + 0.5) * to_canvas
        if len(corners) > 2:
            draw.polygon([tuple(corner) for corner in corners.tolist()], fill=255)
    canvas.paste(color, mask=covered.point(lambda value: round(value * _FILL)))
    # A region that fills the image has its outline along the image's edges.
    inside = PIL.Image.new("L", (canvas.width + 2, canvas.height + 2))
    inside.paste(covered, (1, 1))
    inner = inside.filter(PIL.ImageFilter.MinFilter(2 * _OUTLINE + 1))
    inner = inner.crop((1, 1, canvas.width + 1, canvas.height + 1))
    canvas.paste(color, mask=PIL.ImageChops.subtract(covered, inner))


def _draw_points(canvas, annotations: ImageAnnotations, to_canvas, names: Names) -> None:
    marks = []
    for thing in annotations.objects:
        for name, point in thing.points.items():
            if point.visibility == NOT_LABELLED or not math.isfinite(point.x + point.y):
                continue
            place = (np.array([point.x, point.y]) + 0.5) * to_canvas
            marks.append((place, names.number(name), point))
    draw = PIL.ImageDraw.Draw(canvas)
    # The surest last, as they hide what is below them.
    order = sorted(marks, key=lambda mark: 2 if mark[2].score is None else mark[2].score)
    for place, _, point in order:
        mark = _draw_cross if point.visibility == HIDDEN else _draw_disc
        mark(draw, place, score_color(point.score))
    _draw_numbers(draw, canvas.size, [(place, number) for place, number, _ in marks])


def _draw_disc(draw, place, color) -> None:
    for radius, fill in ((_RADIUS + _RIM, _WHITE), (_RADIUS + 0.5, INK), (_RADIUS - 0.5, color)):
        radius = radius * _OVERSAMPLING
        draw.ellipse((*(place - radius), *(place + radius)), fill=fill)


def _draw_cross(draw, place, color) -> None:
    """Draws a cross with white arms and an edge of the colour."""
    for more, width, fill in ((1.0, 5.5, INK), (0.5, 4.5, color), (-0.7, 1.6, _WHITE)):
        reach = (_CROSS + more) * _OVERSAMPLING / math.sqrt(2)
        for way in (np.array([reach, reach]), np.array([reach, -reach])):
            ends = [tuple((place - way).tolist()), tuple((place + way).tolist())]
            draw.line(ends, fill=fill, width=round(width * _OVERSAMPLING))


def _draw_numbers(draw, size, marks) -> None:
    """Writes numbers beside their points, where they cover as little else as possible."""
    if not marks:
        return
    letters = font(_FONT_SIZE * _OVERSAMPLING, bold=True)
    reach = (_RADIUS + _RIM) * _OVERSAMPLING
    places = np.array([place for place, _ in marks])
    taken = np.concatenate([places - reach, places + reach], axis=1)  # left, top, right, bottom
    centre = places.mean(axis=0)
    angles = np.arange(_DIRECTIONS) * 2 * np.pi / _DIRECTIONS
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    for place, number in marks:
        text = str(number)
        half = np.array([letters.getlength(text), _FONT_SIZE * _OVERSAMPLING * 0.75]) / 2
        spots = place + directions * (half + reach + _LABEL_GAP / 2)
        boxes = np.concatenate([spots - half, spots + half], axis=1)
        # Best is a spot that is free, inside, and away from the other points.
        outward = directions @ (place - centre) / (np.linalg.norm(place - centre) + 1e-9)
        cost = _overlaps(boxes, taken) - 0.1 * outward
        cost += 4.0 * ((boxes[:, :2] < 0) | (boxes[:, 2:] > size)).any(axis=1)
        best = int(cost.argmin())
        taken = np.concatenate([taken, boxes[best : best + 1]])
        draw.text(
            tuple(spots[best].tolist()),
            text,
            _WHITE,
            letters,
            anchor="mm",
            stroke_width=round(1.3 * _OVERSAMPLING),
            stroke_fill=INK,
        )


def _overlaps(boxes, others):
    """Returns how many times its own area each of `(n, 4)` boxes is covered by others."""
    low = np.maximum(boxes[:, np.newaxis, :2], others[np.newaxis, :, :2])
    high = np.minimum(boxes[:, np.newaxis, 2:], others[np.newaxis, :, 2:])
    common = np.prod(np.maximum(high - low, 0), axis=-1).sum(axis=1)
    return common / np.prod(boxes[:, 2:] - boxes[:, :2], axis=-1)
