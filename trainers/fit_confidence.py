r"""Fits the probability that a match is right, for a descriptor and some matchers.

    python -m trainers.fit_confidence --model=runs/stage2/model --data_dir=PF-WILLOW
    python -m trainers.fit_confidence --features=sift --matcher=hough --output=sift.json

A match is right if it lies within a tenth of the object's size of the true place. The fit takes the
drawings of parts_world and, with --data_dir, the tune half of PF-WILLOW. Written beside a model, it
is used whenever the model is; written elsewhere, it is used by Matcher(..., confidence=CONTENTS).
"""

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.training.confidence.config import ConfidenceConfig
from anchornet_tf.utils.named_options import parse_option

_CONFIG = config_flags.define(ConfidenceConfig)
_OPTION = flags.DEFINE_multi_string(
    "option", [], "NAME=VALUE, an option of the descriptor, e.g. --option=step=4. May be repeated."
)


def main(argv):
    program.flags_only(argv)
    config = _CONFIG.config(options=dict(parse_option(text) for text in _OPTION.value))
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.confidence.run import run

    fitted, output = run(config)
    print(f"Fitted {', '.join(fitted.calibrations)}; written to {output}")
    model = f" --model={config.model}" if config.model else ""
    print(f"Next: python -m anchornet_tf.measure_confidence --features={config.features}{model}")


if __name__ == "__main__":
    program.run(main)
