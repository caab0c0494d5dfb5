"""Tables of an evaluation: for the terminal, Markdown, CSV and JSON."""

import csv
import io
import json
import math
import os
import pathlib

from anchornet_tf.runner.results import Results, Row
from anchornet_tf.runner.scores import PER_POINT
from anchornet_tf.utils import files

_MAX_GROUP_COLUMNS = 24  # More groups are shown as a matrix, or only in the CSV file.


def write_tables(results: Results, folder: str | os.PathLike) -> list[pathlib.Path]:
    """Writes `results.json`, `table.csv` and `table.md` into a folder.

    Returns:
        The paths of the files.
    """
    folder = pathlib.Path(folder)
    texts = {
        "results.json": json.dumps(results.as_json(), indent=1, allow_nan=False) + "\n",
        "table.csv": csv_text(results),
        "table.md": markdown(results),
    }
    for name, text in texts.items():
        with files.atomic_file(folder / name) as temporary:
            temporary.write_text(text)
    return [folder / name for name in texts]


def heading(results: Results) -> str:
    """Returns one line that describes the figures."""
    benchmark = results.benchmark
    parts = [f"{benchmark.name}: {len(benchmark.pairs)} pairs"]
    if benchmark.protocol.average == "groups":
        parts.append(f"mean over {len(results.group_names)} groups")
    else:
        parts.append("mean over pairs")
    if any(name.startswith("PCK") for name in results.score_names):
        parts.append(f"PCK per image, normalised by {results.normalize_by}")
    intervals = results.configuration.get("intervals")
    return ", ".join(parts + ([intervals] if intervals else []))


def terminal(results: Results) -> str:
    """Returns heading, notes, table and differences as text; PCK per point is only in the files."""
    names = [name for name in results.score_names if not name.endswith(PER_POINT)]
    table = _summary(results, names)
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    lines = [
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]
    notes = [f"Note: {note}." for note in results.benchmark.notes]
    return "\n".join([heading(results), *notes, *lines, *_verdicts(results)])


def markdown(results: Results) -> str:
    """Returns the summary, one table by group per score, and the differences between rows."""
    blocks = [f"# {results.benchmark.name}", heading(results) + "."]
    blocks += [f"Note: {note}." for note in results.benchmark.notes]
    blocks.append(_markdown_table(_summary(results, results.score_names)))
    groups = results.group_names
    if 1 < len(groups) <= _MAX_GROUP_COLUMNS:
        for name in results.score_names:
            rows = [["matcher", "features", *groups, "mean"]]
            for row in results.rows:
                if name in row.figures:
                    figure = row.figures[name]
                    values = [_number(figure.groups[group], name) for group in groups]
                    rows.append([row.matcher, row.features, *values, _number(figure.value, name)])
            blocks += [f"## {name}", _markdown_table(rows)]
    verdicts = _verdicts(results)
    if verdicts:
        blocks += ["## Differences on the same pairs", "\n".join(f"- {line}" for line in verdicts)]
    return "\n\n".join(blocks) + "\n"


def csv_text(results: Results) -> str:
    """Returns one line per row, score and group; the group `all` has the figures of the tables."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["matcher", "features", "score", "group", "value", "low", "high"])
    for row in results.rows:
        for name, figure in row.figures.items():
            ends = figure.interval or ("", "")
            writer.writerow([row.matcher, row.features, name, "all", _cell(figure.value), *ends])
            for group, value in figure.groups.items():
                writer.writerow([row.matcher, row.features, name, group, _cell(value), "", ""])
    return stream.getvalue()


def _summary(results: Results, names: list[str]) -> list[list[str]]:
    return [["matcher", "features", *names]] + [
        [row.matcher, row.features, *(_entry(row, name) for name in names)] for row in results.rows
    ]


def _entry(row: Row, name: str) -> str:
    if name not in row.figures:
        return ""
    figure = row.figures[name]
    text = _number(figure.value, name)
    if figure.interval is None:
        return text
    low, high = (_number(end, name) for end in figure.interval)
    return f"{text} [{low}, {high}]"


def _verdicts(results: Results) -> list[str]:
    """Returns one line per two rows and score: whether they differ by more than the noise."""
    lines = []
    for difference in results.differences:
        if difference.interval is None or difference.score.endswith(PER_POINT):
            continue
        low, high = (f"{end:+.3f}" for end in difference.interval)
        verdict = "outside" if difference.is_outside_noise else "within"
        lines.append(
            f"{difference.better} - {difference.than}, {difference.score}: {difference.value:+.3f} "
            f"[{low}, {high}], {verdict} the noise"
        )
    return lines


def _number(value: float, name: str) -> str:
    if not math.isfinite(value):
        return "-"
    # The area under mIoU@k goes up to 99, all other scores to 1.
    return f"{value:.1f}" if "mIoU" in name else f"{value:.3f}"


def _cell(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""


def _markdown_table(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    ruler = "|" + "|".join("---" for _ in rows[0]) + "|"
    return "\n".join([lines[0], ruler, *lines[1:]])
