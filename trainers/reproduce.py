"""The whole recipe in one command: banks of all twenty classes, the class-agnostic layer, a model to ship.

    python -m trainers.reproduce --data=manifest:labels.csv --workdir=runs/voc20
    python -m trainers.reproduce --data=tfds:imagenet2012 --setting=paper --workdir=runs/paper

`short` is the setting that the preset voc20 was trained with: an hour or so on two cores and a few thousand
images. `paper` is the paper's own: 4e4 images a class, then 1.2e4 images end to end; it wants accelerators. The same
command continues a recipe that was stopped. In Python afterwards:

    model = anchornet_tf.load("runs/voc20/model")
"""

import pathlib

from absl import app, flags

# Images over batch size: the paper's numbers of images at its batch size of 16.
SETTINGS = {
    "short": {
        "stage1": {"steps": 200, "batch_size": 8, "views": 2, "learning_rate": 0.3},
        "stage2": {"steps": 60, "batch_size": 8, "views": 2, "freeze_trunk": True},
    },
    "paper": {
        "stage1": {"steps": 40_000 // 16, "batch_size": 16, "cache_features": False},
        "stage2": {"steps": 12_000 // 16, "batch_size": 16},
    },
}
# The classes that PF-WILLOW shows: where the price of leaving diversity out can be measured.
_ABLATED = ("bird", "bottle", "car", "motorbike")

_DATA = flags.DEFINE_string(
    "data", None, "Images with labels, as for trainers.stage1.", required=True
)
_WORKDIR = flags.DEFINE_string("workdir", "runs/reproduce", "Folder of everything that is made.")
_SETTING = flags.DEFINE_enum("setting", "short", list(SETTINGS), "How long to train.")
_ABLATION = flags.DEFINE_bool(
    "ablation", True, f"Also train {', '.join(_ABLATED)} without diversity, to compare with."
)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of everything that is random.")
_STRATEGY = flags.DEFINE_enum(
    "strategy",
    "auto",
    ["auto", "one", "mirrored", "multiworker"],
    "Where to train, through tf.distribute.",
)


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"Expected flags only. Received: {argv[1:]}")
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.datasets.voc_classes import VOC_CLASSES
    from anchornet_tf.models.anchornet import AnchorNet
    from trainers import stage1_run, stage2_run
    from trainers.config import Stage1Config, Stage2Config

    workdir, setting = pathlib.Path(_WORKDIR.value), SETTINGS[_SETTING.value]
    common = {"data": _DATA.value, "seed": _SEED.value}
    stage1 = {**common, **setting["stage1"]}
    stage1_run.train(
        Stage1Config(classes=VOC_CLASSES, **stage1), workdir / "stage1", strategy=_STRATEGY.value
    )
    if _ABLATION.value:
        config = Stage1Config(classes=_ABLATED, weight_div_a=0.0, weight_div_b=0.0, **stage1)
        stage1_run.train(config, workdir / "without_diversity", strategy=_STRATEGY.value)
    config = Stage2Config(banks=(str(workdir / "stage1"),), **common, **setting["stage2"])
    stage2_run.train(config, workdir / "stage2", strategy=_STRATEGY.value)
    output = workdir / "model"
    if not output.exists():
        model = AnchorNet.load_folder(workdir / "stage2" / "model", weights=config.weights)
        # Where the data lay is of no use to others.
        record = {"setting": _SETTING.value, "seed": _SEED.value, **setting}
        model.save_folder(output, dtype="float16", record=record)
    print(f"\nModel:     {output}")
    print(
        f"Next:      python -m anchornet_tf.evaluate --model={output} --features=hc,anchornet,anchornet-class"
    )


if __name__ == "__main__":
    app.run(main)
