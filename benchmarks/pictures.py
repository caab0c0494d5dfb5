"""Drawn images of any size, the same on every machine and without anything on disk."""

import io

import numpy as np
import PIL.Image

from anchornet_tf.datasets import parts_world


def drawn_image(index: int, size: tuple[int, int], class_name: str = "bird") -> np.ndarray:
    """Returns the uint8 `(height, width, 3)` picture of a figure, stretched to a size."""
    height, width = size
    image = PIL.Image.fromarray(parts_world.draw(class_name, index).image)
    return np.asarray(image.resize((width, height), PIL.Image.Resampling.BICUBIC))


def jpeg_bytes(image: np.ndarray) -> bytes:
    """Returns an image as the bytes of a JPEG file."""
    buffer = io.BytesIO()
    PIL.Image.fromarray(image).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()
