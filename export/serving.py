r"""Makes a bundle for TensorFlow Serving out of an exported model.

    python -m export.serving --model=exported/anchornet --output=bundle

The bundle holds the newest version with warm-up requests, the server's configuration, a Dockerfile,
manifests for Docker Compose and Kubernetes, and a README with the commands:

    cd bundle && docker compose up
    python -m export.client --server=localhost:8500 a.jpg b.jpg
"""

from absl import flags

from anchornet_tf.command_line import program

_MODEL = flags.DEFINE_string(
    "model", None, "Folder of versions that export.saved_model wrote.", required=True
)
_OUTPUT = flags.DEFINE_string(
    "output", None, "The bundle: a folder that does not exist yet.", required=True
)
_NAME = flags.DEFINE_string("name", "anchornet", "The name that clients ask the server for.")
_SERVING = flags.DEFINE_string(
    "serving_version", "2.21.0", "Tag of the tensorflow/serving image to run."
)


def main(argv):
    program.flags_only(argv)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from export.bundle import make_bundle

    bundle = make_bundle(_MODEL.value, _OUTPUT.value, _NAME.value, _SERVING.value)
    print(f"Bundle written to {bundle}")
    print(f"Next: cd {bundle} && docker compose up    (README.md there has all commands)")


if __name__ == "__main__":
    program.run(main)
