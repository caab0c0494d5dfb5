"""A filled table as Markdown, in the paper's layout."""

import math

from anchornet_tf.runner.paper.measured import Entry, MeasuredRow, MeasuredTable
from anchornet_tf.runner.paper.order import LEVEL, Comparison, Order, orders_of

_NOTHING = "–"


def markdown(table: MeasuredTable) -> str:
    """Returns the table, why figures are missing, the matrices and the order of the rows."""
    published = table.published
    reasons = _Reasons()
    blocks = [
        f"# Table {published.number}: {published.title}",
        f"Ours ({table.data or 'no data'}, {table.num_pairs} pairs), and in parentheses the "
        f"paper's ({published.data}).",
        *(f"- {_sentence(note)}" for note in table.notes),
        _grid(_as_in_paper(table, reasons)),
    ]
    if published.means and table.rows:
        blocks.append(
            "The mean is over the columns that have a figure, the paper's over the same columns."
        )
    blocks += _not_run(table, reasons)
    blocks += _matrices(table)
    blocks += [line for order in orders_of(table) for line in _order(order)]
    return _joined(blocks)


class _Reasons:
    """Numbers the reasons why figures are missing."""

    def __init__(self):
        self._numbers: dict[str, int] = {}

    def mark(self, reason: str) -> str:
        """Returns the mark that stands in the table."""
        return f"[{self._numbers.setdefault(reason, len(self._numbers) + 1)}]"

    def lines(self) -> list[str]:
        """Returns a line per reason."""
        return [f"{number}. {_sentence(reason)}" for reason, number in self._numbers.items()]


def _not_run(table: MeasuredTable, reasons: _Reasons) -> list[str]:
    lines = [f"- {', '.join(names)}: {reason}." for reason, names in table.empty_columns().items()]
    return ["## Not run", *reasons.lines(), *lines] if reasons.lines() or lines else []


def _as_in_paper(table: MeasuredTable, reasons: _Reasons) -> list[list[str]]:
    published = table.published
    if published.number == 3:
        return _by_matcher(table, reasons)
    first = ["mean"] if published.means else []
    empty = [name for names in table.empty_columns().values() for name in names]
    # A table without any figure is shown as it is in the paper.
    columns = [name for name in published.columns if name not in empty or not table.columns]
    lines = [["", *first, *columns]]
    for row in table.rows:
        figures = [_text(row.mean, reasons, True)] if published.means else []
        # With a mean, intervals of single columns are in the CSV file.
        with_interval = not published.means
        figures += [_text(row.entries[name], reasons, with_interval) for name in columns]
        lines.append([row.method.label, *figures])
    return lines


def _by_matcher(table: MeasuredTable, reasons: _Reasons) -> list[list[str]]:
    """Returns a line per matcher and a column per descriptor."""
    rows = {(row.method.matcher_label, row.method.descriptor_label): row for row in table.rows}
    matchers = list(dict.fromkeys(matcher for matcher, _ in rows))
    descriptors = list(dict.fromkeys(descriptor for _, descriptor in rows))
    lines = [["", *descriptors]]
    for matcher in matchers:
        figures = []
        for descriptor in descriptors:
            row = rows.get((matcher, descriptor))
            entry = next(iter(row.entries.values())) if row else None
            figures.append(_text(entry, reasons, True) if entry else "")
        lines.append([matcher, *figures])
    return lines


def _text(entry: Entry, reasons: _Reasons, with_interval: bool) -> str:
    paper = f" ({entry.paper:.2f})" if entry.paper is not None else ""
    if not math.isfinite(entry.value):
        return f"{_NOTHING} {reasons.mark(entry.reason)}{paper}"
    interval = ""
    if with_interval and entry.interval is not None:
        interval = " [{:.3f}, {:.3f}]".format(*entry.interval)
    return f"{entry.value:.3f}{interval}{paper}"


def _matrices(table: MeasuredTable) -> list[str]:
    if table.published.number != 5:
        return []
    blocks = []
    for row in table.rows:
        if not row.groups:
            continue
        names, values = matrix_of(row)
        lines = [["target \\ source", *names]]
        for target in names:
            cells = [values.get((source, target), math.nan) for source in names]
            lines.append([target, *(_plain(value) for value in cells)])
        title = f"## {row.method.label}: {table.published.columns[-1]} by family"
        blocks += [title, _grid(lines)]
    return blocks


def matrix_of(row: MeasuredRow) -> tuple[list[str], dict[tuple[str, str], float]]:
    """Returns the names of families and the figure of each (source, target)."""
    values = {tuple(group.split(">")): value for group, value in row.groups.items()}
    return sorted({name for pair in values for name in pair}), values


def _order(order: Order) -> list[str]:
    if len(order.ranked) < 2 and not order.descriptors:
        return []
    blocks = [f"## Order of the rows, by {order.title}"]
    if len(order.ranked) > 1:
        lines = [["rank, paper", "rank, here", "row", "paper", "here"]]
        for label, paper, ours, rank, own in order.ranked:
            lines.append([f"{rank:g}", f"{own:g}", label, f"{paper:.3f}", f"{ours:.3f}"])
        blocks.append(_grid(lines))
    if order.correlation is not None:
        blocks.append(f"Spearman's rank correlation of the two orders: {order.correlation:+.2f}.")
    if order.left_out:
        blocks.append(f"Not ranked, for want of columns: {', '.join(order.left_out)}.")
    if order.neighbors:
        blocks += ["### Rows that follow each other in the paper", _summary(order.neighbors)]
        blocks += [f"- {line}" for line in map(comparison_text, order.neighbors)]
    if order.descriptors:
        blocks += ["### Descriptors with the same matcher", _summary(order.descriptors)]
        blocks += [f"- {line}" for line in map(comparison_text, order.descriptors)]
    return blocks


def _summary(comparisons: list[Comparison]) -> str:
    told = [one for one in comparisons if not one.is_level]
    agree = [one for one in told if one.agrees]
    against = [one for one in told if not one.agrees]
    sure = [sum(one.is_outside_noise for one in some) for some in (agree, against)]
    return (
        f"Of {len(comparisons)}, the paper tells {len(told)} apart (by {LEVEL:g} or more). "
        f"Here {len(agree)} of these agree, {sure[0]} outside the noise, and {len(against)} do "
        f"not, {sure[1]} outside the noise."
    )


def comparison_text(one: Comparison) -> str:
    """Returns one line: what the paper has, and what we have."""
    paper = "level" if one.is_level else "yes" if one.paper > 0 else "no"
    here = "yes" if one.ours > 0 else "no"
    interval = ""
    if one.interval is not None:
        verdict = "outside" if one.is_outside_noise else "within"
        interval = " [{:+.3f}, {:+.3f}], {} the noise".format(*one.interval, verdict)
    return (
        f"{one.upper} above {one.lower}: paper {paper} ({one.paper:+.3f}), "
        f"here {here} ({one.ours:+.3f}{interval})"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".removesuffix(".") + "."


def _plain(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else _NOTHING


def _grid(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join("---" for _ in rows[0]) + "|", *lines[1:]])


def _joined(blocks: list[str]) -> str:
    """Joins blocks by empty lines, items of one list by none."""
    text = ""
    for before, block in zip(["", *blocks], blocks, strict=False):
        is_item = block.startswith("- ") and before.startswith("- ")
        is_item |= block[:1].isdigit() and before[:1].isdigit()
        text += ("\n" if is_item else "\n\n") + block if text else block
    return text + "\n"
