"""Trains the anchor bank of one class, or of several at once, from image labels alone (stage 1).

    python -m trainers.stage1 --class=bird
    python -m trainers.stage1 --class=all --data=manifest:labels.csv --workdir=runs/all

With nothing but --class it trains on parts_world, a set that is drawn on the spot, for about five minutes on
two cores. The same command continues a run that was stopped. In Python afterwards:

    bank = BankFile.load("runs/stage1-bird/banks/bird.npz").bank()
    descriptor = anchornet_tf.DeepDescriptor("anchornet-class", bank=bank)
"""

import pathlib

from absl import app, flags

from anchornet_tf.datasets.voc_classes import VOC_CLASSES
from anchornet_tf.training.stage1.config import Stage1Config

_DEFAULT = Stage1Config()

_CLASS = flags.DEFINE_list(
    "class", ["bird"], f"Class, comma-separated classes, or all. One of: {', '.join(VOC_CLASSES)}."
)
_DATA = flags.DEFINE_string(
    "data",
    _DEFAULT.data,
    "Images with labels: parts_world, folder:DIR, manifest:FILE.csv or tfds:NAME.",
)
_WORKDIR = flags.DEFINE_string("workdir", "", "Folder of the run. Default: runs/stage1-CLASS.")
_PCA = flags.DEFINE_string(
    "pca", "", "PCA file of trainers.fit_pca. Default: the one that comes with the package."
)
_WEIGHTS = flags.DEFINE_string(
    "weights", _DEFAULT.weights, "The trunk's weights: imagenet, or a .npz or .h5 file."
)
_IMAGE_SIZE = flags.DEFINE_integer(
    "image_size", _DEFAULT.image_size, "Side of the training images in pixels."
)
_NUM_FILTERS = flags.DEFINE_integer(
    "num_filters",
    _DEFAULT.num_filters,
    "K, filters of a class. 128 match better (with --weight_discr=3) and take twice as long.",
)
_STEPS = flags.DEFINE_integer(
    "steps", _DEFAULT.steps, "Steps; a finished run continues when this is raised."
)
_BATCH_SIZE = flags.DEFINE_integer(
    "batch_size", _DEFAULT.batch_size, "Images a step and class, half of them background."
)
_LEARNING_RATE = flags.DEFINE_float(
    "learning_rate", _DEFAULT.learning_rate, "Learning rate of SGD."
)
_MOMENTUM = flags.DEFINE_float("momentum", _DEFAULT.momentum, "Momentum of SGD.")
_WEIGHT_DECAY = flags.DEFINE_float(
    "weight_decay", _DEFAULT.weight_decay, "L2 penalty on the filters."
)
_WEIGHT_DISCR = flags.DEFINE_float("weight_discr", _DEFAULT.weight_discr, "Weight of L_Discr.")
_WEIGHT_AUX = flags.DEFINE_float("weight_aux", _DEFAULT.weight_aux, "Weight of L_Aux.")
_WEIGHT_DIV_A = flags.DEFINE_float(
    "weight_div_a", _DEFAULT.weight_div_a, "Weight of L_DivA, diversity of filters."
)
_WEIGHT_DIV_B = flags.DEFINE_float(
    "weight_div_b", _DEFAULT.weight_div_b, "Weight of L_DivB, diversity of maps."
)
_SIGMA = flags.DEFINE_float("sigma", _DEFAULT.sigma, "Gaussian of L_DivB, in cells.")
_CACHE = flags.DEFINE_bool(
    "cache_features",
    _DEFAULT.cache_features,
    "Compute the taps of --views fixed views of each image once and keep them on disk (1.7 MB a view); with "
    "--nocache_features every step augments anew and runs the trunk.",
)
_VIEWS = flags.DEFINE_integer(
    "views", _DEFAULT.views, "Augmented views of an image that are cached."
)
_CACHE_DIR = flags.DEFINE_string(
    "cache_dir", "", "Folder of the cached taps. Default: taps in the cache folder."
)
_HELDOUT = flags.DEFINE_float(
    "heldout_fraction",
    _DEFAULT.heldout_fraction,
    "Share of the images kept for the summary, where the data has no split.",
)
_SEED = flags.DEFINE_integer("seed", _DEFAULT.seed, "Seed of everything that is random.")
_STRATEGY = flags.DEFINE_enum(
    "strategy",
    "auto",
    ["auto", "one", "mirrored", "multiworker"],
    "Where to train, through tf.distribute.",
)
_CHECKPOINT_EVERY = flags.DEFINE_integer("checkpoint_every", 50, "Steps between checkpoints.", 1)


def config_from_flags() -> Stage1Config:
    """Gathers the flags."""
    classes = VOC_CLASSES if _CLASS.value == ["all"] else tuple(_CLASS.value)
    return Stage1Config(
        classes=classes,
        data=_DATA.value,
        pca=_PCA.value,
        weights=_WEIGHTS.value,
        image_size=_IMAGE_SIZE.value,
        num_filters=_NUM_FILTERS.value,
        steps=_STEPS.value,
        batch_size=_BATCH_SIZE.value,
        learning_rate=_LEARNING_RATE.value,
        momentum=_MOMENTUM.value,
        weight_decay=_WEIGHT_DECAY.value,
        weight_discr=_WEIGHT_DISCR.value,
        weight_aux=_WEIGHT_AUX.value,
        weight_div_a=_WEIGHT_DIV_A.value,
        weight_div_b=_WEIGHT_DIV_B.value,
        sigma=_SIGMA.value,
        cache_features=_CACHE.value,
        views=_VIEWS.value,
        heldout_fraction=_HELDOUT.value,
        seed=_SEED.value,
    )


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"Expected flags only. Received: {argv[1:]}")
    try:
        config = config_from_flags()
    except ValueError as error:
        raise app.UsageError(str(error)) from error
    name = "all" if len(config.classes) == len(VOC_CLASSES) else "-".join(config.classes)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.stage1 import run as stage1_run

    stage1_run.train(
        config,
        pathlib.Path(_WORKDIR.value or f"runs/stage1-{name}"),
        strategy=_STRATEGY.value,
        cache_dir=_CACHE_DIR.value or None,
        checkpoint_every=_CHECKPOINT_EVERY.value,
    )


if __name__ == "__main__":
    app.run(main)
