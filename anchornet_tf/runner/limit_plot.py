"""A plot of how much of the difficulty has to be removed until keypoints are right."""

import itertools
from collections.abc import Mapping

from matplotlib.figure import Figure

from anchornet_tf.runner import limit_scores
from anchornet_tf.runner.limit_scores import LimitScores

_MARKERS = ("D", "s", "^", "v", "P", "X")


def plot_limits(measured: Mapping[str, LimitScores], threshold: float = 0.1) -> Figure:
    """Draws PCK over the number of places that may be tried, one line per descriptor.

    Args:
        measured: Scores by the name of the method, "matcher + descriptor".
        threshold: PCK's.

    Returns:
        The figure. Left of the lines: the matcher as it is, and with the object's place known.
    """
    figure = Figure(figsize=(7.6, 4.0), layout="constrained")
    axes = figure.subplots()
    ways = [limit_scores.AS_IT_IS, limit_scores.OBJECT_KNOWN]
    lines = [limit_scores.best_of(places) for places in limit_scores.PLACES]
    positions = list(range(len(ways), len(ways) + len(lines)))
    colors: dict[str, str] = {}
    for (name, scores), marker in zip(measured.items(), itertools.cycle(_MARKERS), strict=False):
        descriptor = name.rpartition(" + ")[2]
        first_time = descriptor not in colors
        color = colors.setdefault(descriptor, f"C{len(colors)}")
        single = [scores.pck(way, threshold) for way in ways]
        axes.plot(single, color=color, marker=marker, ms=7, ls=":", lw=1, label=name)
        if first_time:  # Matchers share the places of their descriptor.
            best = [scores.pck(way, threshold) for way in lines]
            axes.plot(positions, best, color=color, marker="o", ms=5, label=f"places, {descriptor}")
    # Nearly the same for all: grids differ.
    first = next(iter(measured.values()))
    chance = [first.chance(way) for way in first.chances]
    axes.plot(positions, chance, color="0.5", ls="--", lw=1, label="places by chance")
    axes.axvline(len(ways) - 0.5, color="0.85", lw=1)
    axes.set_xticks(range(len(ways) + len(lines)), [*ways, *lines], rotation=20, ha="right")
    axes.set_ylabel(f"share of keypoints within {threshold:g} of the object")
    axes.set_ylim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    return figure
