"""The page as a whole: messages, narrow windows, keys, long work that is cancelled."""

import threading

import pytest

from anchornet_tf.studio.config import StudioConfig
from anchornet_tf.studio.engine import Engine
from anchornet_tf.studio.offers import Offer, matcher_offers
from tests.studio import browser
from tests.studio.browser import Stage, drop_files
from tests.studio.conftest import RunningStudio
from tests.tasks import colored

chromium, open_page, page = browser.chromium, browser.open_page, browser.page

MODES = ("hover", "look", "annotate", "many")
_IMAGES = 30


class GatedColors(colored.ColorDescriptor):
    """Sees colours once it is allowed to: a job can be cancelled while it surely runs."""

    gate = threading.Event()

    def __call__(self, images):
        if len(images) > 2:
            self.gate.wait(30)
        return super().__call__(images)


@pytest.fixture(scope="module")
def studio(tmp_path_factory, studio_cache):
    """A studio over thirty images, one of which is broken."""
    folder = tmp_path_factory.mktemp("browser") / "many things with a long name of their folder"
    folder.mkdir()
    for number in range(_IMAGES):
        colored.save(folder, f"{number:02d} with a rather long name.png", number, 50 - number)
    (folder / "zz broken.png").write_bytes(b"this is no image")
    offers = matcher_offers(StudioConfig(matcher="nearest"))
    engine = Engine(
        {"color": Offer(GatedColors, "colours", "1 ms per image")},
        {"nearest": offers["nearest"]},
    )
    running = RunningStudio(StudioConfig(port=0), [folder], engine, folder)
    GatedColors.gate.set()
    yield running
    GatedColors.gate.set()
    running.stop()


def test_what_is_no_image_gives_one_readable_line(page, tmp_path):
    (tmp_path / "letter.png").write_text("Dear reader")
    drop_files(page, [tmp_path / "letter.png"])
    toast = page.locator(".toast.error")
    toast.wait_for()
    text = toast.locator(".toast-text").inner_text()
    assert "letter.png" in text and "\n" not in text and "Traceback" not in text
    # It stays until it is closed.
    page.wait_for_timeout(300)
    toast.get_by_role("button", name="Close").click()
    assert page.locator(".toast").count() == 0


def test_a_broken_file_of_the_folder_says_why(page):
    page.locator(".thumb[aria-label='zz broken.png']").click()
    page.locator(".toast.error", has_text="zz broken.png").wait_for()


@pytest.mark.parametrize("width", [360, 1280])
def test_no_window_scrolls_sideways(open_page, width):
    page = open_page(viewport={"width": width, "height": 740})
    for mode in MODES:
        page.click(f"#tab-{mode}")
        page.wait_for_timeout(100)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert page.locator(f"#{mode}").is_visible()
    page.click("#method-menu summary")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_tabs_and_thumbnails_answer_to_keys(page):
    page.focus("#tab-hover")
    for mode in (*MODES[1:], MODES[0]):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == f"tab-{mode}"
        assert page.locator(f"#{mode}").is_visible()
    page.locator(".thumb").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".thumb").nth(1).locator(".badge").inner_text() in "AB"
    page.fill("#strip-find", "07")
    assert page.locator(".strip-list li:visible").count() == 1


def test_everything_that_can_be_pressed_has_a_name(page):
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas[tabindex], summary")]
          .filter((item) => !(item.getAttribute("aria-label") || item.textContent.trim()
            || item.labels?.length || item.hidden || item.title))
          .map((item) => item.outerHTML)"""
    )
    assert nameless == []


def test_cancel_stops_the_work(open_page):
    page = open_page("annotate")
    page.locator("#annotate-image", has_text="00").wait_for()
    GatedColors.gate.clear()
    Stage(page, "#annotate-stage").click(30, 30)
    progress = page.locator("#annotate-progress")
    progress.wait_for()
    with page.expect_response(lambda answer: answer.request.method == "DELETE") as answer:
        progress.get_by_role("button", name="Cancel").click()
    assert answer.value.status == 204
    progress.wait_for(state="hidden")
    # Not all were done, and what is asked for again is done.
    assert page.locator(".card[data-status=sure], .card[data-status=unsure]").count() < _IMAGES - 1
    Stage(page, "#annotate-stage").click(60, 60)
    # The gate opens once the work is seen: it may be over sooner than a browser looks.
    progress.wait_for()
    GatedColors.gate.set()
    progress.wait_for(state="hidden")
    page.locator("#annotate-line", has_text=f"{_IMAGES - 1} found").wait_for()


def test_few_hundred_thumbnails_load_when_they_are_seen(open_page):
    requests = []
    page = open_page("hover")
    page.on("request", lambda request: requests.append(request.url))
    page.reload()
    page.locator("#hover-line", has_text="Move").wait_for()
    pictures = {url for url in requests if "/picture" in url and "side=160" in url}
    assert 0 < len(pictures) < _IMAGES
