"""Shows *parts_world* as one picture: one row per class.

```shell
python -m anchornet_tf.datasets.parts_world.contact_sheet --output=sheet.png --overlay=keypoints
```
"""

import colorsys
from collections.abc import Iterable

import numpy as np
import PIL.Image
import PIL.ImageDraw
from absl import app, flags

from anchornet_tf.datasets.parts_world.drawing import DEFAULT_SEED, SPLITS, Example, draw
from anchornet_tf.datasets.parts_world.layout import LABELS
from anchornet_tf.utils import files

OVERLAYS = ("none", "keypoints", "parts")
_CAPTION = 14
_DOT = 3


def contact_sheet(
    labels: Iterable[str] = LABELS,
    columns: int = 8,
    *,
    split: str = "train",
    seed: int = DEFAULT_SEED,
    size: int = 224,
    overlay: str = "none",
) -> PIL.Image.Image:
    """Draws the first pictures of some classes side by side.

    Args:
        labels: class names, a row each; all and the background by default.
        columns: int. Pictures per class.
        split: str. "train" or "test".
        seed: int.
        size: int. Height and width of a picture in pixels.
        overlay: str. "none", "keypoints" (filled where visible; a keypoint has the same colour in
            all pictures of its class) or "parts".

    Returns:
        PIL.Image.Image.

    Raises:
        ValueError: If an argument is out of its range.
    """
    labels = tuple(labels)
    if columns < 1 or not labels:
        raise ValueError(
            f"A sheet needs at least one class and one column. "
            f"Received: labels={labels}, columns={columns}"
        )
    if overlay not in OVERLAYS:
        raise ValueError(f"`overlay` must be one of {OVERLAYS}. Received: overlay={overlay!r}")
    sheet = PIL.Image.new("RGB", (columns * size, len(labels) * (size + _CAPTION)), "white")
    pen = PIL.ImageDraw.Draw(sheet)
    for row, label in enumerate(labels):
        top = row * (size + _CAPTION)
        pen.text((3, top + 1), label, fill="black")
        for column in range(columns):
            example = draw(label, column, split=split, seed=seed, size=size)
            picture = _with_overlay(example, overlay)
            sheet.paste(picture, (column * size, top + _CAPTION))
    return sheet


def _with_overlay(example: Example, overlay: str) -> PIL.Image.Image:
    pixels = example.image.copy()
    if overlay == "parts":
        for name, mask in example.part_masks.items():
            pixels[mask] = (0.4 * pixels[mask] + 0.6 * np.array(_colour(name))).astype(np.uint8)
    picture = PIL.Image.fromarray(pixels)
    pen = PIL.ImageDraw.Draw(picture)
    if overlay != "none" and example.box:
        pen.rectangle(example.box, outline="yellow")
    for name, (x, y, visible) in example.keypoints.items() if overlay == "keypoints" else ():
        circle = (x - _DOT, y - _DOT, x + _DOT, y + _DOT)
        pen.ellipse(circle, fill=_colour(name) if visible else None, outline=_colour(name))
    return picture


def _colour(name: str) -> tuple[int, int, int]:
    """Returns a colour that depends on the name alone, far apart for names that are alike."""
    hue = np.random.default_rng(list(name.encode())).random()
    return tuple(round(255 * value) for value in colorsys.hsv_to_rgb(hue, 0.9, 1.0))


def _main(arguments: list[str]) -> None:
    if len(arguments) > 1:
        raise app.UsageError(f"Expected flags only. Received: {' '.join(arguments[1:])}")
    values = flags.FLAGS
    sheet = contact_sheet(
        values.classes or LABELS,
        values.columns,
        split=values.split,
        seed=values.seed,
        overlay=values.overlay,
    )
    with files.atomic_file(values.output) as temporary:
        sheet.save(temporary)


if __name__ == "__main__":
    flags.DEFINE_string("output", "parts_world.png", "Where the picture goes.")
    flags.DEFINE_list(
        "classes", None, "Rows of the sheet; all classes and the background if empty."
    )
    flags.DEFINE_integer("columns", 8, "Pictures per class.", lower_bound=1)
    flags.DEFINE_enum("split", "train", SPLITS, "Which split.")
    flags.DEFINE_integer("seed", DEFAULT_SEED, "Random seed.", lower_bound=0)
    flags.DEFINE_enum("overlay", "none", OVERLAYS, "What to lay over the pictures.")
    app.run(_main)
