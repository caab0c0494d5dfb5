"""Serves a studio for its benchmarks, and drives it as a page would."""

import contextlib
import dataclasses
import io
import os
import pathlib
import threading
from collections.abc import Iterator

import numpy as np
import PIL.Image

from anchornet_tf.studio.app import make_app
from anchornet_tf.studio.server import StudioServer
from anchornet_tf.studio.studio_state import Studio
from benchmarks.results import Results, Row

_CHROMIUM = os.environ.get("ANCHORNET_CHROMIUM", "/usr/bin/chromium")
_MOVES = 60


@contextlib.contextmanager
def serving(studio: Studio) -> Iterator[str]:
    """Serves a studio in a thread while the block runs; yields its address."""
    server = StudioServer(studio.config)
    app = make_app(studio, server.port)
    thread = threading.Thread(target=server.run, args=(studio, app), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()
        thread.join(30)


def encoded(image: np.ndarray) -> bytes:
    """Returns an image as a PNG file."""
    buffer = io.BytesIO()
    PIL.Image.fromarray(image).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def marks_of(image: str, number: int) -> list[dict]:
    """Returns a reference with a point at a place that depends on a number."""
    point = {"name": "point", "x": number % 200 + 0.25, "y": number // 200 % 200 + 0.5}
    return [{"image": image, "points": [point], "regions": []}]


def hover_milliseconds(address: str) -> Results:
    """Moves a mouse over the page in Chromium, and asks the page how long it took to answer.

    Where Chromium or playwright is absent, the row says so and has no figure to be held against.
    """
    name = "a move of the mouse over an image of the studio, until the page shows the answer"
    try:
        from playwright import sync_api
    except ImportError:
        return Results((Row(name, "ms", (float("nan"),), note="needs playwright"),))
    if not pathlib.Path(_CHROMIUM).exists():
        return Results((Row(name, "ms", (float("nan"),), note="needs Chromium"),))
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=_CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.goto(address)
        page.evaluate("window.studio.ready")
        page.locator("#hover-line", has_text="Move over one image").wait_for(timeout=300_000)
        box = page.locator("#hover-pair [data-side=a] canvas").first.bounding_box()
        page.evaluate("window.studio.clearStatistics()")
        for number in range(_MOVES):
            share = (number + 0.5) / _MOVES
            page.mouse.move(box["x"] + share * box["width"], box["y"] + share * box["height"])
            page.wait_for_timeout(20)
        said = page.evaluate("window.studio.statistics()")
        browser.close()
    note = f"{said['count']} moves, 95 of 100 within {said['percentile95']:.1f} ms"
    row = Row(name, "ms", (float(said["median"]),))
    return Results((dataclasses.replace(row, note=note),))
