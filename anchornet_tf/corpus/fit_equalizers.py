r"""Fits the equalizers of a model to a corpus of labelled images, with Apache Beam.

    python -m anchornet_tf.corpus.fit_equalizers --data=manifest:labels.csv --output=equalized
    python -m anchornet_tf.corpus.fit_equalizers --data=tfds:NAME --model=runs/stage2/model \
        --output=equalized -- --runner=FlinkRunner

Equalizers even out how strongly the directions of a descriptor vary, over the images that are
given. The model that is written has them; all else is as it was, but for its confidence, which was
fitted to other descriptors: trainers.fit_confidence fits it again. What follows `--` are Beam's own
options.
"""

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.corpus import beam_options
from anchornet_tf.corpus.config import EqualizersConfig

_CONFIG = config_flags.define(EqualizersConfig)
_WORKERS = flags.DEFINE_integer(
    "workers", 1, "Processes on this machine, unless Beam's options name a runner.", 1
)


def main(argv):
    config = _CONFIG.config()
    beam_options.one_thread()
    beam_options.quiet()
    beam_options.pipeline_options(argv[1:])
    from anchornet_tf.corpus.fit_run import fit_equalizers

    model = fit_equalizers(config, argv[1:], _WORKERS.value)
    model.save_to_preset(config.output)
    print(f"Wrote {config.output}")
    print(f"Next: python -m trainers.fit_confidence --model={config.output}")


if __name__ == "__main__":
    program.run(main)
