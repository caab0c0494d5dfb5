"""Tables and files of a run of the benchmarks."""

import dataclasses
import json
import os
import pathlib
from collections.abc import Sequence

from anchornet_tf.utils import files
from benchmarks import machine, plots
from benchmarks.results import Curve, Results, Row, Spread

_HEADER = ("work", "median [quartiles]", "mm", "goal", "", "reference", "note")
_DIGITS = 3
_MOST_PLACES = 10


def cells(row: Row) -> tuple[str, ...]:
    """Returns the entries of a row of the table."""
    matmuls = row.matmuls
    return (
        row.name,
        f"{figure(row.spread)} {row.unit}",
        "" if matmuls is None or row.unit == "mm" else f"{matmuls:.{_DIGITS}g}",
        str(row.goal or ""),
        row.verdict,
        row.reference,
        row.note,
    )


def figure(spread: Spread) -> str:
    """Returns the median, with quartiles where they differ from it."""
    median, low, high = (f"{value:.{_DIGITS}g}" for value in dataclasses.astuple(spread))
    return median if low == median == high else f"{median} [{low}, {high}]"


def text(results: Results) -> str:
    """Returns rows and curves for the terminal, in columns."""
    blocks = []
    if results.rows:
        blocks.append(_columns([_HEADER, *map(cells, results.rows)]))
    for curve in results.curves:
        blocks.append(f"{curve.title} ({curve.y_label})\n{_columns(_curve_cells(curve))}")
    return "\n".join(blocks)


def _columns(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(results: Results, description: dict) -> str:
    """Returns the machine, the table of all rows and a table for each curve, in Markdown."""
    blocks = [f"Measured on {machine.summary(description)}."]
    if results.rows:
        blocks.append(_markdown_table([_HEADER, *map(cells, results.rows)]))
    for curve in results.curves:
        table = _markdown_table(_curve_cells(curve))
        blocks.append(f"**{curve.title}** ({curve.y_label})\n\n{table}")
    return "\n\n".join(blocks) + "\n"


def _curve_cells(curve: Curve) -> list[list[str]]:
    """Returns a header with the places of a curve, and one row per line."""
    places = sorted({x for line in curve.lines for x in line.x})
    # A long curve is shown at every so many of its places.
    places = places[:: -(-len(places) // _MOST_PLACES)]
    rows = [[curve.x_label, *(f"{x:g}" for x in places)]]
    for line in curve.lines:
        values = dict(zip(line.x, line.spreads, strict=True))
        rows.append([line.name, *(figure(values[x]) if x in values else "" for x in places)])
    return rows


def _markdown_table(lines: Sequence[Sequence[str]]) -> str:
    header, *rows = lines
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def document(results: Results, description: dict, settings) -> dict:
    """Returns everything, every sample included, as JSON values."""
    rows = [
        {**dataclasses.asdict(row), "median": row.spread.median, "verdict": row.verdict}
        for row in results.rows
    ]
    return {
        "machine": description,
        "settings": dataclasses.asdict(settings),
        "rows": rows,
        "curves": [dataclasses.asdict(curve) for curve in results.curves],
    }


def write(
    results: Results, description: dict, settings, folder: str | os.PathLike
) -> list[pathlib.Path]:
    """Writes `bench.json`, `bench.md` and, if there are curves, `growth.png`; returns the paths."""
    folder = pathlib.Path(folder)
    texts = {
        "bench.json": json.dumps(document(results, description, settings), indent=1) + "\n",
        "bench.md": markdown(results, description),
    }
    for name, text in texts.items():
        with files.atomic_file(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    written = [folder / name for name in texts]
    if results.curves:
        picture = folder / "growth.png"
        with files.atomic_file(picture) as temporary:
            plots.draw(results.curves).savefig(temporary, dpi=120)
        written.append(picture)
    return written
