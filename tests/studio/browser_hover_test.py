"""Hover, in a browser: the marker and the heat map say what the package says."""

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.features.feature_map import cell_centers
from tests.studio import browser
from tests.studio.api import Api
from tests.studio.browser import IDS, Stage, drop_files
from tests.studio.conftest import PLACES
from tests.tasks import colored

chromium, studio = browser.chromium, browser.studio
open_page, page = browser.open_page, browser.page

READY = "Move over one image"


@pytest.fixture
def stages(page):
    """The two images of Hover, once they can be compared."""
    page.locator("#hover-line", has_text=READY).wait_for()
    return [Stage(page, f"#hover-pair [data-side={side}]") for side in "ab"]


def expected_match(source, target, x, y):
    flow = colored.matcher()(source, target)
    return flow.transfer_points(np.array([[x, y]]))[0]


def part(image, name):
    return colored.picture(*PLACES[image])[1][name]


def test_marker_of_two_dropped_images_is_where_the_matcher_says(page, tmp_path):
    images = []
    for number, place in enumerate([(30, 12), (14, 40)]):
        images.append(colored.picture(*place)[0])
        PIL.Image.fromarray(images[-1]).save(tmp_path / f"dropped{number}.png")
    page.locator("#hover-line", has_text=READY).wait_for()
    drop_files(page, [tmp_path / "dropped0.png", tmp_path / "dropped1.png"])
    page.locator("#hover-pair [data-side=b] .side-name", has_text="dropped1.png").wait_for()
    page.locator("#hover-line", has_text=READY).wait_for()
    page.uncheck("#hover-map")
    stages = [Stage(page, f"#hover-pair [data-side={side}]") for side in "ab"]
    for x, y in [(42.0, 22.0), (71, 55), (80.4, 28.3), (5, 100)]:
        stages[0].move(x, y)
        hover = page.evaluate("window.studio.hover")
        assert hover["side"] == "a"
        assert (hover["x"], hover["y"]) == pytest.approx((x, y), abs=0.3)
        wanted = expected_match(*images, hover["x"], hover["y"])
        assert [hover["match"]["x"], hover["match"]["y"]] == pytest.approx(wanted, abs=0.02)
        # Not only the number: the marker itself is there.
        assert np.abs(stages[1].drawn_at() - wanted).max() < 2


def test_both_directions(page, stages):
    images = [colored.picture(*PLACES[name])[0] for name in ("a.png", "b.png")]
    for number, side in enumerate("ab"):
        x, y = part(f"{side}.png", "tail")
        stages[number].move(x, y)
        hover = page.evaluate("window.studio.hover")
        wanted = expected_match(images[number], images[1 - number], hover["x"], hover["y"])
        assert hover["side"] == side
        assert [hover["match"]["x"], hover["match"]["y"]] == pytest.approx(wanted, abs=0.02)
        target = "ba"[number]
        assert np.hypot(*(wanted - part(f"{target}.png", "tail"))) < 6


def test_best_cell_of_the_heat_map_is_that_of_numpy(page, stages, studio):
    api = Api(studio.address)
    headers, features = zip(
        *(api.binary(f"/features/{IDS[name]}", descriptor="color") for name in ("a.png", "b.png")),
        strict=True,
    )
    rows, columns = headers[0]["rows"], headers[0]["columns"]
    source, target = (array.astype(np.int32).reshape(rows, columns, -1) for array in features)
    scale = headers[0]["scale"] * headers[1]["scale"]
    for name in colored.PARTS:
        stages[0].move(*part("a.png", name))
        hover = page.evaluate("window.studio.hover")
        row, column = (
            np.abs(cell_centers(count, colored.SIZE) - hover[axis]).argmin()
            for count, axis in ((rows, "y"), (columns, "x"))
        )
        likeness = target @ source[row, column]
        best = np.unravel_index(likeness.argmax(), likeness.shape)
        assert (hover["best"]["row"], hover["best"]["column"]) == best
        assert hover["best"]["likeness"] == pytest.approx(scale * likeness.max(), rel=1e-5)
        # The map is drawn strongest there.
        corner, size, _ = stages[1].frame()
        heat = stages[1].pixels()[..., 3]
        x, y = (
            cell_centers(count, colored.SIZE)[cell]
            for count, cell in ((columns, best[1]), (rows, best[0]))
        )
        at = np.round(corner + (np.array([x, y]) + 0.5) * size).astype(int)
        assert heat[at[1], at[0]] >= np.percentile(heat[heat > 0], 90)


def test_no_request_is_made_while_the_mouse_moves(page, stages):
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    for number in range(40):
        stages[number % 2].move(10 + 2 * number, 20 + number)
    statistics = page.evaluate("window.studio.statistics()")
    assert statistics["count"] >= 40 and 0 < statistics["median"] <= statistics["percentile95"]
    # A page looks once, a while after it was opened, whether another tab saved something.
    assert not [address for address in requests if not address.endswith("/work")]


def test_arrow_keys_move_the_cursor(page, stages):
    stages[0].canvas.focus()
    page.keyboard.press("ArrowRight")
    first = page.evaluate("window.studio.hover")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    hover = page.evaluate("window.studio.hover")
    assert hover["x"] == first["x"] + 2 and hover["y"] == first["y"] + 1
    assert hover["match"] is not None
    assert page.locator("#announcer").inner_text() == page.locator("#hover-line").inner_text()


def test_an_image_of_the_strip_takes_the_chosen_side(page, stages):
    page.click(f"[data-image={IDS['d.png']}]")
    page.locator("#hover-pair [data-side=b] .side-name", has_text="d.png").wait_for()
    page.click("#hover-pair [data-side=a] .pair-head")
    page.click(f"[data-image={IDS['c.png']}]")
    page.locator("#hover-pair [data-side=a] .side-name", has_text="c.png").wait_for()
    page.locator("#hover-line", has_text=READY).wait_for()
    page.click("#hover-swap")
    assert page.locator("#hover-pair .side-name").all_inner_texts() == ["d.png", "c.png"]


def test_touch_shows_the_match(open_page):
    page = open_page(has_touch=True, viewport={"width": 400, "height": 800})
    page.locator("#hover-line", has_text=READY).wait_for()
    stage = Stage(page, "#hover-pair [data-side=a]")
    page.touchscreen.tap(*stage.place(*part("a.png", "head")))
    hover = page.evaluate("window.studio.hover")
    assert np.hypot(hover["match"]["x"] - part("b.png", "head")[0], 0) < 6


@pytest.mark.slow
def test_the_real_preset_answers_within_a_frame_or_two(chromium, real_studio_server):
    """It works with the shipped network; how long it takes is printed, and asserted nowhere."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{real_studio_server.address}/#hover")
    page.locator("#hover-line", has_text=READY).wait_for(timeout=120_000)
    stage = Stage(page, "#hover-pair [data-side=a]", (224, 224))
    for number in range(100):
        stage.move(40 + 1.4 * number, 60 + number)
    statistics = page.evaluate("window.studio.statistics()")
    print(statistics)
    assert statistics["count"] >= 100
    assert page.evaluate("window.studio.hover.match") is not None
    context.close()
