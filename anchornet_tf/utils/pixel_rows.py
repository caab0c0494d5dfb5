"""Images of any kind as 8-bit RGB, converted only as many rows at a time as are asked for."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import PIL.Image

from anchornet_tf.utils.image_formats import without_limit

_SIXTEEN_TO_EIGHT_BITS = 257  # 65535 / 255
_WHITE = 255


class PixelRows(NamedTuple):
    """An image that is converted row by row.

    Attributes:
        height: int.
        width: int.
        read: callable from (top, bottom) to the uint8 `(bottom - top, width, 3)` rows between.
        whole: uint8 `(height, width, 3)` where the image is that already, else None.
    """

    height: int
    width: int
    read: Callable[[int, int], np.ndarray]
    whole: np.ndarray | None = None


def rows_of_pil(image: PIL.Image.Image) -> PixelRows:
    """Returns the rows of a PIL image of any mode.

    Raises:
        ValueError: If a 32-bit image holds values out of range.
    """
    if image.mode.startswith("I;16"):
        convert = _sixteen_bit_rows
    elif image.mode == "I":
        low, high = image.getextrema()
        # Pillow holds 16-bit files of some formats in 32-bit integers.
        deep = 255 < high <= np.iinfo(np.uint16).max
        if low < 0 or not deep:
            _check_range(low, high)
        convert = _sixteen_bit_rows if deep else _to_rgb
    elif image.mode == "F":
        convert = _float_conversion(np.asarray(image))
    elif image.has_transparency_data:
        convert = _transparent_rows
    else:
        convert = _plain_rows

    def read(top, bottom):
        with without_limit():
            strip = image.crop((0, top, image.width, bottom))
        return convert(strip)

    image.load()
    return PixelRows(image.height, image.width, read)


def rows_of_array(array: np.ndarray) -> PixelRows:
    """Returns the rows of an array `(height, width)` or `(height, width, 1, 3 or 4 channels)`.

    Raises:
        ValueError: If the array has another shape, holds no numbers, NaN or values out of range.
    """
    if array.ndim == 2:
        array = array[..., np.newaxis]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or array.size == 0:
        raise ValueError(
            "An image array must have shape (height, width) or (height, width, channels) with 1, "
            f"3 or 4 channels. Received: shape={array.shape}"
        )
    if array.dtype == bool:
        convert = _boolean_rows
    elif array.dtype in (np.uint8, np.uint16):
        convert = _to_rgb
    elif array.dtype.kind in "iuf":
        convert = _float_conversion(array)
    else:
        raise ValueError(f"An image array must hold numbers. Received: dtype={array.dtype}")
    whole = array if array.dtype == np.uint8 and array.shape[2] == 3 else None
    return PixelRows(*array.shape[:2], lambda top, bottom: convert(array[top:bottom]), whole)


def _plain_rows(image):
    return np.asarray(image.convert("RGB"))


def _transparent_rows(image):
    return _to_rgb(np.asarray(image.convert("RGBA")))


def _sixteen_bit_rows(image):
    return _to_rgb(np.asarray(image).astype(np.uint16))


def _boolean_rows(array):
    return _to_rgb(array.astype(np.uint8) * np.uint8(_WHITE))


def _float_conversion(array: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Returns the conversion of numbers whose range is that of the whole array."""
    low, high = float(array.min()), float(array.max())  # Both are NaN if any value is.
    if not np.isfinite([low, high]).all():
        raise ValueError("An image array must be finite. Received: NaN or infinite values")
    _check_range(low, high)
    scale = _WHITE if array.dtype.kind == "f" and high <= 1 else 1

    def convert(rows):
        return _to_rgb(np.rint(np.asarray(rows).astype(np.float64) * scale).astype(np.uint8))

    return convert


def _check_range(low: float, high: float) -> None:
    if low < 0 or high > _WHITE:
        raise ValueError(
            "An image array must range over 0..255 (or 0..1 for floats, 0..65535 for uint16). "
            f"Received: values from {low:g} to {high:g}"
        )


def _to_rgb(array) -> np.ndarray:
    """Returns rows of 1, 3 or 4 channels, in 8 or 16 bits, as RGB on white."""
    array = np.asarray(array)
    if array.ndim == 2:
        array = array[..., np.newaxis]
    if array.dtype == np.uint16:
        array = np.rint(array / _SIXTEEN_TO_EIGHT_BITS)
    array = array.astype(np.uint8, copy=False)
    if array.shape[2] == 4:
        alpha = array[..., 3:].astype(np.float32) / _WHITE
        array = np.rint(array[..., :3] * alpha + _WHITE * (1 - alpha)).astype(np.uint8)
    return np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array
