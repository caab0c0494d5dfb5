r"""Runs the published protocols: every descriptor with every matcher on a benchmark.

    python -m anchornet_tf.evaluate --benchmark=parts_world --features=hc --matcher=none,nearest --limit=40
    python -m anchornet_tf.evaluate --benchmark=pf_willow --data_dir=PF-WILLOW --features=hog --matcher=nam,lom
    python -m anchornet_tf.evaluate --benchmark=pascal_parts --data_dir=FLOWWEB --features=hc,sift --matcher=none,dsp
    python -m anchornet_tf.evaluate --benchmark=pf_willow --data_dir=PF-WILLOW \
        --features=hc,anchornet-class --banks=runs/stage1-all/banks --matcher=nearest,hough

Benchmarks are read from the folders that their makers publish (docs/protocols.md); parts_world is embedded.
Finished pairs are kept in --output: the same command goes on where it was stopped. There, too, are the tables
(table.md, table.csv, results.json with the values of every pair), plots, and pictures of the best, median and
worst pairs.
"""

import os
import shlex
import sys

from absl import app, flags

from anchornet_tf.datasets.annotated.registry import BENCHMARKS
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.trunks.pretrained import WeightsUnavailable
from anchornet_tf.utils.named_options import parse_option

_BENCHMARK = flags.DEFINE_enum(
    "benchmark", "parts_world", BENCHMARKS.names, "Which pairs of images, and how they are scored."
)
_DATA_DIR = flags.DEFINE_string(
    "data_dir", "", "Folder of the benchmark as its makers publish it; parts_world needs none."
)
_FEATURES = flags.DEFINE_list(
    "features", ["hc"], f"Descriptors to compare, some of {', '.join(DESCRIPTORS.names)}."
)
_MATCHER = flags.DEFINE_list(
    "matcher", ["nearest"], f"Matchers to run on each, some of {', '.join(MATCHERS.names)}."
)
_OUTPUT = flags.DEFINE_string(
    "output", "", "Folder for everything that is written; runs/evaluate-BENCHMARK by default."
)
_LIMIT = flags.DEFINE_integer(
    "limit", 0, "Only so many pairs, drawn evenly from the groups, for a quick look; 0 for all."
)
_SEED = flags.DEFINE_integer("seed", 0, "Of the pairs that are drawn and of the resamples.")
_METRICS = flags.DEFINE_list(
    "metrics",
    [],
    "Some of regions (AuC of PCR and of mIoU@k; box matchers only), pck and parts (weighted part IoU); by default "
    "those of the benchmark. Box matchers need the dense flow for pck and parts, which takes longer than the "
    "matching itself.",
)
_NORMALIZE_BY = flags.DEFINE_string(
    "normalize_by",
    "",
    "What PCK errors are divided by: image, bbox, bbox_kp, or bbox_kp_padded (to compare with inflated figures "
    "only); by default the benchmark's own.",
)
_THRESHOLDS = flags.DEFINE_list("thresholds", [], "Of PCK; by default the benchmark's own.")
_NUM_BOXES = flags.DEFINE_integer("num_boxes", 1000, "Box proposals an image, for box matchers.")
_MODEL = flags.DEFINE_string("model", "", "Folder of an AnchorNet, for anchornet[-class].")
_BANKS = flags.DEFINE_string(
    "banks", "", "Folder of <class>.npz banks (RUN/banks), for anchornet-class without a model."
)
_IMAGE_SIZE = flags.DEFINE_integer(
    "image_size", 224, "Side that networks see images at; 0 for the images' own sizes."
)
_SUBSET = flags.DEFINE_string(
    "subset", "", "tune or report: one of two halves of pf_willow without an image in common."
)
_SPLIT = flags.DEFINE_string("split", "", "Split of spair or pf_pascal; test by default.")
_CROSS_CATEGORY = flags.DEFINE_bool(
    "cross_category", False, "Match images of different classes (pascal_parts, parts_world)."
)
_NUM_PAIRS = flags.DEFINE_integer(
    "num_pairs", 0, "Pairs to draw where a benchmark draws them; 0 for the benchmark's own number."
)
_OPTION = flags.DEFINE_multi_string(
    "option",
    [],
    "NAME=VALUE, an option of the descriptors or matchers that know it, e.g. --option=lom_variant=published. May be "
    "repeated.",
)
_WORKERS = flags.DEFINE_integer("workers", -1, "Processes for box matchers; -1 for one a core.")
_BOOTSTRAP = flags.DEFINE_integer(
    "bootstrap", 1000, "Resampled benchmarks that the intervals come from; 0 for no intervals."
)
_RESAMPLED = flags.DEFINE_enum(
    "resampled",
    "pairs",
    ["pairs", "images"],
    "What is drawn again for the intervals. Pairs share images: those over images are wider.",
)
_PICTURES = flags.DEFINE_bool("pictures", True, "Draw the best, median and worst pairs.")


