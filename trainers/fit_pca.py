"""Fits the hypercolumn's PCA projections on the images of a data set; labels are not used.

    python -m trainers.fit_pca --data=manifest:labels.csv --output=runs/pca.npz

The file can then be given to any trainer as --pca, or used in Python:

    projections = anchornet_tf.HypercolumnPCA.load("runs/pca.npz")
    descriptor = anchornet_tf.DeepDescriptor("hc", projections=projections)
"""

from absl import app, flags

_DATA = flags.DEFINE_string(
    "data",
    "parts_world",
    "Images to fit on: parts_world, folder:DIR, manifest:FILE.csv or tfds:NAME.",
)
_OUTPUT = flags.DEFINE_string("output", "runs/pca.npz", "The .npz file to write.")
_NUM_IMAGES = flags.DEFINE_integer(
    "num_images", 2000, "Images used, drawn at random; all where there are fewer.", 1
)
_POSITIONS = flags.DEFINE_integer(
    "positions", 60, "Random positions taken of each image and tap.", 1
)
_DIMENSIONS = flags.DEFINE_integer("dimensions", 256, "Components kept of each tap.", 1)
_IMAGE_SIZE = flags.DEFINE_integer(
    "image_size", 224, "Images are squashed to this many pixels a side.", 32
)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 16, "Images a pass of the trunk.", 1)
_SEED = flags.DEFINE_integer("seed", 0, "Chooses the images and the positions.")
_WEIGHTS = flags.DEFINE_string(
    "weights", "imagenet", "The trunk's weights: imagenet, or a .npz or .h5 file."
)


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"Expected flags only. Received: {argv[1:]}")
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import numpy as np
    import tensorflow as tf
    from tqdm import tqdm

    from anchornet_tf.datasets import sources
    from anchornet_tf.training import augmentation
    from anchornet_tf.trunks import pca
    from anchornet_tf.trunks.backbone import Backbone

    source = sources.open_source(_DATA.value, "train", seed=_SEED.value)
    order = np.random.default_rng(_SEED.value).permutation(len(source))[: _NUM_IMAGES.value]
    numbers = np.sort(order)
    backbone = Backbone(_WEIGHTS.value)
    compute = tf.function(backbone, reduce_retracing=True)

    def batches():
        with tqdm(total=len(numbers), desc="Fitting PCA", unit=" images") as bar:
            for start in range(0, len(numbers), _BATCH_SIZE.value):
                chunk = numbers[start : start + _BATCH_SIZE.value]
                images = [
                    augmentation.evaluation_resize(source.read(i), _IMAGE_SIZE.value) for i in chunk
                ]
                yield chunk, [tap.numpy() for tap in compute(tf.stack(images))]
                bar.update(len(chunk))

    taps = pca.fit(
        batches(), dimensions=_DIMENSIONS.value, positions=_POSITIONS.value, seed=_SEED.value
    )
    kept = {
        name: round(tap.variance_kept, 4) for name, tap in zip(pca.TAP_NAMES, taps, strict=True)
    }
    record = {
        "data": source.fingerprint(),
        "images": len(numbers),
        "positions": _POSITIONS.value,
        "image_size": _IMAGE_SIZE.value,
        "seed": _SEED.value,
        "variance_kept": kept,
    }
    pca.HypercolumnPCA(taps, record).save(_OUTPUT.value)
    print("Variance kept: " + "  ".join(f"{name} {share:.3f}" for name, share in kept.items()))
    print(f"Wrote {_OUTPUT.value}")
    print(
        f"Next: python -m trainers.stage1 --class=bird --data={_DATA.value} --pca={_OUTPUT.value}"
    )


if __name__ == "__main__":
    app.run(main)
