"""Which pictures the splits of *parts_world* hold, and in which order."""

from anchornet_tf.datasets.parts_world.drawing import SPLITS
from anchornet_tf.datasets.voc_classes import BACKGROUND, VOC_CLASSES

VERSION = "1.0.0"
LABELS = (*VOC_CLASSES, BACKGROUND)
# Pictures of every class, and of the background.
SIZES = {"train": (60, 600), "test": (20, 100)}


def members(split: str) -> list[tuple[str, int]]:
    """Returns (label, index within the label) of every picture of a split, class by class.

    Raises:
        ValueError: If there is no such split.
    """
    if split not in SPLITS:
        raise ValueError(f"`split` must be one of {SPLITS}. Received: split={split!r}")
    each, background = SIZES[split]
    return [
        (label, index)
        for label in LABELS
        for index in range(background if label == BACKGROUND else each)
    ]
