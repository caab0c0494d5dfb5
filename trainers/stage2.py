"""Joins the banks of stage 1 and trains the class-agnostic layer on top of them (stage 2).

    python -m trainers.stage2 --banks=runs/stage1-all
    python -m trainers.stage2 --banks=runs/bird,runs/car --data=manifest:labels.csv \\
        --freeze_trunk --workdir=runs/joint

By default everything is trained end to end: the trunk and the banks move too, at --lower_rate times
the rate of the class-agnostic layer. --freeze_trunk keeps the trunk as it is and works on cached
taps, which is far cheaper. The same command continues a run that was stopped. In Python afterwards:

    model = anchornet_tf.load("runs/stage2/model")
    descriptors = model(images)

A model among --banks, a preset or the folder of a model, gets the classes of the others:

    python -m trainers.stage2 --banks=voc20,runs/stage1-giraffe --data=folder:GIRAFFES

Images of the model's own classes are not needed: --data shows the new classes, and background. No
gradient step is taken. What the model has stays as it is, and its descriptor grows by
--added_filters for each class.
"""

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.training.config import RunOptions
from anchornet_tf.training.stage2.config import Stage2Config

_CONFIG = config_flags.define(Stage2Config)
_OPTIONS = config_flags.define(RunOptions, workdir="runs/stage2", checkpoint_every=25)


def main(argv):
    program.flags_only(argv)
    config, options = _CONFIG.config(), _OPTIONS.config()
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.stage2.run import train

    train(
        config,
        options.workdir,
        strategy=options.strategy,
        cache_dir=options.cache_dir,
        checkpoint_every=options.checkpoint_every,
    )


if __name__ == "__main__":
    program.run(main, interrupted=program.CONTINUES)
