r"""Opens a page to look at matches, and to annotate once and see it everywhere.

    python -m anchornet_tf.studio                     # drawn examples; drop your own images
    python -m anchornet_tf.studio photographs         # a folder
    python -m anchornet_tf.studio a.jpg b.jpg --features=sift

Everything happens on this machine, and nothing is sent elsewhere. Move the mouse over one image and
see the match in the other; click named points and see them in all images; export them as COCO,
LabelMe or CSV. Ctrl-C ends the studio; what was marked is kept.
"""

import webbrowser

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.studio.config import StudioConfig


def main(argv):
    config = _CONFIG.config()
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.studio.server import StudioServer

    server = StudioServer(config)
    from anchornet_tf.studio.app import make_app
    from anchornet_tf.studio.studio_state import make_studio

    studio = make_studio(config, argv[1:])
    studio.engine.warm_up(*studio.defaults.values())
    print(f"The studio is at {server.address}\nCtrl-C ends it.", flush=True)
    if config.open:
        webbrowser.open(server.address)
    server.run(studio, make_app(studio, server.port, server.token))


if __name__ == "__main__":
    _CONFIG = config_flags.define(StudioConfig)
    program.run(main, interrupted="Stopped. What was marked is kept.")
