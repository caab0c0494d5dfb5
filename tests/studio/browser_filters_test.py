"""The filters of a class, in a browser: what each looks for and where it fires."""

import numpy as np
import pytest

from anchornet_tf.features.feature_map import resize_bilinear
from anchornet_tf.studio.config import StudioConfig
from anchornet_tf.studio.engine import Engine
from tests.studio import browser
from tests.studio.browser import IDS, Stage, decoded
from tests.studio.conftest import PLACES, RunningStudio, color_engine
from tests.tasks import colored

chromium, open_page = browser.chromium, browser.open_page


class ColorFilters:
    """One filter for each part of the colored object, which fires at its colour."""

    classes = ("other", "thing")

    def taps(self, image):
        side = colored.SIZE // 4
        return (resize_bilinear(image.pixels.astype(np.float32), (side, side), antialias=True),)

    def of_taps(self, taps, class_name):
        colors = np.array([color for _, color in colored.PARTS.values()], np.float32)
        distances = np.linalg.norm(taps[0][..., np.newaxis, :] - colors, axis=-1)
        return np.maximum(1 - distances / 100, 0)


@pytest.fixture(scope="module")
def studio(tmp_path_factory, studio_cache):
    folder = tmp_path_factory.mktemp("browser") / "things"
    folder.mkdir()
    for name, place in PLACES.items():
        colored.save(folder, name.replace(".png", " thing.png"), *place)
    plain = color_engine()
    engine = Engine(plain.descriptors, plain.matchers, filters=ColorFilters())
    running = RunningStudio(StudioConfig(port=0), [folder], engine, folder)
    yield running
    running.stop()


@pytest.fixture
def page(open_page):
    page = open_page("look")
    page.check("input[name=look-view][value=filters]")
    page.locator("#filter-cards .card").first.wait_for()
    return page


def test_patches_show_what_filters_look_for(page):
    # The class that the names of the images speak of.
    assert page.locator("#filter-class").input_value() == "thing"
    assert page.locator("#filter-count").inner_text() == "4 filters"
    for number, (_, color) in enumerate(colored.PARTS.values()):
        patch = page.locator(f".patch[data-filter='{number}'] canvas")
        page.wait_for_load_state("networkidle")
        pixels = decoded(patch.evaluate("(canvas) => canvas.toDataURL()"))[..., :3].astype(float)
        near = np.linalg.norm(pixels - color, axis=-1) < 60
        assert near.mean() > 0.02


def test_a_chosen_filter_is_shown_in_all_images(page):
    page.click(".patch[data-filter='1']")
    assert page.locator(".patch[data-filter='1']").get_attribute("aria-pressed") == "true"
    page.locator("#filter-title", has_text="Filter 1 of “thing”").wait_for()
    for name, place in PLACES.items():
        canvas = page.locator(f"#filter-cards [data-image={IDS[name]}] canvas[width='112']")
        canvas.wait_for()  # A canvas has its size once it is drawn.
        shown = decoded(canvas.evaluate("(canvas) => canvas.toDataURL()"))[..., :3].astype(int)
        x, y = colored.picture(*place)[1]["left_leg"]
        scale = shown.shape[0] / colored.SIZE
        # Yellow, the colour of the highest value, lies over the green leg.
        at = shown[round((y + 0.5) * scale), round((x + 0.5) * scale)]
        assert at[0] > 120 and at[1] > 180 and at[2] < 100


def test_filters_under_the_mouse_are_listed(page):
    stage = Stage(page, "#filter-stage")
    points = colored.picture(*PLACES["a.png"])[1]
    for number, name in enumerate(colored.PARTS):
        stage.move(*points[name])
        assert page.locator("#filter-list button").first.inner_text() == f"Filter {number}"


@pytest.mark.slow
def test_filters_of_the_real_preset(chromium, real_studio_server):
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{real_studio_server.address}/#look")
    page.check("input[name=look-view][value=filters]")
    page.locator(".patch").first.wait_for(timeout=120_000)
    assert page.locator("#filter-class").input_value() == "bird"
    assert page.locator(".patch").count() > 10
    context.close()
