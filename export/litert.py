r"""Exports a model as LiteRT files (TensorFlow Lite), for telephones and small boards.

    python -m export.litert --model=voc20 --output=exported/litert --precision=int8

writes `exported/litert/1/` with `features.tflite`, `match.tflite` and `metadata.json`, the next
time `2/`, and so on. All images have one size, `--size`. `int8` computes the trunk with bytes,
whose ranges come from drawn images. How much PCK a precision costs:

    python -m anchornet_tf.evaluate --benchmark=pf_willow --data_dir=PF-WILLOW \
        --features=anchornet,litert --option=litert.file=exported/litert/1/features.tflite

examples/litert_match.py is a whole program that uses the file. It needs the extra `litert`.
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
_SIGNATURES = flags.DEFINE_list(
    "signatures", ["features", "match"], "The functions to export: features, match."
)
_PRECISION = flags.DEFINE_enum(
    "precision", "float32", ["float32", "float16", "int8"], "Of the weights; int8: of the trunk."
)
_SIZE = flags.DEFINE_list("size", [], "Height and width of all images. Default: the model's.")
_MATCHER = flags.DEFINE_enum("matcher", "hough", ["nearest", "hough"], "What `match` uses.")
_CALIBRATION = flags.DEFINE_integer(
    "calibration", 64, "How many drawn images tell the range of values, for int8.", 2
)
_TRUNK = flags.DEFINE_string(
    "weights", "imagenet", "Where the trunk comes from when the model's folder has none."
)


def main(argv):
    program.flags_only(argv)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from export.litert_files import export_folder, match_command, parse_size

    version = export_folder(
        _MODEL.value,
        _OUTPUT.value,
        _TRUNK.value,
        signatures=_SIGNATURES.value,
        precision=_PRECISION.value,
        size=parse_size(_SIZE.value),
        matcher=_MATCHER.value,
        calibration=_CALIBRATION.value,
    )
    for path in sorted(version.glob("*.tflite")):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    print(f"LiteRT files written to {version}")
    if "features" in _SIGNATURES.value:
        print(f"Next: {match_command(version / 'features.tflite', _MATCHER.value)}")


if __name__ == "__main__":
    program.run(main)
