"""Annotate, in a browser: mark once, correct, export, import; the work outlives the page."""

import io
import re
import zipfile

import pytest

from anchornet_tf.tasks.transfer_config import TransferConfig
from anchornet_tf.tasks.transfer_run import run
from tests.studio import browser
from tests.studio.api import Api
from tests.studio.browser import IDS, Stage, drop_files
from tests.studio.conftest import PLACES
from tests.tasks import colored

chromium, studio, open_page = browser.chromium, browser.studio, browser.open_page


def parts(image):
    """The true places of the parts in an image of the folder."""
    return colored.picture(*PLACES[image])[1]


@pytest.fixture
def page(open_page):
    return open_page("annotate")


@pytest.fixture
def stage(page):
    page.locator("#annotate-image", has_text="a.png").wait_for()
    return Stage(page, "#annotate-stage")


def mark(page, stage, names=tuple(colored.PARTS), image="a.png"):
    """Marks parts of the object by name."""
    for name in names:
        page.fill("#point-name", name)
        page.click("#point-form button")
        stage.click(*parts(image)[name])


def found(page, count):
    """Waits until so many images have results."""
    page.locator("#annotate-line", has_text=re.compile(rf"{count} found")).wait_for()
    page.locator("#annotate-progress").wait_for(state="hidden")


def counts(work):
    """How many points each marked image has."""
    return [len(marked["points"]) for marked in work["marks"]]


def saved_work(page, studio, enough):
    """Returns the work on the server, once it is as it should be."""
    api = Api(studio.address)
    for _ in range(60):
        work = api.get("/work").json()
        if enough(work):
            break
        page.wait_for_timeout(50)
    assert enough(work), work
    return work


def test_what_is_marked_in_one_image_appears_in_all_and_is_exported(page, stage, studio, tmp_path):
    # The program knows SIFT as well, so that both can be compared byte by byte.
    page.click("#method-menu summary")
    page.check("input[name=descriptor][value=sift]")
    page.keyboard.press("Escape")
    mark(page, stage)
    found(page, 3)
    assert page.locator("#annotate-cards .card").count() == 4
    assert page.locator(".card[data-status=marked]").get_attribute("data-image") == IDS["a.png"]
    work = saved_work(page, studio, lambda work: counts(work) == [4])
    exported = {}
    for format in ("csv", "coco", "labelme"):
        page.click("#export-menu summary")
        with page.expect_download() as download:
            page.click(f"[data-format={format}]")
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        exported[format] = path
    assert {path.name for path in exported.values()} == {
        "transferred.csv",
        "transferred.json",
        "transferred.zip",
    }
    points = work["marks"][0]["points"]
    table = ["image,name,x,y", *(f"a.png,{p['name']},{p['x']},{p['y']}" for p in points)]
    (tmp_path / "points.csv").write_text("\n".join(table) + "\n")
    config = TransferConfig(
        references=str(tmp_path / "points.csv"),
        images=str(studio.folder),
        output=str(tmp_path / "by_program.csv"),
        features="sift",
        matcher="nearest",
        options={"step": 8},
        report=False,
    )
    run(config, progress=False)
    assert exported["csv"].read_bytes() == (tmp_path / "by_program.csv").read_bytes()
    with zipfile.ZipFile(io.BytesIO(exported["labelme"].read_bytes())) as archive:
        assert sorted(archive.namelist()) == ["a.json", "b.json", "c.json", "d.json"]


def test_a_dragged_point_makes_its_image_a_reference(page, stage, studio):
    mark(page, stage)
    found(page, 3)
    page.click(f".card[data-image={IDS['c.png']}]")
    page.locator("#annotate-status", has_text="Found from a.png").wait_for()
    results = parts("c.png")
    stage.drag(results["head"], (results["head"][0] + 9, results["head"][1] + 4))
    page.locator("#annotate-status", has_text="Marked by you").wait_for()
    found(page, 2)
    work = saved_work(page, studio, lambda work: len(work["marks"]) == 2)
    (reference,) = (m for m in work["marks"] if m["image"] == IDS["c.png"])
    points = {point["name"]: (point["x"], point["y"]) for point in reference["points"]}
    assert set(points) == set(colored.PARTS)
    # It moved by what it was dragged, from where it was found: near the true place.
    assert points["head"] == pytest.approx((results["head"][0] + 9, results["head"][1] + 4), abs=6)
    page.keyboard.press("Control+z")
    page.locator("#annotate-status", has_text="Found from a.png").wait_for()
    saved_work(page, studio, lambda work: len(work["marks"]) == 1)
    page.keyboard.press("Control+Shift+z")
    page.locator("#annotate-status", has_text="Marked by you").wait_for()


