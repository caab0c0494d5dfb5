r"""Exports a model as a page that matches images in the browser, without a server of ours.

    python -m export.web --model=voc20 --output=exported/web
    python -m http.server --directory=exported/web --bind=127.0.0.1 8000

writes a folder of files that any web server can serve. The page loads the network once and runs it
on the visitor's machine: move the mouse over one image and see the match in the other. Images that
are dropped onto it stay there, and nothing is asked of any other server.

It needs the extra `onnx`, and npm for onnxruntime-web, or --runtime where that is at hand.
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
    "output", None, "The page: a folder that does not exist yet.", required=True
)
_IMAGES = flags.DEFINE_string(
    "images", "", "Folder of images that the page shows at first. Default: drawn ones."
)
_MATCHER = flags.DEFINE_enum("matcher", "hough", ["nearest", "hough"], "What finds the matches.")
_PRECISION = flags.DEFINE_enum(
    "precision", "float16", ["float16", "float32"], "How weights are stored: 53 or 105 MB."
)
_RUNTIME = flags.DEFINE_string(
    "runtime",
    None,
    "Folder or .tgz that holds onnxruntime-web. Default: the cache, or else npm fetches it.",
)
_TRUNK = flags.DEFINE_string(
    "weights", "imagenet", "Where the trunk comes from when the model's folder has none."
)


def main(argv):
    program.flags_only(argv)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.tasks.frames import open_images
    from export.web_files import export_folder

    page = export_folder(
        _MODEL.value,
        _OUTPUT.value,
        _TRUNK.value,
        matcher=_MATCHER.value,
        precision=_PRECISION.value,
        images=open_images(_IMAGES.value).paths if _IMAGES.value else (),
        runtime=_RUNTIME.value,
    )
    size = sum(path.stat().st_size for path in page.rglob("*") if path.is_file())
    print(f"Page written to {page}: {size / 1e6:.1f} MB")
    print(f"Next: python -m http.server --directory={page} --bind=127.0.0.1 8000")


if __name__ == "__main__":
    program.run(main)
