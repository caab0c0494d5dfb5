"""Writes a filled table: Markdown, CSV and a picture."""

import csv
import io
import math
import os
import pathlib
import textwrap

from anchornet_tf.runner.paper.drawing import draw_table
from anchornet_tf.runner.paper.markdown import markdown
from anchornet_tf.runner.paper.measured import Entry, MeasuredTable
from anchornet_tf.utils import files

_HEADER = ("table", "row", "matcher", "descriptor", "column", "ours", "low", "high", "paper")


def write_table(table: MeasuredTable, folder: str | os.PathLike) -> MeasuredTable:
    """Writes `table_N.md`, `table_N.csv` and `table_N.png` into a folder and returns the table."""
    stem = pathlib.Path(folder) / f"table_{table.published.number}"
    for suffix, text in ((".md", markdown(table)), (".csv", csv_text(table))):
        with files.atomic_file(stem.with_suffix(suffix)) as temporary:
            temporary.write_text(text)
    with files.atomic_file(stem.with_suffix(".png")) as temporary:
        draw_table(table).savefig(temporary, dpi=130)
    return table


def csv_text(table: MeasuredTable) -> str:
    """Returns one line per row and column, and per pair of families in table 5."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_HEADER, "pairs", "reason"])
    for row in table.rows:
        method = row.method
        start = [table.published.number, method.label, method.matcher, method.descriptor]
        if row.mean is not None:
            writer.writerow([*start, "mean", *_values(row.mean)])
        for column, entry in row.entries.items():
            writer.writerow([*start, column, *_values(entry)])
        if table.published.number == 5:
            for group, value in row.groups.items():
                name = f"{table.published.columns[-1]}, {group}"
                writer.writerow([*start, name, _number(value), "", "", "", "", ""])
    return stream.getvalue()


def terminal(table: MeasuredTable) -> str:
    """Returns the number, the title and a line per row: our mean and the paper's."""
    published = table.published
    lines = [f"Table {published.number}: {published.title}"]
    width = max((len(row.method.label) for row in table.rows), default=0)
    for row in table.rows:
        named = {"mean": row.mean} if row.mean is not None else row.entries
        texts = [f"{name} {_short(entry)}" for name, entry in named.items()]
        lines.append(f"  {row.method.label.ljust(width)}  {', '.join(texts)}")
    return "\n".join(lines)


def _short(entry: Entry) -> str:
    if not math.isfinite(entry.value):
        # The files have all of the reason.
        short = textwrap.shorten(entry.reason.split(":")[0], 60, placeholder=" ...")
        return f"- (paper {entry.paper:.2f}), not run: {short}"
    return f"{entry.value:.3f} (paper {entry.paper:.2f})"


def _values(entry: Entry) -> list:
    low, high = entry.interval or (math.nan, math.nan)
    paper = math.nan if entry.paper is None else entry.paper
    numbers = [_number(value) for value in (entry.value, low, high, paper)]
    return [*numbers, entry.num_pairs, entry.reason]


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""
