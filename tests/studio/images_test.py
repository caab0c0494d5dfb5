"""Images of the studio over its API: uploads, pictures, features, flows."""

import io

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.studio import directions
from anchornet_tf.studio.config import StudioConfig
from tests.studio.api import Api, colored_png, png
from tests.studio.conftest import PLACES, RunningStudio, color_engine
from tests.tasks import colored


def test_upload_is_listed_described_and_removed(api):
    answer = api.post("/images", params={"name": "duck.png"}, content=colored_png())
    assert answer.status_code == 201
    image = answer.json()
    assert image == {
        "id": "i5",
        "name": "duck.png",
        "width": colored.SIZE,
        "height": colored.SIZE,
        "source": "upload",
        "error": None,
    }
    again = api.post("/images", params={"name": "other.png"}, content=colored_png())
    assert again.json() == image
    assert len(api.get("/state").json()["images"]) == 5
    assert api.binary("/features/i5")[0]["rows"] == colored.SIZE // 4
    assert api.delete("/images/i5").status_code == 204
    assert api.get("/features/i5").status_code == 404
    assert api.delete("/images/i5").status_code == 404
    assert api.delete("/images/i1").status_code == 403


def test_names_are_cleaned_and_unique(api):
    names = []
    for left, name in enumerate(["../../etc/a.png", "a.png", "..", "x\x00\n<y>.png", "/"]):
        answer = api.post("/images", params={"name": name}, content=colored_png(left + 1, 2))
        names.append(answer.json()["name"])
    assert names == ["a-2.png", "a-3.png", "image", "x___y_.png", "image-2"]


@pytest.mark.parametrize(
    "content",
    [
        b"not an image",
        colored_png()[:200],
        colored_png()[:-300],
        b"\x89PNG\r\n\x1a\n" + bytes(50),
        b"GIF89a" + bytes(4),
        b"\xff\xd8\xff\xe0" + bytes(100),
        png(np.zeros((1, 50, 3), np.uint8)),
        b"<svg onload='alert(1)' xmlns='http://www.w3.org/2000/svg'/>",
    ],
)
def test_what_is_no_image_gets_one_line(api, content):
    answer = api.post("/images", params={"name": "bad.png"}, content=content)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert "Received:" in error and "\n" not in error and "/tmp" not in error
    assert len(api.get("/state").json()["images"]) == 4


def test_empty_upload(api):
    assert api.post("/images", content=b"").status_code == 400


def test_limits_of_uploads(image_folder, studio_cache):
    config = StudioConfig(port=0, max_upload=1, max_images=5, max_pixels=200_000)
    running = RunningStudio(config, [image_folder], color_engine(), image_folder)
    try:
        api = Api(running.address)
        limits = api.get("/state").json()["limits"]
        assert limits == {"upload_bytes": 2**20, "points": 2000, "images": 5}
        large = np.random.default_rng(0).integers(0, 256, (700, 700, 3), np.uint8)
        assert api.post("/images", content=png(large)).status_code == 413
        # Without a Content-Length the limit holds as well.
        assert api.post("/images", content=iter([png(large)])).status_code == 413
        many = api.post("/images", content=png(np.zeros((700, 700, 3), np.uint8)))
        assert many.status_code == 400 and "200,000 pixels" in many.json()["error"]
        assert api.post("/images", content=colored_png(1, 1)).status_code == 201
        assert api.post("/images", content=colored_png(2, 2)).status_code == 429
    finally:
        running.stop()


def test_picture(api):
    answer = api.get("/images/i1/picture", params={"side": 64})
    assert answer.headers["content-type"] == "image/jpeg"
    assert PIL.Image.open(io.BytesIO(answer.content)).size == (64, 64)
    tag = answer.headers["etag"]
    again = api.get("/images/i1/picture?side=64", headers={"If-None-Match": tag})
    assert again.status_code == 304 and not again.content
    other = api.get("/images/i1/picture?side=65", headers={"If-None-Match": tag})
    assert other.status_code == 200
    for side in ("63", "2049", "x", "1e3", "-100", "9" * 50):
        assert api.get("/images/i1/picture", params={"side": side}).status_code == 400


