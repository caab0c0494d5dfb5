r"""Fits the hypercolumn's PCA with Apache Beam: trainers.fit_pca at the scale of a corpus.

    python -m anchornet_tf.corpus.fit_pca --data=manifest:labels.csv --num_images=1000000 \
        --output=runs/pca.npz --workers=8
    python -m anchornet_tf.corpus.fit_pca --data=manifest:labels.csv -- --runner=SparkRunner

The file is that of trainers.fit_pca up to rounding, and is used in the same way. What follows `--`
are Beam's own options.
"""

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.corpus import beam_options
from anchornet_tf.training.pca_config import PCAConfig

_CONFIG = config_flags.define(PCAConfig)
_OUTPUT = flags.DEFINE_string("output", "runs/pca.npz", "The .npz file to write.")
_WORKERS = flags.DEFINE_integer(
    "workers", 1, "Processes on this machine, unless Beam's options name a runner.", 1
)


def main(argv):
    config = _CONFIG.config()
    if not _OUTPUT.value.endswith(".npz"):
        raise ValueError(f"Expected --output to be a .npz file. Received: {_OUTPUT.value!r}")
    beam_options.one_thread()
    beam_options.quiet()
    beam_options.pipeline_options(argv[1:])
    from anchornet_tf.corpus.fit_run import fit_pca

    projections = fit_pca(config, _OUTPUT.value, argv[1:], _WORKERS.value)
    projections.save(_OUTPUT.value)
    kept = projections.record["variance_kept"]
    print("Variance kept: " + "  ".join(f"{name} {share:.3f}" for name, share in kept.items()))
    print(f"Wrote {_OUTPUT.value}")
    print(
        f"Next: python -m trainers.stage1 --class=bird --data={config.data} --pca={_OUTPUT.value}"
    )


if __name__ == "__main__":
    program.run(main)
