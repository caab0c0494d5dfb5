"""Finds the channels of the trunk that act as parts of a class, from image labels alone.

    python -m trainers.constellation --class=bird
    python -m trainers.constellation --class=car,bus --data=folder:IMAGES
    python -m trainers.constellation --class=all --data=manifest:labels.csv --workdir=runs/parts

This is the baseline Constellation (Simon and Rodner, Neural Activation Constellations, ICCV 2015)
on ResNet50: channels are located in every image by their gradients, and those whose locations keep
their places relative to each other are parts, for each aspect (view) of the class on its own. A
class takes ten to twenty minutes on two cores. --workdir is runs/constellation-CLASS by default.
The same command continues a run that was stopped. In Python afterwards:

    descriptor = anchornet_tf.get_descriptor(
        "constellation-hc", constellation="runs/constellation-bird/constellations/bird.npz"
    )
"""

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.training.constellation.config import ConstellationConfig
from anchornet_tf.utils.safe_names import joined_name

_CONFIG = config_flags.define(ConstellationConfig)
_WORKDIR = flags.DEFINE_string("workdir", "", "Folder of the run.")


def main(argv):
    program.flags_only(argv)
    config = _CONFIG.config()
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.constellation.run import train

    train(config, _WORKDIR.value or f"runs/constellation-{joined_name(config.classes)}")


if __name__ == "__main__":
    program.run(main, interrupted=program.CONTINUES)
