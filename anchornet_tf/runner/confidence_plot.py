"""A plot of what confidences promised against what came true."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from anchornet_tf.metrics.calibration import reliability
from anchornet_tf.runner.confidence_scores import ConfidenceScores


def plot_reliability(measured: Mapping[str, ConfidenceScores]) -> Figure:
    """Draws one line per method: above the diagonal it is too modest, below it too sure.

    Args:
        measured: Scores by the name of the method.

    Returns:
        The figure; the lower panel shows how many keypoints are how sure.
    """
    figure = Figure(figsize=(5.2, 6.2), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    upper.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--")
    for name, scores in measured.items():
        promised, held, counts = reliability(scores.confidence, scores.correct).T
        [line] = upper.plot(promised, held, marker="o", ms=4, label=name)
        centers = [(number + 0.5) / len(counts) for number in range(len(counts))]
        lower.step(centers, counts / counts.sum(), where="mid", color=line.get_color())
    upper.set_ylabel("share of matches that are right")
    upper.set_ylim(0, 1)
    upper.legend(frameon=False, fontsize=9)
    lower.set_xlabel("confidence")
    lower.set_ylabel("share of matches")
    lower.set_xlim(0, 1)
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)
    return figure