def main(argv):
    if len(argv) > 1:
        raise app.UsageError(f"Expected flags only. Received: {' '.join(argv[1:])}")
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # As for trainings: TensorFlow leaves it off on processors that it makes faster all the same.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    from anchornet_tf.runner import report
    from anchornet_tf.runner.evaluation import Evaluation, evaluate

    try:
        output = _OUTPUT.value or f"runs/evaluate-{_BENCHMARK.value}"
        evaluation = Evaluation(
            benchmark=_BENCHMARK.value,
            data_dir=_DATA_DIR.value or None,
            features=tuple(_FEATURES.value),
            matchers=tuple(_MATCHER.value),
            output=output,
            benchmark_options=_benchmark_options(),
            limit=_LIMIT.value or None,
            seed=_SEED.value,
            measures=tuple(_METRICS.value) or None,
            normalize_by=_NORMALIZE_BY.value or None,
            thresholds=tuple(float(value) for value in _THRESHOLDS.value) or None,
            num_boxes=_NUM_BOXES.value,
            model=_MODEL.value or None,
            banks=_BANKS.value or None,
            image_size=_IMAGE_SIZE.value or None,
            options=dict(parse_option(text) for text in _OPTION.value),
            workers=None if _WORKERS.value < 0 else _WORKERS.value,
            num_resamples=_BOOTSTRAP.value,
            resampled=_RESAMPLED.value,
            with_pictures=_PICTURES.value,
        )
        found = evaluate(evaluation)
    # What the user can mend is said in one line; anything else keeps its traceback.
    except (OSError, ValueError, ImportError, WeightsUnavailable) as error:
        sys.exit(f"Error: {error}")
    except KeyboardInterrupt:
        sys.exit(f"Stopped. Finished pairs are kept: go on with {shlex.join(_command())}")
    print(report.terminal(found))
    print(f"Tables, plots and pictures are in {output}")
    print(f"Next: {shlex.join(_next_command())}")


def _benchmark_options() -> dict:
    given = {
        "subset": _SUBSET.value,
        "split": _SPLIT.value,
        "cross_category": _CROSS_CATEGORY.value,
        "num_pairs": _NUM_PAIRS.value,
    }
    return {name: value for name, value in given.items() if value}


def _command(**changes) -> list[str]:
    """Returns this command, with some flags changed or, by None, left out."""
    given = {
        flag.name: flag.value
        for flag in flags.FLAGS.get_flags_for_module(sys.modules[__name__])
        if flag.present
    }
    command = ["python", "-m", "anchornet_tf.evaluate"]
    for name, value in (given | changes).items():
        if name == "option" and value:
            command += [f"--option={text}" for text in value]
        elif isinstance(value, bool):
            command.append(f"--{name}" if value else f"--no{name}")
        elif value is not None:
            command.append(f"--{name}={','.join(value) if isinstance(value, list) else value}")
    return command


def _next_command() -> list[str]:
    """Suggests all pairs after a quick look, the other half after tuning, and otherwise one more matcher."""
    if _LIMIT.value:
        return _command(limit=None)
    if _SUBSET.value == "tune":
        return _command(subset="report", output=None)
    tried = [name for name in ("nearest", "hough", "dsp", "lom") if name not in _MATCHER.value]
    return _command(matcher=[*_MATCHER.value, *tried[:1]], limit=None if tried else 40)


if __name__ == "__main__":
    app.run(main)
