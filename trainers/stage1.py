"""Trains the anchor bank of one class, or of several at once, from image labels alone (stage 1).

    python -m trainers.stage1 --class=bird
    python -m trainers.stage1 --class=all --data=manifest:labels.csv --workdir=runs/all

With nothing but --class it trains on parts_world, a set that is drawn on the spot, for about five
minutes on two cores. --workdir is runs/stage1-CLASS by default. The same command continues a run
that was stopped. In Python afterwards:

    bank = anchornet_tf.BankFile.load("runs/stage1-bird/banks/bird.npz").bank()
    descriptor = anchornet_tf.get_descriptor("anchornet-class", bank=bank)
"""

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.datasets.voc_classes import VOC_CLASSES
from anchornet_tf.training.config import RunOptions
from anchornet_tf.training.stage1.config import Stage1Config

_CONFIG = config_flags.define(Stage1Config)
_OPTIONS = config_flags.define(RunOptions)


def main(argv):
    program.flags_only(argv)
    config, options = _CONFIG.config(), _OPTIONS.config()
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.stage1.run import train

    name = "all" if len(config.classes) == len(VOC_CLASSES) else "-".join(config.classes)
    train(
        config,
        options.workdir or f"runs/stage1-{name}",
        strategy=options.strategy,
        cache_dir=options.cache_dir,
        checkpoint_every=options.checkpoint_every,
    )


if __name__ == "__main__":
    program.run(main, interrupted=program.CONTINUES)
