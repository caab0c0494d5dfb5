r"""Matches pairs of images of a corpus, by the descriptors in its shards, with Apache Beam.

    python -m anchornet_tf.corpus.match --corpus=corpus --pairs=pairs.csv --output=matches
    python -m anchornet_tf.corpus.match --corpus=corpus --pairs=pairs.csv -- --runner=SparkRunner

The corpus needs dense descriptors (corpus.describe --dense); the images are not read again. The
pairs are a .csv file with columns source and target. With columns x and y too, each line is a point
of the source, which is carried to the target; otherwise whole flows are written. What follows `--`
are Beam's own options. In Python afterwards:

    import pyarrow.dataset
    rows = pyarrow.dataset.dataset("matches", format="parquet", exclude_invalid_files=True)
    flow = anchornet_tf.corpus.pair_work.flow_of(rows.head(1).to_pylist()[0])
"""

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.corpus import beam_options
from anchornet_tf.corpus.config import MatchConfig


def main(argv):
    config = _CONFIG.config()
    # Before TensorFlow or Beam are imported, so that workers have it too.
    beam_options.one_thread()
    beam_options.quiet()
    from anchornet_tf.corpus.match_run import run

    result = run(config, argv[1:], flags.FLAGS.workers)
    print(
        f"{result.pairs} pairs matched; {result.groups} files in {config.output}, "
        f"{result.skipped} of them from an earlier run"
    )
    print(f"Next: python -m anchornet_tf.corpus.index --corpus={config.corpus}")


if __name__ == "__main__":
    _CONFIG = config_flags.define(MatchConfig)
    flags.DEFINE_integer(
        "workers", 1, "Processes on this machine, unless Beam's options name a runner.", 1
    )
    program.run(main, interrupted="Stopped. Finished files are kept: the same command continues.")
