"""Look and Many, in a browser: lines, blend, confidence, and everything pulled onto one image."""

import re

import numpy as np
import PIL.Image
import pytest

from tests.studio import browser
from tests.studio.browser import IDS, Stage, decoded
from tests.studio.conftest import PLACES
from tests.tasks import colored

chromium, studio, open_page = browser.chromium, browser.studio, browser.open_page


@pytest.fixture
def page(open_page):
    page = open_page("look")
    page.locator("#look-line", has_text=re.compile("matches|No match")).wait_for()
    return page


def set_slider(page, selector, value):
    page.locator(selector).evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
        value,
    )


def difference(shown, image):
    resized = PIL.Image.fromarray(image).resize(shown.shape[1::-1], PIL.Image.BILINEAR)
    return np.abs(shown.astype(float) - np.asarray(resized)).mean()


def test_slider_goes_from_a_to_b_pulled_onto_a(page):
    page.check("input[name=look-view][value=blend]")
    stage = Stage(page, "#look-blend-stage")
    first, second = (colored.picture(*PLACES[name])[0] for name in ("a.png", "b.png"))
    pulled = colored.matcher()(first, second).warp(second)
    set_slider(page, "#look-slider", 0)
    assert difference(stage.shown(), first) < 3
    set_slider(page, "#look-slider", 100)
    assert difference(stage.shown(), pulled) < 3
    assert difference(stage.shown(), second) > 8
    assert page.locator("#look-slider").get_attribute("aria-valuetext") == "100 % of B"
    set_slider(page, "#look-slider", 50)
    middle = (first.astype(float) + pulled) / 2
    assert difference(stage.shown(), middle.astype(np.uint8)) < 3


def test_lines_are_as_many_and_as_sure_as_asked(page):
    set_slider(page, "#look-least", 0)
    set_slider(page, "#look-count", 12)
    page.locator("#look-line", has_text="12 matches").wait_for()
    overlay = page.locator("#look-pair .pair-overlay")
    lines = decoded(overlay.evaluate("(canvas) => canvas.toDataURL()"))
    assert (lines[..., 3] > 0).any()
    set_slider(page, "#look-count", 40)
    more = decoded(overlay.evaluate("(canvas) => canvas.toDataURL()"))
    assert (more[..., 3] > 0).sum() > (lines[..., 3] > 0).sum()


def test_confidence_is_laid_over_a(page):
    stage = Stage(page, "#look-pair [data-side=a]")
    assert not stage.pixels()[..., 3].any()
    page.check("#look-confidence")
    corner, scale, _ = stage.frame()
    alpha = stage.pixels()[..., 3]
    covered = (alpha > 0).sum() / (colored.SIZE * scale) ** 2
    assert 0.95 < covered < 1.05
    assert page.locator("#look-scale").is_visible()


def test_another_method_is_used_and_remembered(page, studio):
    page.click("#method-menu summary")
    assert re.search(r"\d ms per image", page.locator(".choice-cost").first.inner_text())
    with page.expect_request(re.compile(r"/flow\?.*matcher=hough")):
        page.check("input[name=matcher][value=hough]")
    page.keyboard.press("Escape")
    assert not page.locator("#method-menu .menu-body").is_visible()
    with page.expect_response(re.compile("/work$")):
        pass
    page.reload()
    page.locator("#method-summary", has_text="color + hough").wait_for()


def test_a_model_without_classes_says_so(page):
    page.check("input[name=look-view][value=filters]")
    page.locator("#filter-none", has_text="no classes").wait_for()


def test_all_images_are_pulled_onto_the_chosen_one(page):
    page.click("#tab-many")
    page.click("#many-start")
    page.locator("#many-line", has_text="3 images in").wait_for()
    cards = page.locator("#many-grid .card")
    scores = [
        int(text.rstrip(" %")) for text in page.locator("#many-grid .card-score").all_inner_texts()
    ]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True)
    assert {card.get_attribute("data-image") for card in cards.all()} == set(IDS.values()) - {"i1"}
    for which in ("before", "after"):
        width = page.locator(f"#many-{which}").evaluate(
            "async (picture) => { await picture.decode(); return picture.naturalWidth; }"
        )
        assert width > 0
    # The chosen one of the strip takes its place, and the work begins again.
    page.click(f".thumb[data-image={IDS['c.png']}]")
    page.locator("#many-name", has_text="c.png").wait_for()
    page.locator("#many-line", has_text="3 images in").wait_for()
    assert "c.png" not in page.locator("#many-grid .card-name").all_inner_texts()
