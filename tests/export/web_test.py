"""The page for a browser is whole: its files, its runtime and what its network computes."""

import hashlib
import json
import re
import tarfile

import numpy as np
import pytest

import anchornet_tf
from anchornet_tf.utils import npm
from export import web_files, web_models, web_runtime
from tests.export import small_model

onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`")
pytest.importorskip("tf2onnx", reason="needs the extra `onnx`")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    """A folder of files in the place of onnxruntime-web."""
    folder = tmp_path / "runtime"
    folder.mkdir()
    for name in web_runtime.FILES:
        (folder / name).write_text(f"// {name}")
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        monkeypatch.setitem(web_runtime.FILES, name, digest)
    return folder


@pytest.fixture(scope="module")
def small():
    return small_model.make()


@pytest.fixture(scope="module")
def converted(small):
    return web_models.convert(small, precision="float32", name="small")


def _run(content, **inputs):
    session = onnxruntime.InferenceSession(content)
    return session.run(None, inputs)[0]


def test_what_is_described_is_matched_as_by_the_matcher(small, converted, image_a, image_b):
    described = [
        _run(converted.files["describe.onnx"], image=image[None]) for image in (image_a, image_b)
    ]
    cells = _run(
        converted.files["match_features.onnx"],
        source_features=described[0],
        target_features=described[1],
        source_size=np.array(image_a.shape[:2], np.int32),
        target_size=np.array(image_b.shape[:2], np.int32),
    )
    matcher = anchornet_tf.Matcher("anchornet", model=small, image_size=small.image_size)
    flow = matcher(image_a, image_b)
    positions, _, confidence = flow.cells(64)
    np.testing.assert_allclose(cells[0, ..., :2], positions[..., ::-1], rtol=0, atol=0.1)
    np.testing.assert_allclose(cells[0, ..., 2], confidence, rtol=0, atol=1e-3)
    assert converted.has_probabilities == flow.has_probabilities


def test_halved_weights_compute_nearly_the_same(converted, image_a):
    content = converted.files["describe.onnx"]
    proto = onnx.load_from_string(content)
    web_models.halve_weights(proto)
    halved = proto.SerializeToString()
    assert len(halved) < 0.55 * len(content)
    expected = _run(content, image=image_a[None])
    difference = np.abs(_run(halved, image=image_a[None]) - expected).max()
    assert 0 < difference < 5e-3 * np.abs(expected).max()


def test_the_folder_holds_all_that_the_page_asks_for(
    small, converted, runtime, tmp_path, monkeypatch
):
    monkeypatch.setattr(web_models, "convert", lambda *_, **__: converted)
    page = web_files.save(small, tmp_path / "page", runtime=runtime, name="small")
    names = {path.relative_to(page).as_posix() for path in page.rglob("*") if path.is_file()}
    text = (page / "index.html").read_text()
    assert set(re.findall(r'(?:src|href)="([^"]+)"', text)) <= names
    for path in page.glob("js/*.js"):
        imports = re.findall(r'^import .*? from "([^"]+)"', path.read_text(), re.M | re.S)
        for other in imports:
            assert (path.parent / other).resolve().is_file(), (path.name, other)
    assert {f"runtime/{name}" for name in web_runtime.FILES} <= names
    assert {"models/describe.onnx", "models/match_features.onnx"} <= names
    about = json.loads((page / "about.json").read_text())
    assert about["model"] == "small" and about["onnxruntime_web"] == web_runtime.VERSION
    assert len(about["images"]) >= 2 and {image["file"] for image in about["images"]} <= names


def test_nothing_of_the_page_names_another_server():
    for path, source in web_files.page_files().items():
        addresses = re.findall(r"(?:https?:)?//[\w-]+\.[\w.-]+", source.read_text())
        # The name of a format, which nobody asks for.
        assert set(addresses) <= {"http://www.w3.org"}, path


def test_shared_modules_are_the_studios():
    own = {path.name for path in (web_files._PAGE / "js").iterdir()}
    files = web_files.page_files()
    shared = {path for path, source in files.items() if web_files._STUDIO in source.parents}
    assert {"js/hover_mode.js", "js/flow.js", "css/base.css"} <= shared
    assert not {f"js/{name}" for name in own} & shared
    # Modes that need a server are left out.
    assert not {"js/annotate_mode.js", "js/work.js"} & set(files)


def test_images_of_the_user(converted, small, runtime, tmp_path, monkeypatch, image_b):
    monkeypatch.setattr(web_models, "convert", lambda *_, **__: converted)
    import PIL.Image

    path = tmp_path / "mine.png"
    PIL.Image.fromarray(image_b).save(path)
    page = web_files.save(small, tmp_path / "page", images=[path], runtime=runtime)
    (image,) = json.loads((page / "about.json").read_text())["images"]
    assert image == {"name": "mine.png", "file": "images/1.jpg", "width": 83, "height": 120}
    assert PIL.Image.open(page / image["file"]).size == (83, 120)


def test_a_folder_in_the_way_is_refused_at_once(tmp_path):
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="does not exist yet. Received: .*page"):
        web_files.export_folder("voc20", str(tmp_path / "page"))


def test_an_unknown_precision(small):
    with pytest.raises(ValueError, match="precision of float16, float32. Received: int8"):
        web_models.convert(small, precision="int8")


def test_the_runtime_comes_from_a_package(runtime, tmp_path):
    with tarfile.open(tmp_path / "package.tgz", "w:gz") as archive:
        for name in web_runtime.FILES:
            archive.add(runtime / name, f"package/dist/{name}")
    assert web_runtime.load(tmp_path / "package.tgz") == web_runtime.load(runtime)


def test_another_runtime_is_refused(runtime, tmp_path):
    name = next(iter(web_runtime.FILES))
    (runtime / name).write_text("something else")
    with pytest.raises(ValueError, match=f"{name} of onnxruntime-web@.*Received: .*runtime"):
        web_runtime.load(runtime)
    (runtime / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"Expected {name} of onnxruntime-web@"):
        web_runtime.load(runtime)
    (tmp_path / "package.tgz").write_text("no archive")
    with pytest.raises(ValueError, match="as npm packs it. Received: .*package.tgz"):
        web_runtime.load(tmp_path / "package.tgz")


def test_the_runtime_is_fetched_once(runtime, tmp_path, monkeypatch):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path / "cache"))
    calls = []

    def pack(package, folder, *_):
        calls.append(package)
        with tarfile.open(folder / "package.tgz", "w:gz") as archive:
            for name in web_runtime.FILES:
                archive.add(runtime / name, f"package/dist/{name}")
        return folder / "package.tgz"

    monkeypatch.setattr(npm, "pack", pack)
    first = web_runtime.load()
    assert web_runtime.load() == first and len(calls) == 1
    # What was damaged in the cache is fetched again.
    (name,) = list(web_runtime.FILES)[:1]
    next((tmp_path / "cache").glob(f"onnxruntime-web-*/{name}")).write_text("damaged")
    assert web_runtime.load() == first and len(calls) == 2


def test_without_npm_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path))
    monkeypatch.setattr(npm.shutil, "which", lambda name: None)
    with pytest.raises(OSError, match="--runtime. Received: npm is not installed"):
        web_runtime.load()
