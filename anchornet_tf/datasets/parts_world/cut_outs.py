"""Objects of *parts_world* cut out and laid on other backgrounds, as catalogues and memes do."""

import dataclasses

import numpy as np
import PIL.Image
import PIL.ImageFilter

from anchornet_tf.datasets.parts_world.drawing import DEFAULT_SEED, Example, draw
from anchornet_tf.datasets.voc_classes import BACKGROUND

BACKGROUNDS = ("flat", "blurred", "cluttered")
_EDGE = 0.7  # Standard deviation in pixels of the soft edge of a cut-out.
_BLUR = 0.06  # Of the side: the standard deviation that leaves colours only.
_WHITE_ODDS = 0.5


def cut_out(
    class_name: str,
    index: int,
    background: str,
    *,
    split: str = "train",
    seed: int = DEFAULT_SEED,
    size: int = 224,
) -> Example:
    """Draws a picture as `draw` does, and replaces what is around the object.

    Args:
        class_name: str. One of `VOC_CLASSES`.
        index: int. As in `draw`.
        background: `"flat"` (white or one colour), `"blurred"` (a place far out of focus) or
            `"cluttered"` (another place with other things in it).
        split: str. As in `draw`.
        seed: int. As in `draw`.
        size: int. As in `draw`.

    Returns:
        Example; what is known about the object is the same as in the picture that `draw` gives.

    Raises:
        ValueError: If the background is unknown, or as in `draw`.
    """
    if background not in BACKGROUNDS:
        raise ValueError(
            f"`background` must be one of {', '.join(BACKGROUNDS)}. Received: {background!r}"
        )
    example = draw(class_name, index, split=split, seed=seed, size=size)
    mask = PIL.Image.fromarray(example.part_map > 0).convert("L")
    mask = mask.filter(PIL.ImageFilter.GaussianBlur(_EDGE))
    image = PIL.Image.fromarray(example.image)
    place = _place(background, index, split, seed, size)
    return dataclasses.replace(example, image=np.array(PIL.Image.composite(image, place, mask)))


def _place(background: str, index: int, split: str, seed: int, size: int) -> PIL.Image.Image:
    if background == "flat":
        rng = np.random.default_rng([seed, index])
        white = rng.random() < _WHITE_ODDS
        color = (
            (255, 255, 255) if white else tuple(int(value) for value in rng.integers(256, size=3))
        )
        return PIL.Image.new("RGB", (size, size), color)
    place = draw(BACKGROUND, index, split=split, seed=seed, size=size)
    image = PIL.Image.fromarray(place.image)
    if background == "blurred":
        image = image.filter(PIL.ImageFilter.GaussianBlur(_BLUR * size))
    return image
