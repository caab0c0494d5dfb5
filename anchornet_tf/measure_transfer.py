r"""Measures how well annotations are carried from few references to other images.

    python -m anchornet_tf.measure_transfer --references=1,2,5
    python -m anchornet_tf.measure_transfer --benchmark=pf_willow --data_dir=PF-WILLOW \
        --subset=report --features=anchornet,hc,sift
    python -m anchornet_tf.measure_transfer --benchmark=pascal_parts --data_dir=FLOWWEB --masks

Every image of a class is a target in turn; references are drawn from the others of its class.
Prints PCK at 0.05 and 0.1 of the object's size from one, two and five references: fused, from the
most similar one alone, and the mean over single ones; PCK of the surest half of the points; and
the same for references that --suggest would name. With --masks, the IoU of part masks.
"""

import json

from absl import flags

from anchornet_tf.command_line import program
from anchornet_tf.datasets.annotated.registry import BENCHMARKS
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.named_options import parse_option

_BENCHMARK = flags.DEFINE_enum("benchmark", "parts_world", BENCHMARKS.names, "Which images.")
_DATA_DIR = flags.DEFINE_string("data_dir", None, "Folder of the benchmark.")
_SUBSET = flags.DEFINE_string("subset", None, "tune or report: a half of pf_willow.")
_FEATURES = flags.DEFINE_list(
    "features", ["anchornet"], f"Descriptors, of {', '.join(DESCRIPTORS.names)}."
)
_MATCHER = flags.DEFINE_enum("matcher", "hough", MATCHERS.names, "The matcher.")
_REFERENCES = flags.DEFINE_list("references", ["1", "2", "5"], "Numbers of references.")
_DRAWS = flags.DEFINE_integer("draws", 2, "How often references are drawn for a target.", 1)
_IMAGES = flags.DEFINE_integer("images", 12, "At most this many images of a class; 0 for all.", 0)
_MASKS = flags.DEFINE_bool("masks", False, "Also carry the masks of parts.")
_MIRROR = flags.DEFINE_bool("mirror", True, "Also try references mirrored.")
_SUGGESTED = flags.DEFINE_bool("suggested", True, "Also take the references that are suggested.")
_SEED = flags.DEFINE_integer("seed", 0, "Seed of the draws.")
_OUTPUT = flags.DEFINE_string("output", "runs/transfer", "Folder of the figures.")
_OPTION = flags.DEFINE_multi_string(
    "option", [], "NAME=VALUE, an option of the descriptor or the matcher. May be repeated."
)


def main(argv):
    program.flags_only(argv)
    counts = _counts()
    options = dict(parse_option(text) for text in _OPTION.value)
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import pathlib

    from anchornet_tf.matchers.matcher import Matcher
    from anchornet_tf.runner.transfer_scores import TransferTrial
    from anchornet_tf.utils import files

    sets = _sets(max(counts))
    figures = {}
    for features in _FEATURES.value:
        # SIFT at every pixel is far finer than any grid that votes are counted on.
        own = {"step": 4} if features == "sift" and "step" not in options else {}
        matcher = Matcher(features, _MATCHER.value, **own, **options)
        trial = TransferTrial(sets, matcher, _MASKS.value, _MIRROR.value)
        for count in counts:
            for name, arguments in _variants(count).items():
                points, overlaps = trial.scores(count, _DRAWS.value, _SEED.value, **arguments)
                label = f"{features}, {name}"
                figures[label] = points.summary() | (
                    {"IoU": float(overlaps.mean())} if len(overlaps) else {}
                )
                texts = [f"{key} {value:.3f}" for key, value in figures[label].items()]
                print(f"{label}: {', '.join(texts)}", flush=True)
    folder = pathlib.Path(files.make_folder(_OUTPUT.value))
    with files.atomic_file(folder / "transfer.json") as temporary:
        temporary.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"Figures are in {folder / 'transfer.json'}")


def _counts() -> list[int]:
    given = _REFERENCES.value
    if not given or not all(text.isdecimal() and int(text) > 0 for text in given):
        raise ValueError(
            "--references must be positive numbers, such as 1,2,5. "
            f"Received: {','.join(given) or 'nothing'}"
        )
    return [int(text) for text in given]


def _variants(count: int) -> dict[str, dict]:
    word = "reference" if count == 1 else "references"
    variants = {f"{count} {word}": {}}
    if count > 1:
        variants[f"{count} {word}, the most similar alone"] = {"asked": 1}
    if _SUGGESTED.value:
        variants[f"{count} {word}, suggested"] = {"suggested": True}
    return variants


def _sets(most_references):
    """Returns the annotated images of each class that has enough, so that all rows share them."""
    options = {"subset": _SUBSET.value} if _SUBSET.value else {}
    benchmark = BENCHMARKS.create(_BENCHMARK.value, data_dir=_DATA_DIR.value, **options)
    sets = {}
    for annotation in benchmark.annotations().values():
        sets.setdefault(annotation.class_name, []).append(annotation)
    most = _IMAGES.value or None
    sets = {name: images[:most] for name, images in sets.items()}
    kept = {name: images for name, images in sets.items() if len(images) > most_references}
    if not kept:
        raise ValueError(
            f"Expected a class of more than {most_references} images, for as many references and a "
            f"target. Received: {max(map(len, sets.values()))} at most"
        )
    if left_out := sorted(sets.keys() - kept.keys()):
        print(f"Left out, too few images for {most_references} references: {', '.join(left_out)}")
    return kept


if __name__ == "__main__":
    program.run(main)
