"""The whole recipe in one command: banks of all twenty classes, the class-agnostic layer, a model to ship.

    python -m trainers.reproduce --data=manifest:labels.csv --workdir=runs/voc20
    python -m trainers.reproduce --data=tfds:imagenet2012 --setting=paper --workdir=runs/paper

`short` is the setting that the preset voc20 was trained with: an hour or so on two cores and a few thousand
images. `paper` is the paper's own: 4e4 images a class, then 1.2e4 images end to end; it wants accelerators. The same
command continues a recipe that was stopped. In Python afterwards:

    model = anchornet_tf.load("runs/voc20/model")
"""

from absl import app, flags

_DATA = flags.DEFINE_string(
    "data", None, "Images with labels, as for trainers.stage1.", required=True
)
_WORKDIR = flags.DEFINE_string("workdir", "runs/reproduce", "Folder of everything that is made.")
_SETTING = flags.DEFINE_enum("setting", "short", ["short", "paper"], "How long to train.")
_ABLATION = flags.DEFINE_bool(
    "ablation", True, "Also train the classes of PF-WILLOW without diversity, to compare with."
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
    from anchornet_tf.training import recipe as reproduce_run

    output = reproduce_run.run(
        _DATA.value,
        _WORKDIR.value,
        _SETTING.value,
        ablation=_ABLATION.value,
        seed=_SEED.value,
        strategy=_STRATEGY.value,
    )
    print(f"\nModel:     {output}")
    print(
        f"Next:      python -m anchornet_tf.evaluate --model={output} --features=hc,anchornet,anchornet-class"
    )


if __name__ == "__main__":
    app.run(main)
