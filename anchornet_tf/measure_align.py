r"""Measures what alignment gains: the flows of a set before and after, on annotated images.

    python -m anchornet_tf.measure_align --class=car --images=6
    python -m anchornet_tf.measure_align --benchmark=pascal_parts --data_dir=FLOWWEB-CAR
    python -m anchornet_tf.measure_align --benchmark=pascal_parts --data_dir=FLOWWEB-CAR \
        --features=sift --matcher=dsp --images=20

Aligns the images of each class and prints PCK and the IoU of parts over all ordered pairs by the
protocol of the benchmark: of the pairs as they were matched, and after FlowWeb. What is done is
kept in --output: the same command goes on from there.
"""

import json
import pathlib

from absl import flags

from anchornet_tf.command_line import program
from anchornet_tf.datasets.annotated.registry import BENCHMARKS
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.named_options import parse_option

_BENCHMARK = flags.DEFINE_enum("benchmark", "parts_world", BENCHMARKS.names, "Which images.")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "Folder of the benchmark.")
_CLASS = flags.DEFINE_list("class", [], "Some of its classes; by default all of them.")
_IMAGES = flags.DEFINE_integer("images", 0, "The first so many images of a class; 0 for all.", 0)
_FEATURES = flags.DEFINE_enum("features", "anchornet", DESCRIPTORS.names, "The descriptor.")
_MATCHER = flags.DEFINE_enum("matcher", "hough", MATCHERS.names, "The matcher of the pairs.")
_MAX_SIDE = flags.DEFINE_integer("max_side", 150, "Longer side of the common size.", 8)
_NEIGHBORS = flags.DEFINE_integer(
    "neighbors", 0, "Link each image to so many others only; 0 for all.", 0
)
_ITERATIONS = flags.DEFINE_integer("iterations", 10, "The most iterations.", 0)
_OUTPUT = flags.DEFINE_string("output", "runs/align", "Folder of the figures and of what is kept.")
_OPTION = flags.DEFINE_multi_string(
    "option", [], "NAME=VALUE, an option of the descriptor or the matcher. May be repeated."
)


def main(argv):
    program.flags_only(argv)
    options = dict(parse_option(text) for text in _OPTION.value)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    from anchornet_tf.matchers.matcher import Matcher
    from anchornet_tf.runner.align_scores import alignment_scores
    from anchornet_tf.tasks.align import align_frame, check_set
    from anchornet_tf.tasks.align_store import FolderStore
    from anchornet_tf.tasks.common_frame import SEEN_SIDE, CommonFrame
    from anchornet_tf.tasks.flow_web.settings import FlowWebSettings
    from anchornet_tf.utils import files
    from anchornet_tf.utils.image_io import read_scaled

    benchmark = BENCHMARKS.create(_BENCHMARK.value, data_dir=_DATA_DIR.value)
    matcher = Matcher(_FEATURES.value, _MATCHER.value, **{"confidence": None} | options)
    folder = files.make_folder(_OUTPUT.value)
    neighbors = _NEIGHBORS.value or None
    figures = {}
    for name, images in _sets(benchmark).items():
        check_set(len(images), neighbors)
        frame = CommonFrame.of(
            [read_scaled(image.read_scaled(), SEEN_SIDE) for image in images], _MAX_SIDE.value
        )
        for when, iterations in (("before", 0), ("after", _ITERATIONS.value)):
            store = FolderStore(
                folder / name / f"{_FEATURES.value}-{_MATCHER.value}",
                {
                    "images": [image.image_key for image in images],
                    "size": frame.size,
                    "neighbors": neighbors,
                    "option": list(_OPTION.value),
                },
                {},
                iterations,
            )
            settings = FlowWebSettings(iterations=iterations)
            aligned = align_frame(frame, matcher, neighbors, settings, store, progress=True)
            scores = {"objective": aligned.objective[-1]}
            scores |= alignment_scores(aligned, images, benchmark.protocol, progress=True)
            label = f"{name}, {len(images)} images, {_FEATURES.value} + {_MATCHER.value}, {when}"
            figures[label] = scores
            texts = [f"{key} {value:.3f}" for key, value in scores.items() if key != "pairs"]
            print(f"{label}: {', '.join(texts)} ({scores['pairs']} pairs)", flush=True)
    path = pathlib.Path(folder) / f"align-{_FEATURES.value}-{_MATCHER.value}.json"
    with files.atomic_file(path) as temporary:
        temporary.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"Figures are in {path}")


def _sets(benchmark) -> dict[str, list]:
    """Returns the annotated images of each class."""
    sets = {}
    for annotation in benchmark.annotations().values():
        sets.setdefault(annotation.class_name, []).append(annotation)
    unknown = sorted(set(_CLASS.value) - set(sets))
    if unknown:
        raise ValueError(
            f"Expected classes of {', '.join(sorted(sets))}. Received: {', '.join(unknown)}"
        )
    most = _IMAGES.value or None
    chosen = _CLASS.value or list(sets)
    return {name: sets[name][:most] for name in chosen}


if __name__ == "__main__":
    program.run(main)
