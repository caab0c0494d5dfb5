r"""Exports a model as one SavedModel for Keras, TF-Hub, TF Serving and C++.

    python -m export.saved_model --model=runs/stage2/model --output=exported/anchornet

writes `exported/anchornet/1/`, the next time `2/`, and so on: a version is there whole or not at all, and none is ever
changed. The package is not needed to use it:

    layer = keras.layers.TFSMLayer("exported/anchornet/1")              # Keras 3
    layer = hub.KerasLayer("exported/anchornet/1", trainable=True)      # tf_keras
    loaded = tf.saved_model.load("exported/anchornet/1")
    loaded.signatures["match"](source=image_a[None], target=image_b[None])["flow"]

docs/serving.md says which to use, and how to serve it.
"""

import os
import sys

from absl import app, flags

_MODEL = flags.DEFINE_string(
    "model", None, "Folder that AnchorNet.save_folder wrote, or the name of a preset."
)
_OUTPUT = flags.DEFINE_string("output", None, "Folder of the versions; made where it is missing.")
_MATCHER = flags.DEFINE_enum(
    "matcher", "hough", ["nearest", "hough"], "What the match signatures use."
)
_WEIGHT_DIV_A = flags.DEFINE_float(
    "weight_div_a",
    None,
    "Weight of the banks' L_DivA in the regularization losses; that of the model's training, else 100.",
    0.0,
)
_WEIGHT_DIV_ENCODER = flags.DEFINE_float(
    "weight_div_encoder", None, "The same for the class-agnostic layer.", 0.0
)
_TRUNK = flags.DEFINE_string(
    "weights", "imagenet", "Where the trunk comes from when the model's folder has none."
)


def main(argv):
    if len(argv) > 1 or not _MODEL.value or not _OUTPUT.value:
        raise app.UsageError(
            f"Expected --model=FOLDER_OR_PRESET and --output=FOLDER. Received: {argv[1:]}"
        )
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from anchornet_tf.trunks.pretrained import WeightsUnavailable
    from export.archive import export_folder

    given = [flag for flag in (_WEIGHT_DIV_A, _WEIGHT_DIV_ENCODER) if flag.value is not None]
    options = {"matcher": _MATCHER.value, "weights": {flag.name: flag.value for flag in given}}
    try:
        version = export_folder(_MODEL.value, _OUTPUT.value, _TRUNK.value, **options)
    # What the user can mend is said in one line; anything else keeps its traceback.
    except (OSError, ValueError, WeightsUnavailable) as error:
        sys.exit(f"export.saved_model: {error}")
    print(f"SavedModel written to {version}")
    print(f"Next: python -m export.serving --model={_OUTPUT.value} --output=bundle")


if __name__ == "__main__":
    app.run(main)
