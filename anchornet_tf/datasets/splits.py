"""Training and held-out images of one set, with something that its classes are told apart from."""

import dataclasses
from collections.abc import Sequence

from anchornet_tf.datasets import label_map as label_maps
from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.datasets.sources import open_source

# What serves as background where a set has a single class and nothing else.
DRAWN_BACKGROUND = "parts_world"


@dataclasses.dataclass(frozen=True, eq=False)
class Splits:
    """The two halves of a set. The columns of their labels are the same.

    Attributes:
        train: the images to train on.
        held_out: images that are never trained on; it may have classes that `train` has not, in
            columns after those of `train`.
        negatives: str, for people: what the classes are told apart from.
    """

    train: ImageSource
    held_out: ImageSource
    negatives: str


def open_splits(
    data: str,
    *,
    background: str | None = None,
    classes: Sequence[str] | None = None,
    label_map: label_maps.Given = None,
    heldout_fraction: float = 0.1,
    seed: int = 0,
) -> Splits:
    """Opens both splits of a set.

    Background images are those labelled so and those of `background`. Where there are none, the
    classes are told apart from each other. A single class without any background is told apart
    from the drawn backgrounds of parts_world.

    Args:
        data, background, classes, label_map, heldout_fraction, seed: as in `open_source`.

    Raises:
        ValueError: As `open_source`.
    """
    options = {
        "classes": classes,
        "label_map": label_map,
        "heldout_fraction": heldout_fraction,
        "seed": seed,
    }
    train = open_source(data, "train", background=background, **options)
    drawn = not (background or train.is_background.any()) and len(train.images_per_class()) == 1
    if drawn:
        background = DRAWN_BACKGROUND
        train = open_source(data, "train", background=background, **options)
    held_out = open_source(data, "heldout", background=background, **options)
    count = int(train.is_background.sum())
    if drawn:
        negatives = (
            f"{count:,} drawn pictures, since the data has one class and no background. With "
            "photographs (--background=folder:DIR) PCK was 0.01 higher at most"
        )
    elif count:
        negatives = f"{count:,} images of background"
    else:
        negatives = (
            "the images of the other classes, since there are none of background "
            "(--background=folder:DIR adds some)"
        )
    return Splits(train, held_out.with_columns(train.class_names), negatives)
