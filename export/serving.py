r"""Makes a bundle for TensorFlow Serving out of an exported model.

    python -m export.serving --model=exported/anchornet --output=bundle

The bundle holds the newest version with warm-up requests, the server's configuration, a Dockerfile, manifests for
Docker Compose and Kubernetes, and a README with the commands:

    cd bundle && docker compose up
    python -m export.client --server=localhost:8500 a.jpg b.jpg
"""

import os
import sys

from absl import app, flags

_MODEL = flags.DEFINE_string("model", None, "Folder of versions that export.saved_model wrote.")
_OUTPUT = flags.DEFINE_string("output", None, "The bundle: a folder that does not exist yet.")
_NAME = flags.DEFINE_string("name", "anchornet", "The name that clients ask the server for.")
_SERVING = flags.DEFINE_string(
    "serving_version", "2.21.0", "Tag of the tensorflow/serving image to run."
)


def main(argv):
    if len(argv) > 1 or not _MODEL.value or not _OUTPUT.value:
        raise app.UsageError(f"Expected --model=FOLDER and --output=FOLDER. Received: {argv[1:]}")
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from export.bundle import make_bundle

    try:
        bundle = make_bundle(_MODEL.value, _OUTPUT.value, _NAME.value, _SERVING.value)
    # What the user can mend is said in one line; anything else keeps its traceback.
    except (ImportError, OSError, ValueError) as error:
        sys.exit(f"export.serving: {error}")
    print(f"Bundle written to {bundle}")
    print(f"Next: cd {bundle} && docker compose up    (README.md there has all commands)")


if __name__ == "__main__":
    app.run(main)
