"""A filled table as a picture: means with intervals, and every figure above the paper's."""

import math

import numpy as np
from matplotlib.figure import Figure

from anchornet_tf.runner.paper.markdown import matrix_of
from anchornet_tf.runner.paper.measured import Entry, MeasuredTable

_OURS, _PAPER = "#1f5fa8", "#c2571a"
_MATRICES_ACROSS = 4


def draw_table(table: MeasuredTable) -> Figure:
    """Draws a table.

    Args:
        table: MeasuredTable.

    Returns:
        The figure. On the left, our mean of each row with its interval beside the paper's. On the
        right, our figure of each row and column with the paper's below; table 5 has matrices of
        families there instead.
    """
    if table.published.number == 5:
        return _with_matrices(table)
    if not table.published.means:
        figure = Figure(figsize=(6.5, 1.9 + 0.36 * len(table.rows)), layout="constrained")
        _dots(figure.subplots(), table, table.published.columns[0])
        _title(figure, table)
        return figure
    columns = table.columns or table.published.columns
    figure = Figure(
        figsize=(6.6 + 0.56 * len(columns), 2.4 + 0.38 * len(table.rows)), layout="constrained"
    )
    left, right = figure.subplots(
        1, 2, sharey=True, width_ratios=[3.2, 0.56 * len(columns)], squeeze=True
    )
    _dots(left, table, None)
    _cells(right, table, columns)
    _title(figure, table)
    return figure


def _title(figure: Figure, table: MeasuredTable) -> None:
    published = table.published
    lines = [
        f"Table {published.number}: {published.title}",
        f"here: {table.data or 'no data'}, {table.num_pairs} pairs; paper: {published.data}",
    ]
    if published.means:
        lines.append("on the right, the paper's figure below ours; darker is better in a column")
    figure.suptitle("\n".join(lines), fontsize=10)


def _dots(axes, table: MeasuredTable, column: str | None) -> None:
    """Draws a line per row: ours with its interval, and the paper's."""
    for place, row in enumerate(table.rows):
        entry = row.mean if column is None else row.entries[column]
        if math.isfinite(entry.value):
            _bar(axes, place, entry)
        if entry.paper is not None:
            # The paper's mean is drawn for rows that were not run, too.
            axes.plot(entry.paper, place, marker="D", ms=5, mfc="none", mec=_PAPER, ls="none")
    axes.plot([], [], marker="o", ms=5, color=_OURS, ls="-", label="here, 95 % interval")
    axes.plot([], [], marker="D", ms=5, mfc="none", mec=_PAPER, ls="none", label="paper")
    axes.set_yticks(range(len(table.rows)), [row.method.label for row in table.rows], fontsize=8)
    axes.set_ylim(len(table.rows) - 0.5, -0.5)
    axes.set_xlabel("mean of the columns" if column is None else column, fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=7, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _bar(axes, place: int, entry: Entry) -> None:
    if entry.interval is not None:
        axes.plot(entry.interval, [place, place], color=_OURS, lw=1.6)
    axes.plot(entry.value, place, marker="o", ms=5, color=_OURS, ls="none")


def _cells(axes, table: MeasuredTable, columns) -> None:
    """Draws every figure on its colour, relative to the other rows of its column."""
    values = np.array([[row.entries[name].value for name in columns] for row in table.rows], float)
    values = values.reshape(len(table.rows), len(columns))
    # Columns differ far more than rows, so a colour says how a row does within its column.
    shown = np.full(values.shape, np.nan)
    for column in range(len(columns)):
        known = values[np.isfinite(values[:, column]), column]
        if len(known):
            spread = np.ptp(known) or 1.0
            shown[:, column] = (values[:, column] - known.min()) / spread
    axes.imshow(shown, cmap="Blues", vmin=0, vmax=3, aspect="auto")
    for (down, across), value in np.ndenumerate(values):
        paper = table.rows[down].entries[columns[across]].paper
        text = f"{value:.2f}" if math.isfinite(value) else "–"
        axes.text(across, down - 0.17, text, ha="center", va="center", fontsize=7.5)
        axes.text(
            across, down + 0.25, f"{paper:.2f}", ha="center", va="center", fontsize=6, color=_PAPER
        )
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right", fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _with_matrices(table: MeasuredTable) -> Figure:
    rows = [row for row in table.rows if row.groups]
    lines = math.ceil(len(rows) / _MATRICES_ACROSS)
    height = 1.4 + 0.3 * len(table.rows)
    figure = Figure(figsize=(13, height + 3.6 * lines), layout="constrained")
    whole = figure.subfigures(
        1 + bool(lines), 1, height_ratios=[height, 3.6 * lines][: 1 + bool(lines)]
    )
    parts = np.atleast_1d(whole)
    for axes, column in zip(
        parts[0].subplots(1, 2, sharey=True), table.published.columns, strict=True
    ):
        _dots(axes, table, column)
    if lines:
        largest = max(np.nanmax(list(row.groups.values())) for row in rows) or 1.0
        places = parts[1].subplots(lines, _MATRICES_ACROSS, squeeze=False).ravel()
        for axes, row in zip(places, rows, strict=False):
            _matrix(axes, row, table.published.columns[-1], largest)
        for axes in places[len(rows) :]:
            axes.axis("off")
    _title(figure, table)
    return figure


def _matrix(axes, row, score: str, largest: float) -> None:
    names, found = matrix_of(row)
    values = np.array(
        [[found.get((source, target), np.nan) for source in names] for target in names]
    )
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1.3 * largest)
    if len(names) <= 12:
        for (down, across), value in np.ndenumerate(values):
            if math.isfinite(value):
                color = "white" if value > 0.8 * largest else "black"
                text = f"{value:.2f}"
                axes.text(across, down, text, ha="center", va="center", fontsize=6, color=color)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=6)
    axes.set_yticks(range(len(names)), names, fontsize=6)
    axes.set_xlabel("source", fontsize=7)
    axes.set_ylabel("target", fontsize=7)
    axes.set_title(f"{row.method.label}, {score}", fontsize=8)
