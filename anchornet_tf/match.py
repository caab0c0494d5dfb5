r"""Matches two images and draws the correspondences.

    python -m anchornet_tf.match cat.jpg dog.jpg
    python -m anchornet_tf.match cat.jpg dog.jpg --features=sift --matcher=dsp --flow=flow.npz
    python -m anchornet_tf.match cat.jpg dog.jpg --points='120,80 64,200'

The first image is the source, the second the target: every pixel of the source is given its match
in the target. The picture (--output) shows both images with lines between matches, the target
warped onto the source, the two laid over each other, and where the matcher is sure. In Python
afterwards:

    flow = anchornet_tf.Flow.load("flow.npz")
    flow.transfer_points([[120, 80]])  # (x, y) in the source -> (x, y) in the target
"""

import os
import shlex

from absl import app, flags

from anchornet_tf.command_line import program
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.named_options import parse_option

_FEATURES = flags.DEFINE_string(
    "features",
    "anchornet",
    f"What to compare: the descriptor of the images. One of {', '.join(DESCRIPTORS.names)}, or "
    "taps:TRUNK/TAP, such as taps:dinov2_small/block9.",
)
_MATCHER = flags.DEFINE_enum(
    "matcher", "hough", MATCHERS.names, "How to compare: the method that finds the matches."
)
_MODEL = flags.DEFINE_string(
    "model", None, "Folder of an AnchorNet or name of a preset, for --features=anchornet."
)
_OPTION = flags.DEFINE_multi_string(
    "option",
    [],
    "NAME=VALUE, an option of the descriptor or the matcher, e.g. --option=mutual=True. May be "
    "repeated. A wrong name gets the list of right ones.",
)
_OUTPUT = flags.DEFINE_string("output", "match.png", "The picture to write; empty for none.")
_FLOW = flags.DEFINE_string("flow", "", "The .npz file to write the flow to; empty for none.")
_POINTS = flags.DEFINE_string(
    "points",
    "",
    "Points of the source to carry across and to draw, in pixels from the upper left corner: "
    "'X,Y X,Y ...', or a .csv file with one point per line. Their matches are printed.",
)
_MAX_PIXELS = flags.DEFINE_integer(
    "max_pixels",
    None,
    "Images of more pixels are refused before they are decoded. Default: 67,108,864, or what the "
    "environment variable ANCHORNET_MAX_PIXELS says.",
    lower_bound=1,
)


def main(argv):
    if len(argv) != 3:
        raise app.UsageError(
            "Expected two images: python -m anchornet_tf.match SOURCE TARGET. "
            f"Received: {' '.join(argv[1:]) or 'none'}"
        )
    DESCRIPTORS.check(_FEATURES.value)
    options = dict(parse_option(text) for text in _OPTION.value)
    if _MODEL.value:
        options["model"] = _MODEL.value
    points = _parse_points(_POINTS.value)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import numpy as np

    from anchornet_tf import viz
    from anchornet_tf.matchers.flow import check_inside
    from anchornet_tf.matchers.matcher import Matcher
    from anchornet_tf.utils import files
    from anchornet_tf.utils.image_io import read_scaled

    paths = argv[1], argv[2]
    # Read once, and before the network, which takes longer to load than to find a wrong image.
    images = [read_scaled(path, max_pixels=_MAX_PIXELS.value) for path in paths]
    check_inside(points or [], images[0].original_size)
    if _OUTPUT.value:
        viz.check_format(_OUTPUT.value)
    flow = Matcher(_FEATURES.value, _MATCHER.value, **options)(*images)
    if points is not None:
        how_sure = "probability" if flow.has_probabilities else "score"
        for point, moved, sure in zip(points, *flow.transfer_with_confidence(points), strict=True):
            found = f"{moved[0]:.1f},{moved[1]:.1f} ({how_sure} {sure:.2f})"
            found = "no match" if np.isnan(moved).any() else found
            print(f"{point[0]:g},{point[1]:g} -> {found}")
    if _FLOW.value:
        flow.save(_FLOW.value)
        print(f"Flow written to {_FLOW.value}")
    if _OUTPUT.value:
        figure = viz.plot_summary(*images, flow, points)
        with files.atomic_file(_OUTPUT.value) as temporary:
            figure.savefig(temporary, dpi=120)
        print(f"Picture written to {_OUTPUT.value}")
    print(f"Next: {_next_command(*paths, flow.shape, points)}")


def _next_command(source_path, target_path, shape, points):
    """Suggests to try points where there were none, and the way back otherwise."""
    paths = [source_path, target_path] if points is None else [target_path, source_path]
    command = ["python", "-m", "anchornet_tf.match", *paths]
    command += [f"--features={_FEATURES.value}", f"--matcher={_MATCHER.value}"]
    command += [f"--option={option}" for option in _OPTION.value]
    command += [f"--model={_MODEL.value}"] if _MODEL.value else []
    if _OUTPUT.value or flags.FLAGS["output"].present:
        command += [f"--output={_other_output('points' if points is None else 'back')}"]
    if points is None:
        command += [f"--points={shape[1] // 2},{shape[0] // 2}"]
    return shlex.join(command)


def _other_output(what: str) -> str:
    """Returns another file than this picture's, which is to be kept."""
    stem, suffix = os.path.splitext(_OUTPUT.value)
    return f"{stem}-{what}{suffix}" if stem else ""


def _parse_points(text: str) -> list[tuple[float, float]] | None:
    if not text:
        return None
    if text.endswith(".csv"):
        with open(text) as file:
            lines = [line.strip() for line in file if line.strip()]
        # A first line of names is allowed, and says nothing else than the order we expect.
        entries = lines[1:] if lines and lines[0].replace(" ", "").lower() == "x,y" else lines
    else:
        entries = text.split()
    try:
        return [(float(x), float(y)) for x, y in (entry.split(",") for entry in entries)]
    except ValueError as error:
        raise ValueError(
            f"Expected --points of X,Y in pixels, or a .csv file of them. Received: {text!r}"
        ) from error


if __name__ == "__main__":
    program.run(main)
