"""Fits the hypercolumn's PCA projections on the images of a data set; labels are not used.

    python -m trainers.fit_pca --data=manifest:labels.csv --output=runs/pca.npz

The file can then be given to trainers.stage1 as --pca, or used in Python:

    projections = anchornet_tf.HypercolumnPCA.load("runs/pca.npz")
    extractor = anchornet_tf.TapExtractor("imagenet", projections)
    descriptor = anchornet_tf.get_descriptor("hc", extractor=extractor)
"""

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.training.pca_config import PCAConfig

_CONFIG = config_flags.define(PCAConfig)
_OUTPUT = flags.DEFINE_string("output", "runs/pca.npz", "The .npz file to write.")


def main(argv):
    program.flags_only(argv)
    config = _CONFIG.config()
    if not _OUTPUT.value.endswith(".npz"):
        raise ValueError(f"Expected --output to be a .npz file. Received: {_OUTPUT.value!r}")
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.fit_pca import fit_pca

    projections = fit_pca(config)
    projections.save(_OUTPUT.value)
    kept = projections.record["variance_kept"]
    print("Variance kept: " + "  ".join(f"{name} {share:.3f}" for name, share in kept.items()))
    print(f"Wrote {_OUTPUT.value}")
    print(
        f"Next: python -m trainers.stage1 --class=bird --data={config.data} --pca={_OUTPUT.value}"
    )


if __name__ == "__main__":
    program.run(main)
