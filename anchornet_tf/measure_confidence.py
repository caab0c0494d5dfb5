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

from anchornet_tf.command_line import program, trial_flags

_TRIAL = trial_flags.define()
_CUT_OUTS = flags.DEFINE_integer(
    "cut_outs", 0, "Also match this many drawn pairs per class on each of three backgrounds."
)
_OUTPUT = flags.DEFINE_string("output", "runs/confidence", "Folder of the results.")


def main(argv):
    program.flags_only(argv)
    _TRIAL.check()
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import pathlib

    from anchornet_tf.runner import confidence_plot, confidence_scores
    from anchornet_tf.utils import files

    benchmark = _TRIAL.read()
    for note in benchmark.notes:
        print(note)
    measured, figures = {}, {}
    for label, matcher in _TRIAL.methods():
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


if __name__ == "__main__":
    program.run(main)
