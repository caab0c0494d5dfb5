r"""Exports a model as ONNX files, for ONNX Runtime and others without TensorFlow.

    python -m export.onnx --model=voc20 --output=exported/onnx

writes `exported/onnx/1/` with `features.onnx`, `class_responses.onnx`, `match.onnx` and
`match_points.onnx`, the next time `2/`, and so on: a version is there whole or not at all, and none
is ever changed. Images of any size go in as arrays, and any number of them at once:

    session = onnxruntime.InferenceSession("exported/onnx/1/match.onnx")
    flow, confidence = session.run(["flow", "confidence"], {"source": a[None], "target": b[None]})

docs/serving.md lists inputs and outputs. It needs the extra `onnx`.
"""

from absl import flags

from anchornet_tf.command_line import program

_ALL = ["features", "class_responses", "match", "match_points"]

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
    "signatures", _ALL, f"The functions to export, each as one file: {', '.join(_ALL)}."
)
_MATCHER = flags.DEFINE_enum(
    "matcher", "hough", ["nearest", "hough"], "What the match functions use."
)
_IMAGE_DTYPE = flags.DEFINE_enum(
    "image_dtype", "uint8", ["uint8", "float32"], "Number type of the images that go in."
)
_TRUNK = flags.DEFINE_string(
    "weights", "imagenet", "Where the trunk comes from when the model's folder has none."
)


def main(argv):
    program.flags_only(argv)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from export.onnx_files import export_folder

    version = export_folder(
        _MODEL.value,
        _OUTPUT.value,
        _TRUNK.value,
        signatures=_SIGNATURES.value,
        matcher=_MATCHER.value,
        image_dtype=_IMAGE_DTYPE.value,
    )
    for path in sorted(version.iterdir()):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    print(f"ONNX files written to {version}")
    first = version / f"{_SIGNATURES.value[0]}.onnx"
    print(f'In Python: session = onnxruntime.InferenceSession("{first}")')


if __name__ == "__main__":
    program.run(main)
