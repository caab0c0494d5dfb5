r"""Aligns a set of images: flows between all of them that agree with each other (FlowWeb).

    python -m anchornet_tf.align photographs
    python -m anchornet_tf.align photographs --features=sift --matcher=dsp --output=by_sift
    python -m anchornet_tf.align photographs --neighbors=12

All images should show the same kind of object from about the same side. Their pairs are matched,
and the flows are changed until going from one image to another through a third ends where the
direct way ends. The folder (--output) then holds all flows, the average of the images before and
after, and a picture of all of them warped onto one. In Python afterwards:

    from anchornet_tf.tasks.aligned import AlignedImages
    aligned = AlignedImages.load("aligned/flows.npz")
    aligned[0, 3].transfer_points([[120, 80]])  # (x, y) in the first image -> in the fourth
"""

import dataclasses
import os
import shlex
import sys
import types

from absl import app, flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.tasks.align_config import AlignConfig
from anchornet_tf.utils.named_options import parse_option

_SHOWN = 5


def main(argv):
    if len(argv) != 2:
        raise app.UsageError(
            "Expected a folder of images: python -m anchornet_tf.align FOLDER. "
            f"Received: {' '.join(argv[1:]) or 'none'}"
        )
    options = dict(parse_option(text) for text in flags.FLAGS.option)
    config = _CONFIG.config(images=argv[1], options=options)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.tasks.align_run import run

    result = run(config)
    for name, reason in list(result.skipped.items())[:_SHOWN]:
        print(f"Skipped {name}: {reason}")
    if len(result.skipped) > _SHOWN:
        print(f"Skipped {len(result.skipped) - _SHOWN} more images that cannot be read")
    first, last = result.aligned.objective[0], result.aligned.objective[-1]
    print(
        f"{len(result.names)} images aligned at {result.aligned.size[1]} x "
        f"{result.aligned.size[0]} pixels in {len(result.aligned.objective) - 1} iterations; "
        f"3-cycles that agree: {first:.1%} before, {last:.1%} after"
    )
    print(f"Flows are in {result.files['flows']}")
    print(f"Look at {result.files['average']} and {result.files['sheet']}")
    print(f"Next: {shlex.join(_next_command(config, result))}")


def _next_command(config: AlignConfig, result) -> list[str]:
    """Suggests to look at the set from another image."""
    other = (result.onto + 1) % len(result.names)
    following = dataclasses.replace(config, onto=result.names[other])
    flags_of_it = config_flags.arguments(following, without=("images",))
    return ["python", "-m", "anchornet_tf.align", os.fspath(config.images), *flags_of_it]


class _Callable(types.ModuleType):
    """`anchornet_tf.align` is a function too, which importing the program must not hide."""

    def __call__(self, *args, **options):
        from anchornet_tf.tasks.align import align

        return align(*args, **options)


if __name__ == "__main__":
    _CONFIG = config_flags.define(AlignConfig)
    flags.DEFINE_multi_string(
        "option",
        [],
        "NAME=VALUE, an option of the descriptor or the matcher, e.g. --option=blur=1. May be "
        "repeated.",
    )
    program.run(
        main, interrupted="Stopped. Pairs and iterations are kept: the same command goes on."
    )
else:
    sys.modules[__name__].__class__ = _Callable
