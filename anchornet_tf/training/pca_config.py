"""What the hypercolumn's PCA is fitted on."""

import dataclasses

from anchornet_tf.training.config import trunk_option, weights_option
from anchornet_tf.utils.config_fields import option

# Paper section 3; and of resnet50's finest tap, res2c, all channels.
_MOST_DIMENSIONS = 256


@dataclasses.dataclass(frozen=True)
class PCAConfig:
    """The PCA of the hypercolumn: which images, and how much of them."""

    data: str = option(
        "parts_world",
        "Images to fit on: parts_world, folder:DIR, manifest:FILE.csv or tfds:NAME. Labels are not "
        "used.",
    )
    num_images: int = option(
        2000, "Images to use, drawn at random; all of them where there are fewer."
    )
    positions: int = option(60, "Random positions taken from each tap of an image.")
    dimensions: int = option(
        _MOST_DIMENSIONS,
        f"Components kept of each tap, at most {_MOST_DIMENSIONS}, and all where it has fewer "
        "channels.",
    )
    image_size: int = option(224, "Images are squashed to squares of this many pixels per side.")
    batch_size: int = option(16, "Images per pass of the trunk.")
    seed: int = option(0, "Chooses the images and the positions.")
    trunk: str = trunk_option()
    weights: str = weights_option()

    def __post_init__(self):
        for name in ("num_images", "positions", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"`{name}` must be a positive integer. Received: {getattr(self, name)}"
                )
        if not 1 <= self.dimensions <= _MOST_DIMENSIONS:
            raise ValueError(
                f"`dimensions` must be from 1 to {_MOST_DIMENSIONS}. Received: {self.dimensions}"
            )
        if self.image_size < 32:
            raise ValueError(f"`image_size` must be at least 32. Received: {self.image_size}")
        if self.seed < 0:
            raise ValueError(f"`seed` must not be negative. Received: {self.seed}")
