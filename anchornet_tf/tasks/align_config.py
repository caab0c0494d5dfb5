"""The configuration of an alignment. Needs no TensorFlow, so that `--help` answers at once."""

import dataclasses
import os
from collections.abc import Mapping

from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.config_fields import option

Path = str | os.PathLike


@dataclasses.dataclass(frozen=True)
class AlignConfig:
    """What to align, and how.

    The help text of each field describes it; `python -m anchornet_tf.align --help` shows them all.
    `images` is a folder of images or a pattern. `options` holds further options of the descriptor
    and the matcher, by name.

    Raises:
        ValueError: If a value is out of its range.
    """

    images: Path
    output: Path = option("aligned", "Folder of the results, and of what is kept to go on from.")
    features: str = option(
        "anchornet", f"The descriptor: {', '.join(DESCRIPTORS.names)}, or taps:TRUNK/TAP."
    )
    matcher: str = option(
        "hough", "The matcher of the pairs at the beginning.", choices=MATCHERS.names
    )
    model: Path | None = option(
        None, "Folder of an AnchorNet or name of a preset, for --features=anchornet."
    )
    max_side: int = option(
        150, "Images are worked on at one common size, whose longer side has this many pixels."
    )
    neighbors: int | None = option(
        None,
        "Link each image only to this many others, those most like it: for sets of hundreds. 0 to "
        "link all to all.",
        none=0,
    )
    iterations: int = option(10, "The most iterations; they end earlier when little is gained.")
    onto: str | None = option(
        None,
        "The image that pictures show the others warped onto; by default the one that agrees best "
        "with the others.",
    )
    recursive: bool = option(False, "Also take the images in sub-folders.")
    limit: int | None = option(None, "Take only the first so many images; 0 for all.", none=0)
    seed: int = option(0, "Seed of the noise that breaks ties.")
    options: Mapping = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        DESCRIPTORS.check(self.features)
        for name, least in (
            ("iterations", 0), ("max_side", 8), ("neighbors", 1), ("limit", 1), ("seed", 0)
        ):  # fmt: skip
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise ValueError(f"`{name}` must be at least {least}. Received: {value}")
        if os.path.isfile(self.output):
            raise ValueError(f"Expected --output to be a folder. Received: {self.output}")

    def matcher_options(self) -> dict:
        """Returns the options of the `Matcher`."""
        return dict(self.options) | ({} if self.model is None else {"model": self.model})
