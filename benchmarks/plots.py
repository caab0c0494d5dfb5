"""How cost grows, as a picture."""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from benchmarks.results import Curve

_PANEL_INCHES = (4.4, 3.4)
_COLUMNS = 3
_MOST_MARKERS = 10


def draw(curves: Sequence[Curve]) -> Figure:
    """Returns a figure with one panel per curve: medians, with quartiles as bands."""
    columns = min(_COLUMNS, len(curves))
    rows = math.ceil(len(curves) / columns)
    size = (columns * _PANEL_INCHES[0], rows * _PANEL_INCHES[1])
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, curve in zip(panels, curves, strict=False):
        _draw_curve(panel, curve)
    for panel in panels[len(curves) :]:
        panel.set_axis_off()
    return figure


def _draw_curve(panel, curve: Curve) -> None:
    for line in curve.lines:
        spreads = line.spreads
        marker = "o" if len(line.x) <= _MOST_MARKERS else None
        (drawn,) = panel.plot(line.x, [s.median for s in spreads], marker=marker, label=line.name)
        panel.fill_between(
            line.x,
            [s.low for s in spreads],
            [s.high for s in spreads],
            color=drawn.get_color(),
            alpha=0.2,
        )
    if curve.logarithmic:
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        places = sorted({x for line in curve.lines for x in line.x})
        panel.set_xticks(places, [f"{x:g}" for x in places])
        panel.xaxis.minorticks_off()
    else:
        # From zero, so that what is flat looks flat.
        panel.set_ylim(0, 1.1 * max(s.high for line in curve.lines for s in line.spreads))
    panel.set(title=curve.title, xlabel=curve.x_label, ylabel=curve.y_label)
    panel.grid(alpha=0.3)
    panel.legend(fontsize="small")
