r"""Describes the images of a corpus, with Apache Beam: anchors at their peaks, as Parquet files.

    python -m anchornet_tf.corpus.describe --images='photos/**/*.jpg' --output=corpus --workers=4
    python -m anchornet_tf.corpus.describe --images=labels.csv --dense
    python -m anchornet_tf.corpus.describe --images=gs://bucket/photos/*.jpg \
        --output=gs://bucket/corpus -- --runner=DataflowRunner --project=P --region=R

What follows `--` are Beam's own options. Images that cannot be read are noted in OUTPUT/failed with
the reason, and do not stop the others. The same command continues a run that was stopped: shards
that are there are not made again, and the files are the same with any number of workers.
"""

import shlex

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.corpus import beam_options
from anchornet_tf.corpus.config import DescribeConfig

_SHOWN = 5


def main(argv):
    config = _CONFIG.config()
    # Before TensorFlow or Beam are imported, so that workers have it too.
    beam_options.one_thread()
    beam_options.quiet()
    beam_options.pipeline_options(argv[1:])
    from anchornet_tf.corpus.describe_run import run

    result = run(config, argv[1:], flags.FLAGS.workers)
    for key, reason in list(result.failed.items())[:_SHOWN]:
        print(f"Failed: {key}: {reason}")
    if len(result.failed) > _SHOWN:
        print(f"Failed: {len(result.failed) - _SHOWN} more, named in {config.output}/failed")
    print(
        f"{result.images} images described, {len(result.failed)} failed; {result.shards} shards, "
        f"{result.skipped} of them from an earlier run"
    )
    print(f"Next: python -m anchornet_tf.corpus.index --corpus={shlex.quote(str(config.output))}")


if __name__ == "__main__":
    _CONFIG = config_flags.define(DescribeConfig)
    flags.DEFINE_integer(
        "workers", 1, "Processes on this machine, unless Beam's options name a runner.", 1
    )
    program.run(main, interrupted="Stopped. Finished shards are kept: the same command continues.")