def test_orientation_is_applied(api):
    image = PIL.Image.new("RGB", (40, 20), (255, 0, 0))
    exif = image.getexif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", exif=exif)
    said = api.post("/images", params={"name": "t.jpg"}, content=buffer.getvalue()).json()
    assert (said["width"], said["height"]) == (20, 40)
    picture = api.get(f"/images/{said['id']}/picture").content
    assert PIL.Image.open(io.BytesIO(picture)).size == (20, 40)


def test_features_are_those_of_the_descriptor(api):
    header, values = api.binary("/features/i1", descriptor="color")
    (features,) = colored.ColorDescriptor()([colored.picture(*PLACES["a.png"])[0]])
    assert header["dtype"] == "int8"
    shape = header["rows"], header["columns"], header["depth"]
    assert shape == features.values.shape
    units = features.values / np.linalg.norm(features.values, axis=-1, keepdims=True)
    np.testing.assert_allclose(values.reshape(shape) * header["scale"], units, atol=0.01)


def test_features_have_so_many_directions_at_most(api):
    (header, first), (_, second) = (
        api.binary(f"/features/i{n}", descriptor="sift") for n in (1, 2)
    )
    assert header["depth"] == directions.COUNT
    similarity = (
        first.reshape(-1, directions.COUNT).astype(int)
        @ second.reshape(-1, directions.COUNT).astype(int).T
    )
    full = []
    for name in ("a.png", "b.png"):
        from anchornet_tf.features.registry import get_descriptor

        (features,) = get_descriptor("sift", step=8)([colored.picture(*PLACES[name])[0]])
        values = features.values.reshape(-1, features.depth)
        full.append(values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-9))
    exact = full[0] @ full[1].T
    known = np.linalg.norm(full[0], axis=1) > 0.5
    chosen = exact[np.arange(len(exact)), similarity.argmax(axis=1)]
    assert np.mean((exact.max(axis=1) - chosen)[known] < 0.02) > 0.95


def test_flow_is_that_of_the_matcher(api, image_folder):
    header, values = api.binary("/flow", source="i1", target="i2", matcher="hough")
    assert (header["source"], header["target"]) == ("i1", "i2")
    values = values.reshape(header["rows"], header["columns"], 3)
    flow = Matcher(colored.ColorDescriptor(), "hough")(
        image_folder / "a.png", image_folder / "b.png"
    )
    positions, valid, confidence = flow.cells(64)
    assert valid.all() and header["has_probabilities"] == flow.has_probabilities
    np.testing.assert_allclose(values[..., :2], positions[..., ::-1], atol=1e-4)
    np.testing.assert_allclose(values[..., 2], confidence, atol=1e-6)


@pytest.mark.parametrize(
    "query",
    [
        {"source": "i1"},
        {"source": "i1", "target": "i99"},
        {"source": "i1", "target": "../i2"},
        {"source": "i1", "target": "i2", "matcher": "magic"},
        {"source": "i1", "target": "i2", "descriptor": "__class__"},
    ],
)
def test_flow_refuses(api, query):
    answer = api.get("/flow", params=query)
    assert answer.status_code in (400, 404)
    assert "Received:" in answer.json()["error"]


def test_responses_need_a_model(api):
    assert api.get("/state").json()["classes"] == []
    assert api.get("/responses/i1", params={"class": "bird"}).status_code == 404


def test_unknown_addresses(api):
    for method, path in (("GET", "/nothing"), ("POST", "/state"), ("PATCH", "/work")):
        answer = api.request(method, path)
        assert answer.status_code in (404, 405)
        assert "Received:" in answer.json()["error"]


def test_examples_without_a_folder(studio_cache):
    running = RunningStudio(StudioConfig(port=0), [], color_engine(), None)
    try:
        state = Api(running.address).get("/state").json()
        assert state["folder"] is None
        assert {image["source"] for image in state["images"]} == {"example"}
        assert "cow-1.png" in [image["name"] for image in state["images"]]
    finally:
        running.stop()


def test_a_flow_is_computed_once(studio_server, api):
    api.binary("/flow", source="i1", target="i2")
    kept = len(studio_server.studio.engine.flows_cache)
    descriptor = studio_server.studio.engine._made["color"]
    calls = list(descriptor.calls)
    api.binary("/flow", source="i1", target="i2")
    assert len(studio_server.studio.engine.flows_cache) == kept == 1
    assert descriptor.calls == calls
    api.binary("/flow", source="i2", target="i1")
    assert len(studio_server.studio.engine.flows_cache) == 2
    assert descriptor.calls == calls
