"""Reading an image from wherever a user has it: a file, an array or a PIL image.

Everything is converted a few rows at a time, so that reading needs little more memory than the
decoded file and the result.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator

import numpy as np
import PIL.Image
import PIL.ImageOps

from anchornet_tf.utils.image_formats import advice, open_image, orientation
from anchornet_tf.utils.pixel_rows import PixelRows, rows_of_array, rows_of_pil

MINIMUM_SIDE = 2
MAXIMUM_PIXELS = 2**26  # 8,192 x 8,192
LIMIT_VARIABLE = "ANCHORNET_MAX_PIXELS"
MAXIMUM_SIDE = 2048
# A panorama is not scaled down until nothing is left of its short side.
_SHORT_SIDE_KEPT = 256
_ROWS_AT_ONCE = 64
_TURNED = (5, 6, 7, 8)  # Orientations that exchange height and width.


@dataclasses.dataclass(frozen=True, eq=False)
class ScaledImage:
    """An image with no more pixels than a descriptor can use.

    Args:
        pixels: uint8 array `(height, width, 3)`.
        original_size: `(height, width)` of the image before it was scaled down, in which points
            and flows are given.
    """

    pixels: np.ndarray
    original_size: tuple[int, int]


def read_image(source, max_pixels: int | None = None) -> np.ndarray:
    """Returns any image as 8-bit RGB.

    Grey images are repeated over the three channels, transparent ones are laid on white, 16-bit
    ones are scaled to 8 bits, and the orientation that a camera noted (EXIF) is applied.

    Args:
        source: A path, a PIL image, or an array `(height, width)` or `(height, width, channels)`
            with 1, 3 (RGB) or 4 (RGBA) channels. Arrays of float may range over 0..1 or 0..255:
            one that never exceeds 1 is taken as 0..1.
        max_pixels: int. A file or PIL image of more pixels is refused before it is decoded. None
            means `pixel_limit()`.

    Returns:
        uint8 array `(height, width, 3)`.

    Raises:
        FileNotFoundError: If a path leads nowhere.
        TypeError: If `source` is none of the above.
        ValueError: If the file is no image, the array has another rank or other channels, holds
            NaN or values out of range, or the image is less than 2 pixels high or wide or has
            more than `max_pixels`.
    """
    return _read(source, None, max_pixels, MINIMUM_SIDE).pixels


def read_scaled(
    source,
    max_side: int = MAXIMUM_SIDE,
    max_pixels: int | None = None,
    min_side: int = MINIMUM_SIDE,
) -> ScaledImage:
    """Reads an image as `read_image` does, and scales it down if it is very large.

    An image whose sides are `max_side` pixels or less keeps its pixels. A larger one is averaged
    down to a long side of `max_side`, or to a short side of 256 where that is larger. JPEG files
    are scaled down while they are decoded, which saves most of the time and memory.

    Args:
        source: As in `read_image`, or a `ScaledImage`, whose pixels may be scaled down further.
        max_side: int. The longest side that is left as it is.
        max_pixels: As in `read_image`.
        min_side: int. The fewest pixels of height and width; an image with less is refused.

    Returns:
        The scaled image, with its original size.

    Raises:
        FileNotFoundError: As in `read_image`.
        TypeError: As in `read_image`.
        ValueError: As in `read_image`, and if `max_side` is not at least 2.

    Example:

    ```python
    image = read_scaled("photograph.jpg")
    image.pixels.shape   # (1365, 2048, 3)
    image.original_size  # (4000, 6000)
    ```
    """
    if max_side < MINIMUM_SIDE:
        raise ValueError(
            f"`max_side` must be at least {MINIMUM_SIDE}. Received: max_side={max_side}"
        )
    if isinstance(source, ScaledImage):
        pixels = _read(source.pixels, max_side, max_pixels, min_side).pixels
        return ScaledImage(pixels, source.original_size)
    return _read(source, max_side, max_pixels, min_side)


def scaled_size(height: int, width: int, max_side: int = MAXIMUM_SIDE) -> tuple[int, int]:
    """Returns the height and width that `read_scaled` gives to an image of a height and width."""
    scale = max(max_side / max(height, width), min(1, _SHORT_SIDE_KEPT / min(height, width)))
    if scale >= 1:
        return height, width
    return round(height * scale), round(width * scale)


def pixel_limit(max_pixels: int | None = None) -> int:
    """Returns how many pixels an image may have.

    Args:
        max_pixels: int, or None for the number in the environment variable ANCHORNET_MAX_PIXELS,
            or 67,108,864 (8,192 x 8,192) where that is not set.

    Raises:
        ValueError: If the number is not a positive integer.
    """
    given = os.environ.get(LIMIT_VARIABLE) or MAXIMUM_PIXELS if max_pixels is None else max_pixels
    name = "`max_pixels`" if max_pixels is not None else LIMIT_VARIABLE
    try:
        limit = int(given)
    except ValueError as error:
        raise ValueError(f"{name} must be a positive integer. Received: {given!r}") from error
    if limit < 1:
        raise ValueError(f"{name} must be a positive integer. Received: {given!r}")
    return limit


def check_pixels(height: int, width: int, max_pixels: int | None, name: str) -> None:
    """Raises ValueError for an image of more than `pixel_limit(max_pixels)` pixels.

    Args:
        height: int.
        width: int.
        max_pixels: As in `pixel_limit`.
        name: What to call the image, such as "the image 'a.png'".
    """
    limit = pixel_limit(max_pixels)
    if height * width > limit:
        raise ValueError(
            f"An image must have at most {limit:,} pixels; `max_pixels` (--max_pixels) or "
            f"the environment variable {LIMIT_VARIABLE} raises the limit. "
            f"Received: {name} of {width} x {height} = {height * width:,} pixels"
        )


def _read(source, max_side: int | None, max_pixels: int | None, min_side: int) -> ScaledImage:
    if isinstance(source, str | os.PathLike):
        return _from_file(os.fspath(source), max_side, max_pixels, min_side)
    if isinstance(source, PIL.Image.Image):
        check_pixels(source.height, source.width, max_pixels, "a PIL image")
        image = PIL.ImageOps.exif_transpose(source)
        return _from_rows(rows_of_pil(image), max_side, min_side, "a PIL image")
    if hasattr(source, "__array__"):
        return _from_rows(rows_of_array(np.asarray(source)), max_side, min_side, "an array")
    raise TypeError(
        f"An image must be a path, an array or a PIL image. Received: {type(source).__name__}"
    )


def _from_file(
    path: str, max_side: int | None, max_pixels: int | None, min_side: int
) -> ScaledImage:
    if not os.path.exists(path):
        raise FileNotFoundError(f"There must be an image at the path. Received: {path!r}")
    if os.path.isdir(path):
        raise ValueError(f"There must be an image file at the path. Received: the folder {path!r}")
    name = f"the image {path!r}"
    with _damage_named(path):
        image = open_image(path)
    with image:
        width, height = image.size
        check_pixels(height, width, max_pixels, name)
        with _damage_named(path):
            if max_side is not None:
                new_height, new_width = scaled_size(height, width, max_side)
                image.draft(None, (new_width, new_height))
            image.load()
            # TIFF files are turned by now: Pillow states the size that they have then.
            turned = orientation(image) in _TURNED
            PIL.ImageOps.exif_transpose(image, in_place=True)
        with _damage_named(path):
            rows = rows_of_pil(image)
        read = _from_rows(rows, max_side, min_side, name)
    return ScaledImage(read.pixels, (width, height) if turned else (height, width))


@contextlib.contextmanager
def _damage_named(path: str) -> Iterator[None]:
    try:
        yield
    # Pillow raises nearly anything for damaged files, depending on the format.
    except Exception as error:
        remedy = advice(path)
        raise ValueError(
            f"The file must be a readable image (JPEG, PNG, ...){remedy and '; ' + remedy}. "
            f"Received: {path!r} ({' '.join(str(error).split()) or type(error).__name__})"
        ) from error


def _from_rows(rows: PixelRows, max_side: int | None, min_side: int, name: str) -> ScaledImage:
    size = rows.height, rows.width
    if min(size) < min_side:
        raise ValueError(
            f"An image must be at least {min_side} pixels high and wide. "
            f"Received: {name} of height {size[0]} and width {size[1]}"
        )
    new_size = size if max_side is None else scaled_size(*size, max_side)
    if new_size != size:
        return ScaledImage(_scaled(rows, new_size), size)
    if rows.whole is not None:
        return ScaledImage(rows.whole, size)
    pixels = np.empty((*size, 3), np.uint8)
    for top in range(0, rows.height, _ROWS_AT_ONCE):
        bottom = min(top + _ROWS_AT_ONCE, rows.height)
        pixels[top:bottom] = rows.read(top, bottom)
    return ScaledImage(pixels, size)


def _scaled(rows: PixelRows, new_size: tuple[int, int]) -> np.ndarray:
    """Averages blocks of pixels, strip by strip, and resamples what is left of them."""
    new_height, new_width = new_size
    factor = min(rows.height // new_height, rows.width // new_width)
    reduced = np.empty((-(-rows.height // factor), -(-rows.width // factor), 3), np.uint8)
    step = max(1, _ROWS_AT_ONCE // factor) * factor
    for top in range(0, rows.height, step):
        strip = PIL.Image.fromarray(rows.read(top, min(top + step, rows.height))).reduce(factor)
        reduced[top // factor : top // factor + strip.height] = np.asarray(strip)
    # The last block of a row or column may be a part of one.
    box = (0, 0, rows.width / factor, rows.height / factor)
    resized = PIL.Image.fromarray(reduced).resize(
        (new_width, new_height), PIL.Image.Resampling.BILINEAR, box
    )
    return np.array(resized)
