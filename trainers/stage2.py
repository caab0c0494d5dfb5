"""Joins the banks of stage 1 and trains the class-agnostic layer on top of them (stage 2).

    python -m trainers.stage2 --banks=runs/stage1-all
    python -m trainers.stage2 --banks=runs/bird,runs/car --data=manifest:labels.csv --freeze_trunk --workdir=runs/joint

End to end by default: the trunk and the banks move too, at --lower_rate times the rate of the class-agnostic
layer. --freeze_trunk keeps the trunk as it is and works on cached taps, which is far cheaper. The same command
continues a run that was stopped. In Python afterwards:

    model = anchornet_tf.AnchorNet.load_folder("runs/stage2/model")
    descriptors = model(images)
"""

import dataclasses
import pathlib

from absl import app, flags

from anchornet_tf.training.stage2.config import ENCODER_STARTS, GAMMAS, Stage2Config

_DEFAULTS = {field.name: field.default for field in dataclasses.fields(Stage2Config)}

_FLAGS = [
    flags.DEFINE_list(
        "banks", None, "Folders of stage 1 runs: one of all classes, or one a class.", required=True
    ),
    flags.DEFINE_string(
        "data",
        _DEFAULTS["data"],
        "Images with labels: parts_world, folder:DIR, manifest:FILE.csv or tfds:NAME.",
    ),
    flags.DEFINE_string(
        "weights", _DEFAULTS["weights"], "The trunk's weights: imagenet, or a .npz or .h5 file."
    ),
    flags.DEFINE_integer(
        "image_size", _DEFAULTS["image_size"], "Side of the training images in pixels."
    ),
    flags.DEFINE_integer(
        "latent_filters", _DEFAULTS["latent_filters"], "L, length of the class-agnostic descriptor."
    ),
    flags.DEFINE_enum(
        "gamma",
        _DEFAULTS["gamma"],
        GAMMAS,
        "What is compressed: whitened linear responses, or the paper's softplus maps.",
    ),
    flags.DEFINE_enum(
        "encoder_start",
        _DEFAULTS["encoder_start"],
        ENCODER_STARTS,
        "Where the encoder starts: at the maps' principal directions, or at random ones.",
    ),
    flags.DEFINE_float("noise", _DEFAULTS["noise"], "Share of channels set to zero in training."),
    flags.DEFINE_integer(
        "steps", _DEFAULTS["steps"], "Steps; a finished run continues when this is raised."
    ),
    flags.DEFINE_integer(
        "batch_size", _DEFAULTS["batch_size"], "Images a step, half of them background."
    ),
    flags.DEFINE_float(
        "learning_rate", _DEFAULTS["learning_rate"], "Learning rate of SGD for the encoder."
    ),
    flags.DEFINE_float(
        "lower_rate",
        _DEFAULTS["lower_rate"],
        "Factor of the learning rate for everything below the encoder.",
    ),
    flags.DEFINE_float("momentum", _DEFAULTS["momentum"], "Momentum of SGD."),
    flags.DEFINE_float(
        "weight_decay", _DEFAULTS["weight_decay"], "L2 penalty on banks and encoder."
    ),
    flags.DEFINE_float("weight_discr", _DEFAULTS["weight_discr"], "Weight of L_Discr."),
    flags.DEFINE_float("weight_aux", _DEFAULTS["weight_aux"], "Weight of L_Aux."),
    flags.DEFINE_float("weight_div_a", _DEFAULTS["weight_div_a"], "Weight of the banks' L_DivA."),
    flags.DEFINE_float("weight_div_b", _DEFAULTS["weight_div_b"], "Weight of L_DivB."),
    flags.DEFINE_float(
        "weight_reconstruction", _DEFAULTS["weight_reconstruction"], "Weight of L_R."
    ),
    flags.DEFINE_float(
        "weight_div_encoder", _DEFAULTS["weight_div_encoder"], "Weight of the encoder's L_DivA."
    ),
    flags.DEFINE_float("sigma", _DEFAULTS["sigma"], "Gaussian of L_DivB, in cells."),
    flags.DEFINE_bool(
        "freeze_trunk", _DEFAULTS["freeze_trunk"], "Keep the trunk and its PCA, use cached taps."
    ),
    flags.DEFINE_bool("train_pca", _DEFAULTS["train_pca"], "Train the PCA's projections too."),
    flags.DEFINE_integer(
        "views", _DEFAULTS["views"], "Views of an image that are cached with --freeze_trunk."
    ),
    flags.DEFINE_integer(
        "calibration_images",
        _DEFAULTS["calibration_images"],
        "Images behind the start of the encoder and of the maps' mean.",
    ),
    flags.DEFINE_float(
        "heldout_fraction",
        _DEFAULTS["heldout_fraction"],
        "Share of the images kept for the summary, where the data has no split.",
    ),
    flags.DEFINE_integer("seed", _DEFAULTS["seed"], "Seed of everything that is random."),
]
_WORKDIR = flags.DEFINE_string("workdir", "runs/stage2", "Folder of the run.")
_CACHE_DIR = flags.DEFINE_string(
    "cache_dir", "", "Folder of the cached taps. Default: taps in the cache folder."
)
_STRATEGY = flags.DEFINE_enum(
    "strategy",
    "auto",
    ["auto", "one", "mirrored", "multiworker"],
    "Where to train, through tf.distribute.",
)
_CHECKPOINT_EVERY = flags.DEFINE_integer("checkpoint_every", 25, "Steps between checkpoints.", 1)


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"Expected flags only. Received: {argv[1:]}")
    try:
        config = Stage2Config(**{holder.name: holder.value for holder in _FLAGS})
    except ValueError as error:
        raise app.UsageError(str(error)) from error
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.training.stage2 import run as stage2_run

    stage2_run.train(
        config,
        pathlib.Path(_WORKDIR.value),
        strategy=_STRATEGY.value,
        cache_dir=_CACHE_DIR.value or None,
        checkpoint_every=_CHECKPOINT_EVERY.value,
    )


if __name__ == "__main__":
    app.run(main)
