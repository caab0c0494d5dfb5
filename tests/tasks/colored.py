"""Drawn objects whose parts have colours of their own, and a descriptor that sees colours."""

import numpy as np
import PIL.Image

from anchornet_tf.features.feature_map import FeatureMap, resize_bilinear
from anchornet_tf.matchers.matcher import Matcher

SIZE = 112
# (x, y) of the parts of the object, from its upper left corner, and their colours.
PARTS = {
    "head": ((12, 10), (255, 0, 0)),
    "left_leg": ((16, 44), (0, 255, 0)),
    "right_leg": ((40, 44), (0, 0, 255)),
    "tail": ((50, 16), (255, 255, 0)),
}


def picture(left: int, top: int, size: int = SIZE) -> tuple[np.ndarray, dict]:
    """Returns an image with the object at a place, and the (x, y) of its parts."""
    image = np.full((size, size, 3), 90, np.uint8)
    image[top : top + 54, left : left + 60] = 140
    points = {}
    for name, ((x, y), color) in PARTS.items():
        x, y = x + left, y + top
        image[y - 5 : y + 6, x - 5 : x + 6] = color
        points[name] = (float(x), float(y))
    return image, points


def save(folder, name: str, left: int, top: int) -> dict:
    """Writes a picture and returns its points."""
    image, points = picture(left, top)
    PIL.Image.fromarray(image).save(folder / name)
    return points


class ColorDescriptor:
    """Describes cells of 4 x 4 pixels by their colour, as far as it is not grey."""

    def __init__(self):
        self.calls = []

    def __call__(self, images):
        self.calls.append(len(images))
        maps = []
        for image in images:
            height, width = image.shape[:2]
            values = resize_bilinear(image.astype(np.float32), (height // 4, width // 4), True)
            values = (values - values.mean(axis=-1, keepdims=True)) / 100
            place = np.full((*values.shape[:2], 1), 0.3, np.float32)
            maps.append(FeatureMap(np.concatenate([values, place], axis=-1), (height, width)))
        return maps


def matcher(name: str = "nearest") -> Matcher:
    """Returns a matcher by colours."""
    return Matcher(ColorDescriptor(), name)
