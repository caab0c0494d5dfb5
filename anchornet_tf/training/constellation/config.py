"""What a search for part-like channels is. Without TensorFlow: `--help` answers at once."""

import dataclasses
from collections.abc import Mapping

from anchornet_tf.training.config import (
    background_option,
    check_numbers,
    chosen_classes,
    classes_option,
    data_option,
    label_map_option,
    replaced_all,
)
from anchornet_tf.trunks.pca import TAP_NAMES
from anchornet_tf.utils.config_fields import option

VARIANTS = ("formula", "published")


@dataclasses.dataclass(frozen=True)
class ConstellationConfig:
    """The part-like channels of one or more classes, each on its own.

    Cost: a pass backward through the trunk for every candidate channel of every image. With the
    defaults a class takes 60 images x 120 candidates and ten to twenty minutes on two cores.

    Raises:
        ValueError: If a value is out of its range.
    """

    classes: tuple[str, ...] = classes_option()
    data: str = data_option()
    background: str = background_option()
    label_map: str = label_map_option()
    weights: str = option(
        "imagenet", "Weights of the trunk: imagenet, or the path of a .npz or .h5 file."
    )
    image_size: int = option(224, "Images are squashed to squares of this many pixels per side.")
    images_per_class: int | None = option(
        60, "Use at most this many images of each class, drawn at random; 0 for all.", none=0
    )
    taps: tuple[str, ...] = option(
        TAP_NAMES, "Layers of the trunk whose channels may be parts.", choices=TAP_NAMES
    )
    candidates: int | None = option(
        40,
        "Channels of each layer that are located: those that tell the class best from the "
        "negatives; 0 for all, as in the paper, which takes hours.",
        none=0,
    )
    aspects: int = option(
        5, "Aspects (views) of a class, at most one for each image. The paper has 10."
    )
    parts: int = option(10, "Parts of each aspect.")
    visible: int = option(5, "Parts of an aspect that each image shows.")
    separation: float = option(
        0.1,
        "Least distance between parts of an aspect, as a share of the image's side. 0 for none, "
        "as in the paper: then channels that see the same thing pass for parts.",
    )
    rounds: int = option(15, "At most this many rounds of the alternation.")
    restarts: int = option(5, "Random starts; the best of them is kept.")
    variant: str = option(
        "formula",
        "formula: as the paper states the problem. published: as its authors' program behaves, "
        "whose shifts are the same for all aspects, and which knows no separation.",
        choices=VARIANTS,
    )
    batch_size: int = option(4, "Images per pass of the trunk; each takes about 150 MB.")
    heldout_fraction: float = option(
        0.1, "Share of the images that is left out, where the data has no split of its own."
    )
    seed: int = option(0, "Seed of everything that is random.")

    def __post_init__(self):
        object.__setattr__(self, "classes", chosen_classes(self.classes, self.data))
        counts = ("aspects", "parts", "visible", "rounds", "restarts", "batch_size")
        for name in (*counts, "images_per_class", "candidates"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"`{name}` must be a positive integer. Received: {value}")
        check_numbers(self, ("seed", "separation"))
        if self.image_size < 32:
            raise ValueError(f"`image_size` must be at least 32. Received: {self.image_size}")
        if self.visible > self.parts:
            raise ValueError(
                f"`visible` must be at most `parts`, {self.parts}. Received: {self.visible}"
            )
        if self.visible < 2:
            # One part alone is where the anchor is, whatever the channel.
            raise ValueError(f"`visible` must be at least 2. Received: {self.visible}")
        taps = tuple(dict.fromkeys(self.taps))
        if not taps or not set(taps).issubset(TAP_NAMES):
            raise ValueError(
                f"`taps` must be some of {', '.join(TAP_NAMES)}. "
                f"Received: {', '.join(self.taps) or 'none'}"
            )
        object.__setattr__(self, "taps", taps)
        if self.candidates is not None and self.candidates * len(taps) < self.parts:
            raise ValueError(
                f"Expected candidates for {self.parts} parts. "
                f"Received: {self.candidates * len(taps)} candidates"
            )
        if self.variant not in VARIANTS:
            raise ValueError(
                f"`variant` must be one of {', '.join(VARIANTS)}. Received: {self.variant!r}"
            )

    def of_data(self, images_per_class: Mapping[str, int]) -> "ConstellationConfig":
        """Returns the configuration with `all` replaced by the classes of the data.

        Args:
            images_per_class: the classes that the data has images of.
        """
        return replaced_all(self, images_per_class)
