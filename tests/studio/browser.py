"""A browser that looks at a studio, for tests.

A test module makes these its fixtures by naming them:

    chromium, page = browser.chromium, browser.page
"""

import base64
import io
import os
import pathlib

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.studio.config import StudioConfig
from tests.studio.api import Api
from tests.studio.conftest import PLACES, RunningStudio, color_engine
from tests.tasks import colored

CHROMIUM = os.environ.get("ANCHORNET_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Offline: no name leads anywhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
IDS = {name: f"i{number}" for number, name in enumerate(PLACES, start=1)}


@pytest.fixture(scope="module")
def chromium():
    """One browser for all tests of a module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not pathlib.Path(CHROMIUM).exists():
        pytest.skip(f"needs Chromium at {CHROMIUM}, or at $ANCHORNET_CHROMIUM")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def studio(tmp_path_factory, studio_cache):
    """One studio over four images of the colored object, for all tests of a module."""
    folder = tmp_path_factory.mktemp("browser") / "things"
    folder.mkdir()
    for name, place in PLACES.items():
        colored.save(folder, name, *place)
    running = RunningStudio(StudioConfig(port=0), [folder], color_engine(), folder)
    yield running
    running.stop()


@pytest.fixture
def open_page(chromium, studio):
    """Returns a function that opens the studio in a new window, at a mode.

    At the end of the test nothing may have gone wrong in any window: no error in the console, no
    request to anything but the studio, nothing that the content security policy forbids.
    """
    contexts, wrong = [], []
    _forget_work(studio)

    def watch(page):
        def refuse_strangers(request):
            if not request.url.startswith((studio.address, "blob:", "data:")):
                wrong.append(f"a request to {request.url}")

        def look_at(message):
            # What the server refuses is the subject of some tests; the browser notes it by itself.
            if message.type == "error" and "Failed to load resource" not in message.text:
                wrong.append(message.text)

        page.on("request", refuse_strangers)
        page.on("console", look_at)
        page.on("pageerror", lambda error: wrong.append(str(error)))

    def open_(mode="hover", context=None, **options):
        if context is None:
            options = {"viewport": {"width": 1280, "height": 800}, **options}
            context = chromium.new_context(**options)
            context.on("page", watch)
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.goto(f"{studio.address}/#{mode}")
        page.evaluate("window.studio.ready")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not wrong, wrong


@pytest.fixture
def page(open_page):
    """The studio in a window of 1280 x 800 pixels."""
    return open_page()


def _forget_work(studio):
    """Leaves nothing of an earlier test: its marks and the images that it added."""
    api = Api(studio.address)
    revision = api.get("/work").json()["revision"]
    empty = {"revision": revision, "marks": [], "settings": {}}
    assert api.put("/work", json=empty).status_code == 200
    for image in api.get("/state").json()["images"]:
        if image["source"] == "upload":
            assert api.delete(f"/images/{image['id']}").status_code == 204
    api.close()


def drop_files(page, paths):
    """Drops files on the window, as from a file manager."""
    files = [[p.name, base64.b64encode(p.read_bytes()).decode()] for p in map(pathlib.Path, paths)]
    page.evaluate(
        """(files) => {
          const transfer = new DataTransfer();
          for (const [name, text] of files) {
            const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
            transfer.items.add(new File([bytes], name));
          }
          for (const kind of ["dragenter", "dragover", "drop"]) {
            document.body.dispatchEvent(
              new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }),
            );
          }
        }""",
        files,
    )


class Stage:
    """A canvas of the page that shows a whole image.

    Args:
        page: The page.
        selector: str. The element that holds the canvas.
        size: `(width, height)` of the image.
    """

    def __init__(self, page, selector, size=(colored.SIZE, colored.SIZE)):
        self.page = page
        self.canvas = page.locator(f"{selector} canvas.upper")
        self.picture = page.locator(f"{selector} canvas.layer:not(.upper)")
        self.size = np.array(size, float)

    def frame(self):
        """Returns the corner of the image in the canvas, and the scale."""
        box = self.canvas.bounding_box()
        room = np.array([box["width"], box["height"]])
        scale = (room / self.size).min()
        return (room - self.size * scale) / 2, scale, np.array([box["x"], box["y"]])

    def place(self, x, y):
        """Returns where a pixel of the image is in the window."""
        corner, scale, origin = self.frame()
        return tuple(origin + corner + (np.array([x, y]) + 0.5) * scale)

    def move(self, x, y):
        """Moves the mouse over a pixel of the image."""
        self.page.mouse.move(*self.place(x, y))

    def click(self, x, y):
        """Clicks a pixel of the image."""
        self.page.mouse.click(*self.place(x, y))

    def drag(self, start, end):
        """Drags from one pixel of the image to another."""
        self.page.mouse.move(*self.place(*start))
        self.page.mouse.down()
        self.page.mouse.move(*self.place(*end), steps=4)
        self.page.mouse.up()

    def pixels(self, canvas=None):
        """Returns what is drawn over the image, `(height, width, 4)` as it is seen."""
        address = (canvas or self.canvas).evaluate("(canvas) => canvas.toDataURL()")
        return decoded(address)

    def drawn_at(self):
        """Returns the (x, y) of the image in the middle of what is drawn over it."""
        corner, scale, _ = self.frame()
        rows, columns = np.nonzero(self.pixels()[..., 3] > 128)
        middle = np.array([columns.min() + columns.max(), rows.min() + rows.max()]) / 2 + 0.5
        return (middle - corner) / scale - 0.5

    def shown(self):
        """Returns the picture alone, `(height, width, 3)` in pixels of the window."""
        corner, scale, _ = self.frame()
        left, top = np.round(corner).astype(int)
        width, height = np.round(self.size * scale).astype(int)
        return self.pixels(self.picture)[top : top + height, left : left + width, :3]


def decoded(address):
    """Returns the pixels of a `data:` address."""
    return np.array(PIL.Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))
