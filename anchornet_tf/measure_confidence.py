r"""Measures how far the confidence of matches can be trusted.

    python -m anchornet_tf.measure_confidence --matcher=hough,nearest
    python -m anchornet_tf.measure_confidence --benchmark=pf_willow --data_dir=PF-WILLOW \
        --subset=report --features=anchornet,hc --matcher=hough

Prints, for every descriptor and matcher: how well the confidence at keypoints tells right matches
from wrong ones (AUROC), how true it is as a probability (expected calibration error, ECE), how many
of the surer half are right and, where objects have masks, how much of the surest tenth of all
pixels lies on the object. A match is right within a tenth of the object's size. --output gets the
table, and a plot of what was promised against what came true.
"""

import json

from absl import flags

from anchornet_tf.command_line import program
from anchornet_tf.datasets.annotated.registry import BENCHMARKS
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.named_options import parse_option

_BENCHMARK = flags.DEFINE_enum("benchmark", "parts_world", BENCHMARKS.names, "Which pairs.")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "Folder of the benchmark.")
_SUBSET = flags.DEFINE_string("subset", None, "tune or report: a half of pf_willow.")
_FEATURES = flags.DEFINE_list("features", ["anchornet"], "Descriptors.")
_MATCHER = flags.DEFINE_list("matcher", ["hough"], "Matchers.")
_MODEL = flags.DEFINE_string("model", None, "Folder or preset, for --features=anchornet.")
_LIMIT = flags.DEFINE_integer("limit", 0, "At most this many pairs; 0 for all.", lower_bound=0)
_NUM_PAIRS = flags.DEFINE_integer("num_pairs", 20, "Pairs of each class of parts_world.")
_CUT_OUTS = flags.DEFINE_integer(
    "cut_outs", 0, "Also match this many drawn pairs per class on each of three backgrounds."
)
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the pairs that are drawn.")
_OUTPUT = flags.DEFINE_string("output", "runs/confidence", "Folder of the results.")
_OPTION = flags.DEFINE_multi_string(
    "option", [], "NAME=VALUE, an option of the descriptor or the matcher. May be repeated."
)


def main(argv):
    program.flags_only(argv)
    for flag, given, names in (
        ("features", _FEATURES.value, DESCRIPTORS.names),
        ("matcher", _MATCHER.value, MATCHERS.names),
    ):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"--{flag} must be some of {', '.join(names)}. Received: {', '.join(unknown)}"
            )
    options = dict(parse_option(text) for text in _OPTION.value)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import pathlib

    from anchornet_tf.matchers.matcher import Matcher
    from anchornet_tf.runner import confidence_plot, confidence_scores
    from anchornet_tf.utils import files

    benchmark = _read()
    for note in benchmark.notes:
        print(note)
    measured, figures = {}, {}
    for features in _FEATURES.value:
        model = {"model": _MODEL.value} if _MODEL.value and features == "anchornet" else {}
        for name in _MATCHER.value:
            matcher = Matcher(features, name, **options, **model)
            label = f"{name} + {features}"
            measured[label] = confidence_scores.measure(benchmark, matcher)
            figures[label] = measured[label].summary()
            print(f"{label}: " + ", ".join(f"{k} {v:.3f}" for k, v in figures[label].items()))
            if _CUT_OUTS.value:
                shares = confidence_scores.cut_out_shares(matcher, _CUT_OUTS.value)
                for background, share in shares.items():
                    figures[label][f"surest tenth on {background} grounds"] = share._asdict()
                    print(
                        f"  on {background} grounds: {share.on_object:.3f} of the surest tenth on "
                        f"the object ({share.most:.3f} at most, {share.on_object_by_scores:.3f} by "
                        f"scores), {share.near_object:.3f} on it or within a cell of it"
                    )
    folder = files.make_folder(_OUTPUT.value)
    with files.atomic_file(pathlib.Path(folder) / "confidence.json") as temporary:
        temporary.write_text(json.dumps(figures, indent=2) + "\n")
    with files.atomic_file(pathlib.Path(folder) / "reliability.png") as temporary:
        confidence_plot.plot_reliability(measured).savefig(temporary, dpi=120)
    print(f"Figures and plot are in {folder}")


def _read():
    options = {"subset": _SUBSET.value} if _SUBSET.value else {}
    if _BENCHMARK.value == "parts_world":
        options |= {"num_pairs": _NUM_PAIRS.value, "seed": _SEED.value}
    benchmark = BENCHMARKS.create(_BENCHMARK.value, data_dir=_DATA_DIR.value, **options)
    return benchmark.limited(_LIMIT.value, _SEED.value) if _LIMIT.value else benchmark


if __name__ == "__main__":
    program.run(main)
