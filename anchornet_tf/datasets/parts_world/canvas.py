"""A picture under way: paints shaded, textured outlines one over the other."""

import numpy as np
import PIL.Image
import PIL.ImageDraw
import PIL.ImageFilter

from anchornet_tf.datasets.parts_world import materials

NOBODY = -1
_SUPERSAMPLING = 2
# Pillow's polygons are half a sample too wide: half-covered pixels lie outside.
_OWNED = 0.55
_LIGHT_UNIT = 128
_MARGIN = 2
_SMALL = 14


class Canvas:
    """Float picture and, for every pixel, who was painted there last.

    Colours come first, `(3, size, size)`: NumPy is several times faster on long rows.

    Args:
        pixels: float32 array `(3, size, size)` in 0..255 to paint on.
        light: (x, y) direction the light comes from.
        rng: np.random.Generator. Chooses the windows of the textures.
    """

    def __init__(self, pixels: np.ndarray, light: np.ndarray, rng: np.random.Generator):
        self.pixels = pixels
        self.size = pixels.shape[1]
        self.owner = np.full(pixels.shape[1:], NOBODY, np.int16)
        self._light = (float(light[0]), float(light[1]))
        self._rng = rng

    def paint(
        self,
        outlines: list[np.ndarray],
        lights: list[float],
        colour: np.ndarray,
        material: materials.Material,
        owner: int = NOBODY,
        second: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Paints one piece.

        Args:
            outlines: arrays `(points, 2)` of x, y in pixels, in drawing order.
            lights: brightness of each outline, about 1.
            colour: float RGB in 0..255.
            material: Material. Its surface.
            owner: int. Who owns the pixels afterwards.
            second: a second colour and a `(size, size)` field in 0..1 that says where it shows.
        """
        box = self._box(outlines)
        if box is None:
            return
        rows, columns = slice(box[1], box[3]), slice(box[0], box[2])
        mask, light = _rasterise(outlines, lights, box)
        alpha = _to_unit(mask)  # (height, width)
        brightness = materials.window(material.tile, *alpha.shape, self._rng) * material.contrast
        brightness += 1
        brightness *= light
        shine = None
        if material.relief and min(alpha.shape) > _SMALL:
            slope, height = self._relief(mask, outlines[-1])
            height *= np.float32(0.5 * material.relief)
            height += slope * np.float32(0.9 * material.relief)
            height += np.float32(1 - 0.4 * material.relief)
            brightness *= height
            if material.gloss:
                shine = np.maximum(slope - 0.14, 0) * np.float32(300 * material.gloss)
        paint = colour[:, None, None] * np.maximum(brightness, 0.05)  # (3, height, width)
        if second is not None:
            share = second[1][rows, columns]
            paint += (second[0] - colour)[:, None, None] * (brightness * share)
        if shine is not None:
            paint += shine
        region = self.pixels[:, rows, columns]
        paint -= region
        paint *= alpha
        region += paint
        self.owner[rows, columns][alpha > _OWNED] = owner

    def shade(self, outline: np.ndarray, strength: float, blur: float) -> None:
        """Darkens the picture inside an outline with soft borders, as a shadow does."""
        half = self.size // 2
        mask = PIL.Image.new("L", (half, half))
        PIL.ImageDraw.Draw(mask).polygon((outline / 2).ravel().tolist(), fill=255)
        mask = mask.filter(PIL.ImageFilter.BoxBlur(blur / 2)).resize((self.size, self.size))
        self.pixels *= 1 - np.float32(strength) * _to_unit(mask)

    def _box(self, outlines: list[np.ndarray]) -> tuple[int, int, int, int] | None:
        """Returns left, top, right, bottom of the pixels that may change; None where none may."""
        if not outlines:
            return None
        points = outlines[0] if len(outlines) == 1 else np.concatenate(outlines)
        (low_x, low_y), (high_x, high_y) = points.min(0).tolist(), points.max(0).tolist()
        left, top = max(int(low_x) - _MARGIN, 0), max(int(low_y) - _MARGIN, 0)
        right = min(int(high_x) + _MARGIN + 2, self.size)
        bottom = min(int(high_y) + _MARGIN + 2, self.size)
        return (left, top, right, bottom) if right - left > 2 and bottom - top > 2 else None

    def _relief(self, mask: PIL.Image.Image, outline: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns how much each pixel of a rounded piece leans to the light, and its height."""
        radius = min(max(0.3 * _thickness(outline), 0.8), 12.0)
        once = mask.filter(PIL.ImageFilter.BoxBlur(radius))
        height = _to_unit(once.filter(PIL.ImageFilter.BoxBlur(radius * 0.6)))
        slope = np.zeros_like(height)
        # Higher towards the middle: the slope that faces the light is bright.
        steep = np.float32(radius * 0.8)
        slope[:, 1:-1] = (height[:, :-2] - height[:, 2:]) * (self._light[0] * steep)
        slope[1:-1] += (height[:-2] - height[2:]) * (self._light[1] * steep)
        return np.minimum(slope, 0.6, out=slope), height


def _rasterise(outlines, lights, box) -> tuple[PIL.Image.Image, float | np.ndarray]:
    """Returns the antialiased mask and the brightness, a number where it is the same all over."""
    left, top, right, bottom = box
    extent = ((right - left) * _SUPERSAMPLING, (bottom - top) * _SUPERSAMPLING)
    mask = PIL.Image.new("L", extent)
    pen = PIL.ImageDraw.Draw(mask)
    # The centre of pixel i lies between its samples.
    corner = np.array([left, top]) - 0.5 * (_SUPERSAMPLING - 1) / _SUPERSAMPLING
    moved = [((points - corner) * _SUPERSAMPLING).ravel().tolist() for points in outlines]
    for points in moved:
        pen.polygon(points, fill=255)
    mask = mask.reduce(_SUPERSAMPLING)
    if max(lights) - min(lights) < 0.02:
        return mask, lights[0]
    lit = PIL.Image.new("L", extent, min(255, round(_LIGHT_UNIT * lights[-1])))
    pen = PIL.ImageDraw.Draw(lit)
    for points, light in zip(moved, lights, strict=True):
        pen.polygon(points, fill=min(255, round(_LIGHT_UNIT * light)))
    return mask, np.asarray(lit.reduce(_SUPERSAMPLING), np.float32) * np.float32(1 / _LIGHT_UNIT)


def _thickness(points: np.ndarray) -> float:
    """Returns the width of a shape as if it were a strip: twice its area over half its girth."""
    following = np.concatenate([points[1:], points[:1]])
    area = 0.5 * abs(float((points[:, 0] * following[:, 1] - points[:, 1] * following[:, 0]).sum()))
    return 4 * area / (float(np.hypot(*(following - points).T).sum()) + 1e-6)


def _to_unit(mask: PIL.Image.Image) -> np.ndarray:
    values = np.frombuffer(mask.tobytes(), np.uint8).reshape(mask.height, mask.width)
    return values * np.float32(1 / 255)
