"""Trains the anchor bank of one class, or of several at once, from image labels alone (stage 1).

    python -m trainers.stage1 --class=bird
    python -m trainers.stage1 --data=folder:IMAGES --dry_run
    python -m trainers.stage1 --class=giraffe,okapi --data=folder:IMAGES
    python -m trainers.stage1 --class=all --data=manifest:labels.csv --workdir=runs/all

Any label of the data is a class: the sub-folders of IMAGES, or what labels.csv says. With nothing
but --class it trains on parts_world, a set that is drawn on the spot, for about five minutes on two
cores. --workdir is runs/stage1-CLASS by default. The same command continues a run that was stopped.
In Python afterwards:

    bank = anchornet_tf.BankFile.load("runs/stage1-bird/banks/bird.npz").bank()
    descriptor = anchornet_tf.get_descriptor("anchornet-class", bank=bank)
"""

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.training.config import RunOptions
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.utils.safe_names import joined_name

_CONFIG = config_flags.define(Stage1Config)
_OPTIONS = config_flags.define(RunOptions)
_DRY_RUN = flags.DEFINE_bool(
    "dry_run", False, "Say what was found, what would be trained and how long it would take."
)


def main(argv):
    program.flags_only(argv)
    config, options = _CONFIG.config(), _OPTIONS.config()
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.stage1.run import train

    train(
        config,
        options.workdir or f"runs/stage1-{joined_name(config.classes)}",
        strategy=options.strategy,
        cache_dir=options.cache_dir,
        checkpoint_every=options.checkpoint_every,
        dry_run=_DRY_RUN.value,
    )


if __name__ == "__main__":
    program.run(main, interrupted=program.CONTINUES)
