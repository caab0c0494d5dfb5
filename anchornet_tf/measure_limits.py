r"""Measures what limits a descriptor and a matcher: PCK with some of the difficulty removed.

    python -m anchornet_tf.measure_limits
    python -m anchornet_tf.measure_limits --benchmark=pf_willow --data_dir=PF-WILLOW \
        --subset=report --features=anchornet,hc --matcher=nearest,hough

Prints PCK of the matcher as it is, and where both images are cropped to the box of their keypoints
and a quarter more, so that the object's place is known. Then, of the descriptor alone, whether the
true place is the most alike one or among the first two, five and ten that are a tenth of the
object's size apart, and what as many places anywhere would give. --output gets all figures, those
of each class and of each keypoint among them, and a plot.
"""

import json

from absl import flags

from anchornet_tf.command_line import program, trial_flags

_TRIAL = trial_flags.define()
_WORST = flags.DEFINE_integer("worst", 5, "Print so many of the keypoints that fail most.", 0)
_OUTPUT = flags.DEFINE_string("output", "runs/limits", "Folder of the results.")


def main(argv):
    program.flags_only(argv)
    _TRIAL.check()
    # TensorFlow is imported after the flags are parsed, so that --help answers at once.
    import pathlib

    from anchornet_tf.runner import limit_plot, limit_scores
    from anchornet_tf.utils import files

    benchmark = _TRIAL.read()
    for note in benchmark.notes:
        print(note)
    measured, figures = {}, {}
    for label, matcher in _TRIAL.methods():
        scores = measured[label] = limit_scores.measure(benchmark, matcher)
        keypoints = scores.by_keypoint(limit_scores.AS_IT_IS, 0.1)
        figures[label] = {
            "ways": scores.summary(),
            "classes": scores.by_class(limit_scores.AS_IT_IS, 0.1),
            "keypoints": keypoints,
        }
        print(label)
        for way, values in scores.summary().items():
            print(f"  {way}: " + ", ".join(f"{k} {v:.3f}" for k, v in values.items()))
        texts = [f"{name} {value:.2f}" for name, value in figures[label]["classes"].items()]
        print(f"  PCK 0.1 of each class: {'; '.join(texts)}")
        worst = sorted(keypoints, key=keypoints.get)[: _WORST.value]
        if worst:
            print("  least: " + "; ".join(f"{name} {keypoints[name]:.2f}" for name in worst))
    folder = pathlib.Path(files.make_folder(_OUTPUT.value))
    with files.atomic_file(folder / "limits.json") as temporary:
        temporary.write_text(json.dumps(figures, indent=2) + "\n")
    with files.atomic_file(folder / "limits.png") as temporary:
        limit_plot.plot_limits(measured).savefig(temporary, dpi=120)
    print(f"Figures and plot are in {folder}")


if __name__ == "__main__":
    program.run(main)
