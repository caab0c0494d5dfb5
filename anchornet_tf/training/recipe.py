"""The whole recipe: banks of all twenty classes, the class-agnostic layer, a model to ship."""

import os
import pathlib

from anchornet_tf.datasets.voc_classes import VOC_CLASSES
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.training.stage1 import run as stage1_run
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage2 import run as stage2_run
from anchornet_tf.training.stage2.config import Stage2Config

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
# The classes that PF-WILLOW shows: where the price of leaving diversity out can be measured.
ABLATED = ("bird", "bottle", "car", "motorbike")


def run(
    data: str,
    workdir: str | os.PathLike,
    setting: str = "short",
    *,
    ablation: bool = True,
    seed: int = 0,
    strategy: str = "auto",
) -> pathlib.Path:
    """Trains both stages, or goes on with them.

    Args:
        data: images with labels, as for `trainers.stage1`.
        workdir: folder of everything that is made.
        setting: one of `SETTINGS`.
        ablation: bool. Also train some classes without diversity, to compare with.
        seed: int.
        strategy: name as in `anchornet_tf.training.strategy.make`.

    Returns:
        the folder of the model.
    """
    workdir, settings = pathlib.Path(workdir), SETTINGS[setting]
    common = {"data": data, "seed": seed}
    stage1 = {**common, **settings["stage1"]}
    stage1_run.train(
        Stage1Config(classes=VOC_CLASSES, **stage1), workdir / "stage1", strategy=strategy
    )
    if ablation:
        config = Stage1Config(classes=ABLATED, weight_div_a=0.0, weight_div_b=0.0, **stage1)
        stage1_run.train(config, workdir / "without_diversity", strategy=strategy)
    config = Stage2Config(banks=(str(workdir / "stage1"),), **common, **settings["stage2"])
    stage2_run.train(config, workdir / "stage2", strategy=strategy)
    output = workdir / "model"
    if not output.exists():
        model = AnchorNet.from_preset(workdir / "stage2" / "model", weights=config.weights)
        # Where the data lay is of no use to others.
        record = {"setting": setting, "seed": seed, **settings}
        model.save_to_preset(output, dtype="float16", record=record)
    return output
