"""A report for people who check annotations: what is least sure first, as a page and a picture."""

import math
import os
import pathlib
from collections.abc import Iterable

import PIL.Image
import PIL.ImageDraw

from anchornet_tf.tasks.sheet_cards import Card, Sheet, SheetEntry, collect
from anchornet_tf.tasks.sheet_drawing import INK, PALE, font, score_color
from anchornet_tf.tasks.sheet_page import page
from anchornet_tf.utils.files import atomic_file, make_folder

__all__ = ["PAGE", "PICTURE", "SheetEntry", "write_report"]

PAGE = "report.html"
PICTURE = "report.png"
_LEAST_SHOWN = 18
_COLUMNS = 6
_MARGIN, _GAP, _CAPTION, _HEADING, _LEGEND_ROW = 24, 14, 44, 40, 26
_SOFT = (87, 96, 106)
_LINE = (215, 221, 227)
_BACKGROUND = (255, 255, 255)
_SCALE = (220, 14)


def write_report(
    folder: str | os.PathLike,
    entries: Iterable[SheetEntry],
    title: str,
    threshold: float = 0.5,
    max_images: int = 400,
    thumbnail_side: int = 260,
    max_pixels: int | None = None,
) -> pathlib.Path:
    """Writes `report.html`, all in one file, and `report.png`, a contact sheet of some images.

    The page shows the least sure images first, those of a person last, and lists those that are
    surer than the first `max_images`. The picture shows the 18 least sure images and the 6 surest.
    An image that cannot be read is an empty sheet with its name.

    Args:
        folder: path, created if it is absent.
        entries: The images. They may be many: no more than a thumbnail of each is kept, and only
            those that are shown are read.
        title: str, the heading.
        threshold: float, 0..1: scores from which on a point or an image counts as sure.
        max_images: int. How many images the page shows, beside the references.
        thumbnail_side: int, the long side of thumbnails in pixels.
        max_pixels: As in `anchornet_tf.utils.image_io.read_image`.

    Returns:
        The path of the page; the picture is beside it.

    Raises:
        OSError: If the folder cannot be created or written to.
        ValueError: If `threshold`, `max_images` or `thumbnail_side` is out of range.
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"`threshold` must be from 0 to 1. Received: threshold={threshold}")
    if max_images < 1:
        raise ValueError(f"`max_images` must be positive. Received: max_images={max_images}")
    if thumbnail_side < 32:
        raise ValueError(
            f"`thumbnail_side` must be at least 32. Received: thumbnail_side={thumbnail_side}"
        )
    # Before an hour of work and not after it.
    folder = make_folder(folder)
    sheet = collect(entries, threshold, max_images, thumbnail_side, max_pixels)
    with (
        atomic_file(folder / PAGE) as temporary,
        # Names of files need not be text; what is not is replaced.
        open(temporary, "w", encoding="utf-8", errors="replace") as handle,
    ):
        handle.writelines(page(sheet, title))
    with atomic_file(folder / PICTURE) as temporary:
        _picture(sheet, title, thumbnail_side).save(temporary)
    return folder / PAGE


def _picture(sheet: Sheet, title: str, side: int) -> PIL.Image.Image:
    """Draws the contact sheet."""
    least = sheet.least_sure[:_LEAST_SHOWN]
    surest = [card for card in sheet.surest if card not in least]
    parts = [("Least sure", least), ("Surest", surest)]
    if not sheet.images:
        parts = [("References", sheet.references[:_LEAST_SHOWN])]
    parts = [(heading, cards) for heading, cards in parts if cards]
    # A few images alone do not make a narrow column of words.
    columns = min(_COLUMNS, max([3, *(len(cards) for _, cards in parts)]))
    width = 2 * _MARGIN + columns * (side + _GAP) - _GAP
    legend = _legend_rows(sheet, width - 2 * _MARGIN)
    top = _MARGIN + 66 + len(legend) * _LEGEND_ROW + 8
    height = top + sum(_part_height(cards, columns) for _, cards in parts) + _MARGIN
    picture = PIL.Image.new("RGB", (width, height), _BACKGROUND)
    draw = PIL.ImageDraw.Draw(picture)
    _draw_head(draw, sheet, title, width, legend)
    for heading, cards in parts:
        draw.text((_MARGIN, top + 8), heading, INK, font(17, bold=True))
        _draw_cards(picture, draw, cards, columns, side, top + _HEADING)
        top += _part_height(cards, columns)
    return picture


def _draw_head(draw, sheet: Sheet, title: str, width: int, legend) -> None:
    room = width - 2 * _MARGIN - _SCALE[0] - 2 * _GAP
    draw.text((_MARGIN, _MARGIN), _shortened(title, 24, room, True), INK, font(24, bold=True))
    said = ", ".join(
        f"{count:,} {noun}{'' if count == 1 else 's'}"
        for count, noun in (
            (sheet.images, "image"),
            (len(sheet.references), "reference"),
            (sheet.points, "point"),
        )
    )
    if sheet.points:
        said += f", {sheet.points_above:,} of them at least {sheet.threshold:.2f} sure"
    draw.text((_MARGIN, _MARGIN + 36), _shortened(said, 14, room), _SOFT, font(14))
    left, top = width - _MARGIN - _SCALE[0], _MARGIN + 8
    for column in range(_SCALE[0]):
        color = score_color(column / (_SCALE[0] - 1))
        draw.line((left + column, top, left + column, top + _SCALE[1]), color)
    draw.text((left, top + 18), "unsure 0", _SOFT, font(13))
    draw.text((left + _SCALE[0], top + 18), "1 sure", _SOFT, font(13), anchor="ra")
    for row, items in enumerate(legend):
        for place, key, color, text in items:
            line = _MARGIN + 74 + row * _LEGEND_ROW
            box = (_MARGIN + place, line - 9, _MARGIN + place + 26, line + 9)
            draw.rounded_rectangle(box, 4, fill=color)
            if key:
                draw.text((box[0] + 13, line), key, _BACKGROUND, font(12, True), anchor="mm")
            draw.text((box[2] + 6, line), text, INK, font(13), anchor="lm")


def _legend_rows(sheet: Sheet, width: int) -> list[list[tuple]]:
    """Returns rows of `(place, key, color, text)` that fit a width, five rows at most."""
    items = [(str(number), INK, name) for name, number in sheet.names.points.items()]
    items += [("", color, name) for name, color in sheet.names.regions.items()]
    rows, place = [], width + 1
    for key, color, name in items:
        text = _shortened(name, 13, 240)
        room = 26 + 6 + font(13).getlength(text)
        if place + room > width:
            if len(rows) == 5:
                break
            rows.append([])
            place = 0
        rows[-1].append((place, key, color, text))
        place += room + 20
    return rows


def _part_height(cards: list[Card], columns: int) -> int:
    return _HEADING + sum(
        max(card.size[1] for card in row) + _CAPTION + _GAP for row in _rows(cards, columns)
    )


def _rows(cards: list[Card], columns: int) -> list[list[Card]]:
    return [cards[n : n + columns] for n in range(0, len(cards), columns)]


def _draw_cards(picture, draw, cards: list[Card], columns: int, side: int, top: int) -> None:
    for row in _rows(cards, columns):
        tall = max(card.size[1] for card in row)
        for column, card in enumerate(row):
            left = _MARGIN + column * (side + _GAP)
            shift = ((side - card.size[0]) // 2, tall - card.size[1])
            picture.paste(card.picture(), (left + shift[0], top + shift[1]))
            line = top + tall + 4
            draw.rectangle((left, line, left + side - 1, line + 4), _LINE)
            known = card.score is not None and not math.isnan(card.score)
            if known:
                share = min(max(card.score, 0), 1) * (side - 1)
                draw.rectangle((left, line, left + share, line + 4), score_color(card.score))
            draw.text((left, line + 11), _shortened(card.name, 13, side - 50), INK, font(13))
            score = f"{card.score:.2f}" if known else "–"
            color = INK if known else PALE
            draw.text((left + side, line + 11), score, color, font(13, True), anchor="ra")
        top += tall + _CAPTION + _GAP


def _shortened(text: str, size: int, room: float, bold: bool = False) -> str:
    """Returns a text without its middle, as far as it is too long; both ends of names tell."""
    letters = font(size, bold)
    # Names of files may hold what cannot be drawn: surrogates, line breaks.
    text = " ".join(text.encode("utf-8", "replace").decode().split())
    # The middle of a very long text is never seen.
    text = text if len(text) <= 400 else f"{text[:200]}{text[-200:]}"
    kept = len(text)
    short = text
    while kept > 2 and letters.getlength(short) > room:
        kept -= 1
        short = f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
    return short
