"""Fits the hypercolumn's PCA projections on the images of a data set; labels are not used.

    python -m trainers.fit_pca --data=manifest:labels.csv --output=runs/pca.npz

    python -m trainers.fit_pca --trunk=dinov2_small --weights=FOLDER --data=folder:IMAGES

That of resnet50 comes with the package; for any other trunk this is run once. Without --output,
its file is kept in the cache folder, where everything that uses the trunk finds it. A file can
also be given to trainers.stage1 as --pca, or used in Python:

    projections = anchornet_tf.HypercolumnPCA.load("runs/pca.npz")
    extractor = anchornet_tf.TapExtractor("imagenet", projections)
    descriptor = anchornet_tf.get_descriptor("hc", extractor=extractor)
"""

import shlex

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.training.pca_config import PCAConfig

_CONFIG = config_flags.define(PCAConfig)
_OUTPUT = flags.DEFINE_string(
    "output",
    "",
    "The .npz file to write. Default: runs/pca.npz for resnet50, and for any other trunk a file in "
    "the cache folder, which is found from then on.",
)


def main(argv):
    program.flags_only(argv)
    config = _CONFIG.config()
    if _OUTPUT.value and not _OUTPUT.value.endswith(".npz"):
        raise ValueError(f"Expected --output to be a .npz file. Received: {_OUTPUT.value!r}")
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.fit_pca import fit_pca
    from anchornet_tf.trunks import pca, registry

    projections = fit_pca(config)
    trunk = registry.find(config.trunk)
    output, usual = _OUTPUT.value, trunk == registry.find(registry.DEFAULT)
    if not output:
        digest = projections.record["trunk_digest"]
        output = "runs/pca.npz" if usual else str(pca.fitted_place(trunk, digest))
    projections.save(output)
    kept = projections.record["variance_kept"]
    print("Variance kept: " + "  ".join(f"{name} {share:.3f}" for name, share in kept.items()))
    print(f"Wrote {output}")
    following = ["--class=bird", f"--data={config.data}"]
    following += [] if usual else [f"--trunk={config.trunk}"]
    following += [f"--weights={config.weights}"] if config.weights != "imagenet" else []
    following += [f"--pca={output}"] if usual or _OUTPUT.value else []
    print(f"Next: python -m trainers.stage1 {shlex.join(following)}")


if __name__ == "__main__":
    program.run(main)
