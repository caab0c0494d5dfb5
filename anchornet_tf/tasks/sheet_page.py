"""The page of a report: one HTML file that needs no other files and no network."""

import base64
import hashlib
import html
import math
from collections.abc import Iterator

from anchornet_tf.tasks.sheet_cards import BINS, Card, Sheet
from anchornet_tf.tasks.sheet_drawing import score_color
from anchornet_tf.tasks.sheet_style import SCRIPT, STYLE

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
"""

_FILTER = """<div class="box filter" id="filter" hidden>
<label>Name contains <input type="search" id="name"></label>
<label>Score at most <input type="range" id="most" min="0" max="1" step="0.01" value="1">
<output id="limit">1.00</output></label>
<output id="count"></output>
</div>
"""

_DISC = (
    '<svg width="14" height="14"><circle cx="7" cy="7" r="5" fill="{fill}" stroke="#1b1f24"/></svg>'
)
_CROSS = (
    '<svg width="14" height="14"><g fill="none" stroke-linecap="square">'
    '<path d="M3 3 11 11M11 3 3 11" stroke="#1b1f24" stroke-width="4"/>'
    '<path d="M3 3 11 11M11 3 3 11" stroke="#fff" stroke-width="1.5"/></g></svg>'
)
_SQUARE = (
    '<svg width="14" height="14"><rect x="1" y="1" width="12" height="12" fill="{fill}" '
    'fill-opacity=".35" stroke="{fill}" stroke-width="2"/></svg>'
)
_STOPS = 16


def page(sheet: Sheet, title: str) -> Iterator[str]:
    """Gives the page, piece by piece.

    Args:
        sheet: What it says.
        title: str, its heading.
    """
    # Even if a name found its way into the page unescaped, no script but ours would run.
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(STYLE)}'; "
        f"script-src '{_hash(SCRIPT)}'; base-uri 'none'; form-action 'none'"
    )
    yield _HEAD.format(policy=policy, title=html.escape(title), style=STYLE)
    yield '<div class="top">\n'
    yield _numbers(sheet)
    yield _histogram(sheet)
    yield _legend(sheet)
    yield "</div>\n"
    if sheet.images:
        yield _FILTER
        yield "<h2>Least sure first</h2>\n"
        if sheet.others:
            yield (
                f"<p>The {len(sheet.least_sure):,} least sure of {sheet.images:,} images; "
                "the others are listed below.</p>\n"
            )
        yield from _cards(sheet.least_sure)
    if sheet.others:
        yield (
            f"<details><summary>The {len(sheet.others):,} surer images</summary>\n"
            "<table><thead><tr><th>Image</th><th>Score</th></tr></thead><tbody>\n"
        )
        for name, score in sheet.others:
            yield (
                f"<tr {_data(name, score)}><td><bdi>{html.escape(name)}</bdi></td>"
                f"<td>{_number(score)}</td></tr>\n"
            )
        yield "</tbody></table></details>\n"
    if sheet.references:
        yield "<h2>References</h2>\n<p>These were marked by a person.</p>\n"
        yield from _cards(sheet.references)
    if sheet.images:
        yield f"<script>{SCRIPT}</script>\n"
    yield "</body>\n</html>\n"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _color(score: float | None) -> str:
    return "#{:02x}{:02x}{:02x}".format(*score_color(score))


def _number(score: float | None) -> str:
    return "–" if score is None or math.isnan(score) else f"{score:.2f}"


def _data(name: str, score: float) -> str:
    value = 0 if math.isnan(score) else score
    return f'data-name="{html.escape(name.lower())}" data-score="{value:.4f}"'


def _cards(cards: list[Card]) -> Iterator[str]:
    yield '<div class="cards">\n'
    for card in cards:
        is_reference = card.score is None
        data = "" if is_reference else f" {_data(card.name, card.score)}"
        picture = base64.b64encode(card.jpeg).decode()
        score = "" if is_reference else f'<span class="score">{_number(card.score)}</span>'
        name = html.escape(card.name)
        note = f'<div class="note">{html.escape(card.note)}</div>' if card.note else ""
        yield (
            f'<figure{data}><img loading="lazy" alt="{name}" width="{card.size[0]}" '
            f'height="{card.size[1]}" src="data:image/jpeg;base64,{picture}">'
            f"{'' if is_reference else _bar(card.score)}"
            f'<figcaption><div class="line"><span class="name"><bdi>{name}</bdi></span>{score}'
            f"</div>{note}</figcaption></figure>\n"
        )
    yield "</div>\n"


def _bar(score: float) -> str:
    share = 0 if math.isnan(score) else 100 * min(max(score, 0), 1)
    return (
        '<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none">'
        f'<rect width="100" height="1" fill="#d7dde3"/>'
        f'<rect width="{share:.1f}" height="1" fill="{_color(score)}"/></svg>'
    )


def _numbers(sheet: Sheet) -> str:
    def share(part: int, whole: int) -> str:
        return f" <small>{part / whole:.0%}</small>" if whole else ""

    limit = f"{sheet.threshold:.2f}"
    below = sheet.images - sheet.images_above
    rows = (
        ("images", f"{sheet.images:,}"),
        (f"images below {limit}", f"{below:,}{share(below, sheet.images)}"),
        ("points", f"{sheet.points:,}"),
        (
            f"points ≥ {limit}",
            f"{sheet.points_above:,}{share(sheet.points_above, sheet.points)}",
        ),
        ("references", f"{len(sheet.references):,}"),
        ("names of points", f"{len(sheet.names.points):,}"),
    )
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)
    return f'<dl class="box numbers">{cells}</dl>\n'


def _histogram(sheet: Sheet) -> str:
    what = "points" if sheet.points else "images"
    width, height, base = 400, 130, 105
    most, step = max(1, int(sheet.counts.max())), 400 / BINS
    bars = []
    for n, count in enumerate(sheet.counts.tolist()):
        tall = (base - 14) * count / most
        low, high = n / BINS, (n + 1) / BINS
        bars.append(
            f'<rect x="{n * step + 1:.1f}" y="{base - tall:.1f}" width="{step - 2:.1f}" '
            f'height="{tall:.1f}" fill="{_color((low + high) / 2)}" stroke="#1b1f24" '
            f'stroke-opacity=".35"><title>{low:.2f} to {high:.2f}: {count:,} {what}</title></rect>'
        )
    at = width * min(max(sheet.threshold, 0), 1)
    ticks = "".join(
        f'<text x="{x * width}" y="{height - 8}" text-anchor="{anchor}">{x:g}</text>'
        for x, anchor in ((0, "start"), (0.25, "middle"), (0.5, "middle"), (0.75, "middle"))
    )
    return (
        f'<div class="box histogram"><p class="caption">Scores of {what} '
        f"(tallest bar: {int(sheet.counts.max()):,}; dashed: {sheet.threshold:.2f})</p>"
        f'<svg viewBox="0 0 {width} {height}" role="img" font-size="12" fill="#57606a">'
        f"{''.join(bars)}"
        f'<line x1="0" x2="{width}" y1="{base}" y2="{base}" stroke="#57606a"/>'
        f'<line x1="{at}" x2="{at}" y1="4" y2="{base}" stroke="#1b1f24" stroke-width="1.5" '
        'stroke-dasharray="4 3"/>'
        f'{ticks}<text x="{width}" y="{height - 8}" text-anchor="end">1</text></svg></div>\n'
    )


def _legend(sheet: Sheet) -> str:
    stops = "".join(
        f'<rect x="{n * 200 / _STOPS}" width="{200 / _STOPS + 0.5}" height="12" '
        f'fill="{_color((n + 0.5) / _STOPS)}"/>'
        for n in range(_STOPS)
    )
    points = "".join(
        f"<li><b>{number}</b><bdi>{html.escape(name)}</bdi></li>"
        for name, number in sheet.names.points.items()
    )
    regions = "".join(
        f"<li>{_SQUARE.format(fill='#{:02x}{:02x}{:02x}'.format(*color))}"
        f"<bdi>{html.escape(name)}</bdi></li>"
        for name, color in sheet.names.regions.items()
    )
    return (
        '<div class="box legend"><svg class="scale" viewBox="0 0 200 30" font-size="11" '
        f'preserveAspectRatio="xMinYMid" fill="#1b1f24">{stops}<text y="26">unsure 0</text>'
        '<text x="200" y="26" text-anchor="end">1 sure</text></svg><ul class="keys">'
        f"<li>{_DISC.format(fill=_color(0.75))}a point</li><li>{_CROSS}hidden</li>"
        f"<li>{_DISC.format(fill=_color(None))}set by a person</li></ul>"
        + (f'<ul class="keys">{points}</ul>' if points else "")
        + (f'<ul class="keys">{regions}</ul>' if regions else "")
        + "</div>\n"
    )
