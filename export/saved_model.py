r"""Exports a model as one SavedModel for Keras, TF-Hub, TF Serving and C++.

    python -m export.saved_model --model=runs/stage2/model --output=exported/anchornet

writes `exported/anchornet/1/`, the next time `2/`, and so on: a version is there whole or not at
all, and none is ever changed. The package is not needed to use it:

    layer = keras.layers.TFSMLayer("exported/anchornet/1")              # Keras 3
    layer = hub.KerasLayer("exported/anchornet/1", trainable=True)      # tf_keras
    loaded = tf.saved_model.load("exported/anchornet/1")
    loaded.signatures["match"](source=image_a[None], target=image_b[None])["flow"]

docs/serving.md says which to use, and how to serve it.
"""

from absl import flags

from anchornet_tf.command_line import program

_MODEL = flags.DEFINE_string(
    "model",
    None,
    "Folder of a model (RUN/model of a stage 2 run), or the name of a preset.",
    required=True,
)
_OUTPUT = flags.DEFINE_string(
    "output", None, "Folder of the versions; made where it is missing.", required=True
)
_MATCHER = flags.DEFINE_enum(
    "matcher", "hough", ["nearest", "hough"], "What the match signatures use."
)
_LOOK_TWICE = flags.DEFINE_integer(
    "look_twice",
    0,
    "Size in pixels at which the match signatures look at the object of each image again: 320 is "
    "much more accurate and costs more. 0 to look once.",
    0,
)
_WEIGHT_DIV_A = flags.DEFINE_float(
    "weight_div_a",
    None,
    "Weight of L_DivA of the banks in the regularization losses. Default: that of the model's "
    "training, or 100.",
    0.0,
)
_WEIGHT_DIV_ENCODER = flags.DEFINE_float(
    "weight_div_encoder", None, "The same for the class-agnostic layer.", 0.0
)
_TRUNK = flags.DEFINE_string(
    "weights", "imagenet", "Where the trunk comes from when the model's folder has none."
)


def main(argv):
    program.flags_only(argv)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from export.archive import export_folder

    given = [flag for flag in (_WEIGHT_DIV_A, _WEIGHT_DIV_ENCODER) if flag.value is not None]
    version = export_folder(
        _MODEL.value,
        _OUTPUT.value,
        _TRUNK.value,
        matcher=_MATCHER.value,
        look_twice=_LOOK_TWICE.value,
        weights={flag.name: flag.value for flag in given},
    )
    print(f"SavedModel written to {version}")
    print(f"Next: python -m export.serving --model={_OUTPUT.value} --output=bundle")


if __name__ == "__main__":
    program.run(main)
