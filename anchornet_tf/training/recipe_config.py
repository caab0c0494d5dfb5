"""What the whole recipe trains, and for how long."""

import dataclasses

from anchornet_tf.training.config import (
    STRATEGIES,
    background_option,
    data_option,
    label_map_option,
    trunk_option,
    weights_option,
)
from anchornet_tf.utils.config_fields import option

# Images over batch size: the paper's numbers of images at its batch size of 16.
SETTINGS = {
    "short": {
        "stage1": {"steps": 200, "batch_size": 8, "views": 2, "learning_rate": 0.3},
        "stage2": {"steps": 60, "batch_size": 8, "views": 2, "freeze_trunk": True},
    },
    "paper": {
        "stage1": {
            "steps": 40_000 // 16,
            "batch_size": 16,
            "cache_features": False,
            "learning_rate": 0.05,
        },
        "stage2": {"steps": 12_000 // 16, "batch_size": 16},
    },
}


@dataclasses.dataclass(frozen=True)
class RecipeConfig:
    """Both stages on one set of images, with one of `SETTINGS`."""

    data: str = data_option(required=True)
    background: str = background_option()
    label_map: str = label_map_option()
    trunk: str = trunk_option()
    weights: str = weights_option()
    pca: str = option("", "PCA file of trainers.fit_pca. Default: as in trainers.stage1.")
    image_size: int = option(224, "Side of the training images in pixels.")
    setting: str = option("short", "How long to train.", choices=tuple(SETTINGS))
    ablation: bool = option(
        True, "Also train those classes that PF-WILLOW has without diversity, to compare with."
    )
    seed: int = option(0, "Seed of everything that is random.")
    workdir: str = option("runs/reproduce", "Folder of everything that is made.")
    strategy: str = option("auto", "Where to train, through tf.distribute.", choices=STRATEGIES)

    def __post_init__(self):
        if self.setting not in SETTINGS:
            raise ValueError(
                f"`setting` must be one of {', '.join(SETTINGS)}. Received: {self.setting!r}"
            )
