"""The exported page in a browser that is offline: its marker is where the matcher says."""

import functools
import http.server
import shutil
import threading

import numpy as np
import PIL.Image
import pytest

import anchornet_tf
from anchornet_tf.datasets import parts_world
from export import web_files
from tests.studio import browser
from tests.studio.browser import Stage, drop_files

chromium = browser.chromium
pytest.importorskip("tf2onnx", reason="needs the extra `onnx`")

READY = "Move over one image"
SIZES = ((224, 224), (224, 180))  # (width, height)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Says nothing: pytest would show every request."""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The preset as a page, behind the plainest of web servers."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm, for onnxruntime-web")
    folder = web_files.export_folder("voc20", str(tmp_path_factory.mktemp("web") / "page"))
    handler = functools.partial(_Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(chromium, address):
    """The page; at the end nothing may have gone wrong, and no stranger was asked for anything."""
    wrong = []
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()

    def watch(request):
        if not request.url.startswith((address, "blob:")):
            wrong.append(f"a request to {request.url}")

    context.on("request", watch)
    page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_default_timeout(120_000)
    page.goto(address)
    page.evaluate("window.studio.ready")
    yield page
    context.close()
    assert not wrong, wrong


@pytest.mark.slow
def test_the_marker_is_where_the_matcher_says(page, tmp_path):
    assert page.locator("#hover-line").inner_text().startswith(READY)
    images, paths = [], []
    for number, (width, height) in zip((5, 9), SIZES, strict=True):
        images.append(parts_world.draw("bird", number).image[:height, :width])
        paths.append(tmp_path / f"dropped{number}.png")
        PIL.Image.fromarray(images[-1]).save(paths[-1])
    drop_files(page, paths)
    page.locator("#hover-pair [data-side=b] .side-name", has_text="dropped9.png").wait_for()
    page.locator("#hover-line", has_text=READY).wait_for()
    page.uncheck("#hover-map")
    stages = [
        Stage(page, f"#hover-pair [data-side={side}]", size)
        for side, size in zip("ab", SIZES, strict=True)
    ]
    flow = anchornet_tf.Matcher.from_preset("voc20")(*images)
    errors, sureness = [], []
    for x in range(20, 220, 40):
        for y in range(20, 220, 40):
            stages[0].move(x, y)
            hover = page.evaluate("window.studio.hover")
            place = np.array([[hover["x"], hover["y"]]])
            wanted, sure = flow.transfer_with_confidence(place)
            match = hover["match"]
            errors.append(np.hypot(*([match["x"], match["y"]] - wanted[0])))
            sureness.append(abs(match["confidence"] - sure[0]))
            # Not only the number: the marker itself is there.
            assert np.abs(stages[1].drawn_at() - [match["x"], match["y"]]).max() < 2
    # Weights of 16 bits: where two places are nearly alike, the match may be the other one.
    assert np.median(errors) < 0.5 and np.mean(np.array(errors) < 3) >= 0.9, errors
    assert np.median(sureness) < 0.01
    print(page.evaluate("window.studio.times"))


@pytest.mark.slow
def test_what_is_no_image_is_said(page, tmp_path):
    (tmp_path / "notes.txt").write_text("no image")
    drop_files(page, [tmp_path / "notes.txt"])
    message = page.locator(".toast.error")
    message.wait_for()
    assert "Expected an image that this browser can read. Received: notes.txt" in (
        message.inner_text()
    )
