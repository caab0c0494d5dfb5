"""Reading an image from wherever a user has it: a file, an array or a PIL image."""

import os

import numpy as np
import PIL.Image
import PIL.ImageOps

MINIMUM_SIDE = 2
_SIXTEEN_TO_EIGHT_BITS = 257  # 65535 / 255


def read_image(source) -> np.ndarray:
    """Returns any image as 8-bit RGB.

    Grey images are repeated over the three channels, transparent ones are laid on white, 16-bit
    ones are scaled to 8 bits, and the orientation that a camera noted (EXIF) is applied.

    Args:
        source: A path, a PIL image, or an array `(height, width)` or `(height, width, channels)`
            with 1, 3 (RGB) or 4 (RGBA) channels. Arrays of float may range over 0..1 or 0..255:
            one that never exceeds 1 is taken as 0..1.

    Returns:
        uint8 array `(height, width, 3)`.

    Raises:
        FileNotFoundError: If a path leads nowhere.
        TypeError: If `source` is none of the above.
        ValueError: If the file is no image, or the array has another rank or other channels, holds
            NaN or values out of range, or the image is less than 2 pixels high or wide.
    """
    if isinstance(source, str | os.PathLike):
        array, name = _from_file(source), f"the image {os.fspath(source)!r}"
    elif isinstance(source, PIL.Image.Image):
        array, name = _from_pil(source), "a PIL image"
    elif hasattr(source, "__array__"):
        array, name = _from_array(np.asarray(source)), "an array"
    else:
        raise TypeError(
            f"An image must be a path, an array or a PIL image. Received: {type(source).__name__}"
        )
    if min(array.shape[:2]) < MINIMUM_SIDE:
        raise ValueError(
            f"An image must be at least {MINIMUM_SIDE} pixels high and wide. "
            f"Received: {name} of height {array.shape[0]} and width {array.shape[1]}"
        )
    return array


def _from_file(path: str | os.PathLike) -> np.ndarray:
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"There must be an image at the path. Received: {path!r}")
    try:
        with PIL.Image.open(path) as image:
            return _from_pil(image)
    # Pillow raises any of these for damaged files, depending on the format.
    except (OSError, SyntaxError, EOFError, PIL.Image.DecompressionBombError) as error:
        raise ValueError(
            f"The file must be a readable image (JPEG, PNG, ...). Received: {path!r} ({error})"
        ) from error


def _from_pil(image: PIL.Image.Image) -> np.ndarray:
    image = PIL.ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16"):
        return _from_array(np.asarray(image).astype(np.uint16))
    if image.mode == "I":
        # Pillow holds 16-bit files of some formats in 32-bit integers.
        values = np.asarray(image)
        return _from_array(values.astype(np.uint16) if values.max() > 255 else values)
    if image.mode == "F":
        return _from_array(np.asarray(image))
    if image.has_transparency_data:
        return _from_array(np.asarray(image.convert("RGBA")))
    return np.array(image.convert("RGB"))


def _from_array(array: np.ndarray) -> np.ndarray:
    if array.ndim == 2:
        array = array[..., np.newaxis]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or array.size == 0:
        raise ValueError(
            "An image array must have shape (height, width) or (height, width, channels) with 1, "
            f"3 or 4 channels. Received: shape={array.shape}"
        )
    array = _to_eight_bits(array)
    if array.shape[2] == 4:
        alpha = array[..., 3:].astype(np.float32) / 255
        array = np.rint(array[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)
    return np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array


def _to_eight_bits(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.uint8:
        return array
    if array.dtype == bool:
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype == np.uint16:
        return np.rint(array / _SIXTEEN_TO_EIGHT_BITS).astype(np.uint8)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"An image array must hold numbers. Received: dtype={array.dtype}")
    if not np.isfinite(array).all():
        raise ValueError("An image array must be finite. Received: NaN or infinite values")
    low, high = float(array.min()), float(array.max())
    if low < 0 or high > 255:
        raise ValueError(
            "An image array must range over 0..255 (or 0..1 for floats, 0..65535 for uint16). "
            f"Received: values from {low:g} to {high:g}"
        )
    scale = 255 if array.dtype.kind == "f" and high <= 1 else 1
    return np.rint(array.astype(np.float64) * scale).astype(np.uint8)