def test_points_are_renamed_moved_by_keys_and_deleted(page, stage, studio):
    mark(page, stage, ["head", "tail"])
    page.click("li[data-name=head] [aria-label='Rename head']")
    page.keyboard.type("crown")
    page.keyboard.press("Enter")
    page.locator("li[data-name=crown]").wait_for()
    page.click("li[data-name=crown] .point-choose")
    stage.canvas.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    x, y = parts("a.png")["head"]

    def moved(work):
        points = {p["name"]: (p["x"], p["y"]) for m in work["marks"] for p in m["points"]}
        return "crown" in points and points["crown"] == pytest.approx((x + 1, y + 10), abs=0.6)

    saved_work(page, studio, moved)
    page.keyboard.press("Delete")
    page.click("li[data-name=tail] [aria-label='Delete tail in all images']")
    saved_work(page, studio, lambda work: not work["marks"])
    page.click("#undo")
    saved_work(page, studio, lambda work: counts(work) == [1])


def test_a_painted_mask_and_an_outline_are_carried(page, stage, studio):
    page.check("input[name=tool][value=paint]")
    page.fill("#region-name", "head")
    x, y = parts("a.png")["head"]
    stage.drag((x - 3, y), (x + 3, y))
    found(page, 3)
    work = saved_work(page, studio, lambda work: work["marks"] and work["marks"][0]["regions"])
    (region,) = work["marks"][0]["regions"]
    corners = [corner for polygon in region["polygons"] for corner in polygon]
    assert region["name"] == "head"
    assert all(abs(cx - x) < 12 and abs(cy - y) < 12 for cx, cy in corners)
    page.check("input[name=tool][value=outline]")
    page.fill("#region-name", "tail")
    x, y = parts("a.png")["tail"]
    for dx, dy in [(-6, -6), (6, -6), (6, 6), (-6, 6)]:
        stage.click(x + dx, y + dy)
    stage.canvas.press("Enter")
    work = saved_work(page, studio, lambda work: len(work["marks"][0]["regions"]) == 2)
    (square,) = work["marks"][0]["regions"][1]["polygons"]
    assert square == [
        pytest.approx([x + dx, y + dy], abs=0.4) for dx, dy in [(-6, -6), (6, -6), (6, 6), (-6, 6)]
    ]


def test_import_takes_marks_over_and_names_missing_images(page, stage, studio, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("image,name,x,y\nb.png,head,52,40\nelsewhere.png,head,1,2\n")
    page.set_input_files("#import-input", file)
    page.locator(".toast.error", has_text="elsewhere.png").wait_for()
    work = saved_work(page, studio, lambda work: len(work["marks"]) == 1)
    assert work["marks"][0]["image"] == IDS["b.png"]
    assert work["marks"][0]["points"] == [{"name": "head", "x": 52, "y": 40}]
    found(page, 3)
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    page.set_input_files("#import-input", bad)
    page.locator(".toast.error", has_text="bad.json").wait_for()


def test_reload_keeps_the_work(page, stage, studio):
    mark(page, stage, ["head", "tail"])
    found(page, 3)
    saved_work(page, studio, lambda work: counts(work) == [2])
    mark(page, stage, ["left_leg"])
    page.reload()  # At once: what was marked last is on its way.
    page.locator("li[data-name=left_leg]", has_text="marked here").wait_for()
    page.locator("li[data-name=head]", has_text="marked here").wait_for()
    found(page, 3)
    assert page.locator(".point-item").count() == 3


def test_a_marked_image_can_be_removed(page, stage, studio, tmp_path):
    mark(page, stage, ["head"])
    colored.save(tmp_path, "added.png", 33, 21)
    drop_files(page, [tmp_path / "added.png"])
    page.locator("#annotate-image", has_text="added.png").wait_for()
    page.locator("#annotate-status", has_text="Found from").wait_for()
    page.click("#accept")
    saved_work(page, studio, lambda work: counts(work) == [1, 1])
    page.locator(".strip-list li", has=page.locator("[aria-label='added.png']")).hover()
    page.click("[aria-label='Remove added.png']")
    page.locator("#annotate-image", has_text="a.png").wait_for()
    mark(page, stage, ["tail"])
    work = saved_work(page, studio, lambda work: counts(work) == [2])
    assert work["marks"][0]["image"] == IDS["a.png"]
    assert page.locator(".toast.error").count() == 0


def test_two_tabs_share_the_work(page, stage, studio, open_page):
    other = open_page("annotate", context=page.context)
    mark(page, stage, ["head"])
    other.locator("li[data-name=head]").wait_for()
    # A change on top of an old revision is not kept: the newer work is taken over, with a notice.
    third = open_page("annotate")
    mark(page, stage, ["tail"])
    saved_work(page, studio, lambda work: counts(work) == [2])
    third.locator("#annotate-image", has_text="a.png").wait_for()
    Stage(third, "#annotate-stage").click(100, 100)
    third.locator(".toast.notice", has_text="Another tab").wait_for()
    third.locator("li[data-name=tail]").wait_for()
    assert third.locator(".point-item").count() == 2
