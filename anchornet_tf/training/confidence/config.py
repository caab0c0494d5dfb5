"""The configuration of a fit. Needs no TensorFlow, so that `--help` answers at once."""

import dataclasses
import os
from collections.abc import Mapping

from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.config_fields import option

Path = str | os.PathLike


@dataclasses.dataclass(frozen=True)
class ConfidenceConfig:
    """What to fit, and on what.

    The help text of each field describes it; `python -m trainers.fit_confidence --help` shows them
    all. `options` holds further options of the descriptor, by name.

    Cost: hough and nearest on all of PF-WILLOW's tune half and 240 drawn pairs take three minutes
    on two cores; dsp, nam, phm and lom a second or two for each pair.

    Raises:
        ValueError: If a value is out of its range.
    """

    features: str = option("anchornet", "The descriptor.", choices=DESCRIPTORS.names)
    matchers: tuple[str, ...] = option(
        ("hough", "nearest"), "The matchers.", flag="matcher", choices=MATCHERS.names
    )
    model: Path | None = option(
        None, "Folder of an AnchorNet or name of a preset, for --features=anchornet."
    )
    output: Path | None = option(
        None,
        "The file to write; by default confidence.json in the folder of the model. Matchers that "
        "are in it already and are not fitted now are kept.",
    )
    data_dir: Path | None = option(
        None,
        "Folder of PF-WILLOW. Its tune half is used beside the drawings of parts_world; none for "
        "drawings alone, which makes a probability less true on photographs.",
    )
    pairs_per_class: int = option(12, "Drawn pairs of each of parts_world's twenty classes.")
    limit: int | None = option(
        None, "At most this many pairs of PF-WILLOW, for slow matchers; 0 for all.", none=0
    )
    seed: int = option(0, "Seed of the pairs that are drawn.")
    options: Mapping = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        if not self.matchers:
            raise ValueError("Expected at least one matcher. Received: none")
        if self.pairs_per_class < 1:
            raise ValueError(
                f"`pairs_per_class` must be positive. Received: {self.pairs_per_class}"
            )
