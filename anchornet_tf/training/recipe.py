"""The whole recipe: banks of all classes, the class-agnostic layer, a model to ship."""

import pathlib

from anchornet_tf.datasets.sources import open_source
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.training.config import ALL
from anchornet_tf.training.recipe_config import SETTINGS, RecipeConfig
from anchornet_tf.training.stage1 import run as stage1_run
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage2 import run as stage2_run
from anchornet_tf.training.stage2.config import Stage2Config
from anchornet_tf.trunks import registry
from anchornet_tf.utils import files

# The classes that PF-WILLOW shows: where the price of leaving diversity out can be measured.
ABLATED = ("bird", "bottle", "car", "motorbike")


def reproduce(recipe: RecipeConfig) -> pathlib.Path:
    """Trains both stages, or goes on with them.

    Args:
        recipe: what to train, and where.

    Returns:
        The folder of the model.

    Raises:
        ValueError: where the data or a folder does not fit.
        BrokenLoss: where a loss becomes NaN.
    """
    workdir, settings = pathlib.Path(recipe.workdir), SETTINGS[recipe.setting]
    names = ("data", "background", "label_map", "weights", "image_size", "seed")
    common = {name: getattr(recipe, name) for name in names}
    stage1 = {**common, "trunk": recipe.trunk, "pca": recipe.pca, **settings["stage1"]}
    # Made first, so that a wrong value is found before hours of training.
    whole = Stage1Config(classes=(ALL,), **stage1)
    there = open_source(recipe.data, label_map=recipe.label_map, seed=recipe.seed)
    ablated = [name for name in ABLATED if name in there.images_per_class()]
    joint = Stage2Config(banks=(str(workdir / "stage1"),), **common, **settings["stage2"])
    stage1_run.train(whole, workdir / "stage1", strategy=recipe.strategy)
    if recipe.ablation and ablated:
        without = Stage1Config(classes=ablated, weight_div_a=0.0, weight_div_b=0.0, **stage1)
        stage1_run.train(without, workdir / "without_diversity", strategy=recipe.strategy)
    stage2_run.train(joint, workdir / "stage2", strategy=recipe.strategy)
    output = workdir / "model"
    # The workers of one run come here together, and so do two runs in one folder.
    with files.locked(output):
        if output.exists():
            return output
        model = AnchorNet.from_preset(workdir / "stage2" / "model", weights=joint.weights)
        # Where the data lay is of no use to others.
        record = {"setting": recipe.setting, "seed": recipe.seed, **settings}
        record |= {} if recipe.trunk == registry.DEFAULT else {"trunk": recipe.trunk}
        model.save_to_preset(output, dtype="float16", record=record)
    return output
