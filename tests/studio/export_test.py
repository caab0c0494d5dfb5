"""Annotation files out of the studio are those of the program; into it, they become marks."""

import csv
import io
import json
import shutil
import zipfile

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.studio import exchange
from anchornet_tf.tasks import transfer_run
from anchornet_tf.tasks.transfer_config import TransferConfig
from tests.studio.api import Api, marked
from tests.studio.conftest import PLACES, RunningStudio, StudioConfig, color_engine
from tests.tasks import colored

SQUARE = [[17, 15], [27, 15], [27, 25], [17, 25]]


@pytest.fixture
def many_images(tmp_path, studio_cache):
    """A studio over eleven images, more than one batch."""
    folder = tmp_path / "photos"
    folder.mkdir()
    rng = np.random.default_rng(3)
    for number in range(11):
        image, _ = colored.picture(int(rng.integers(2, 48)), int(rng.integers(2, 52)))
        noisy = np.clip(image + rng.normal(0, 6, image.shape), 0, 255).astype(np.uint8)
        PIL.Image.fromarray(noisy).save(folder / f"{number}.png")
    running = RunningStudio(StudioConfig(port=0), [folder], color_engine(), folder)
    yield Api(running.address), folder
    running.stop()


def _program(monkeypatch, tmp_path, references, folder, output, **options):
    """Runs the program's own work with the studio's descriptor."""
    monkeypatch.setattr(
        transfer_run, "Matcher", lambda *_, **__: Matcher(colored.ColorDescriptor(), "nearest")
    )
    config = TransferConfig(
        references=references, images=folder, output=output, report=False, **options
    )
    return transfer_run.run(config, progress=False)


def _references(format):
    first = marked("i1", (10, 10))
    second = marked("i4", (5, 45), ["head", "tail"])
    if format != "csv":
        first["regions"] = [
            {"name": "", "polygons": [SQUARE]},
            {"name": "patch", "polygons": [SQUARE]},
        ]
    return [first, second]


def _files(answer, format):
    if format != "labelme":
        return {"": answer.content}
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("format", ["csv", "coco", "labelme"])
@pytest.mark.parametrize("options", [{}, {"threshold": 0.2, "mirror": False}])
def test_bytes_are_those_of_the_program(many_images, tmp_path, monkeypatch, format, options):
    api, folder = many_images
    fields = {"format": format, "references": _references(format), **options}
    answer = api.post("/annotations/export", json=fields)
    assert answer.status_code == 200, answer.text
    assert "attachment" in answer.headers["content-disposition"]
    # Without images the studio writes the references alone: what the program starts from.
    given = _files(api.post("/annotations/export", json={**fields, "images": []}), format)
    suffix = {"csv": ".csv", "coco": ".json", "labelme": ""}[format]
    references, output = tmp_path / f"given{suffix}", tmp_path / f"carried{suffix}"
    if format == "labelme":
        references.mkdir()
        for name, content in given.items():
            (references / name).write_bytes(content)
        output = folder  # LabelMe's files lie beside their images.
        before = set(folder.iterdir())
    else:
        references.write_bytes(given[""])
    _program(monkeypatch, tmp_path, references, folder, output, **options)
    if format == "labelme":
        written = {path.name: path.read_bytes() for path in set(folder.iterdir()) - before}
        written.pop("photos.journal.jsonl", None)
    else:
        written = {"": output.read_bytes()}
    assert _files(answer, format) == written
    assert len(given) < len(written) or len(given[""]) < len(written[""])


def test_a_table_made_by_hand(many_images, tmp_path, monkeypatch):
    api, folder = many_images
    table = "image,name,x,y\n0.png,head,22,20\n0.png,tail,60,26\n3.png,head,17.25,55\n"
    (tmp_path / "points.csv").write_text(table)
    answer = api.post("/annotations/import?name=points.csv", content=table)
    assert answer.status_code == 200 and answer.json()["format"] == "csv"
    fields = {"format": "csv", "references": answer.json()["references"]}
    exported = api.post("/annotations/export", json=fields).content
    output = tmp_path / "carried.csv"
    _program(monkeypatch, tmp_path, tmp_path / "points.csv", folder, output)
    assert exported == output.read_bytes()
    rows = list(csv.DictReader(io.StringIO(exported.decode())))
    assert {row["image"] for row in rows} == {f"{number}.png" for number in range(11)}


def test_export_uses_what_was_computed(studio_server, api):
    references = [marked("i1", PLACES["a.png"])]
    api.results(kind="transfer", references=references)
    engine = studio_server.studio.engine
    calls = list(engine._made["color"].calls)
    for format in ("csv", "coco", "labelme"):
        answer = api.post("/annotations/export", json={"format": format, "references": references})
        assert answer.status_code == 200
    assert engine._made["color"].calls == calls


@pytest.mark.parametrize("format", ["csv", "coco", "labelme"])
def test_what_was_exported_is_imported_again(api, format):
    references = _references(format)
    answer = api.post("/annotations/export", json={"format": format, "references": references})
    name = {"csv": "a.csv", "coco": "a.json", "labelme": "a.zip"}[format]
    back = api.post("/annotations/import", params={"name": name}, content=answer.content).json()
    assert back["format"] == format and back["missing"] == []
    points = {
        (mark["image"], point["name"]): (point["x"], point["y"])
        for mark in back["references"]
        for point in mark["points"]
    }
    given = {
        (mark["image"], point["name"]): (point["x"], point["y"])
        for mark in references
        for point in mark["points"]
    }
    assert points == given
    if format != "csv":
        polygons = [region["polygons"] for mark in back["references"] for region in mark["regions"]]
        assert polygons == [[SQUARE], [SQUARE]]
    # What came back can be carried as it is.
    api.results(kind="transfer", references=back["references"], images=["i2"])


def test_import_names_what_is_missing(api):
    table = "image,name,x,y\n/home/me/a.png,head,1,2\nelsewhere.png,head,1,2\n"
    back = api.post("/annotations/import?name=p.csv", content=table).json()
    assert back["missing"] == ["elsewhere.png"]
    assert [mark["image"] for mark in back["references"]] == ["i1"]


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.csv", b""),
        ("a.csv", b"no,header\n1,2\n"),
        ("a.csv", b"\xff\xfe\x00"),
        ("a.json", b"[1, 2"),
        ("a.json", b"{}"),
        ("a.json", b'{"shapes": 3}'),
        ("a.json", json.dumps({"images": [{"id": 1}], "annotations": []}).encode()),
        ("a.zip", b"PK\x03\x04 nothing"),
        ("a.json", b"[" * 100_000),
    ],
)
def test_broken_files_get_one_line(api, name, content):
    answer = api.post("/annotations/import", params={"name": name}, content=content)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert "Received:" in error and "\n" not in error and "/tmp" not in error


def test_archives_lead_nowhere_and_stay_small(api, tmp_path, monkeypatch):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../../../tmp/escaped-by-zip.json", "{}")
    answer = api.post("/annotations/import?name=a.zip", content=buffer.getvalue())
    assert answer.status_code == 400
    assert not (tmp_path.parent / "escaped-by-zip.json").exists()
    monkeypatch.setattr(exchange, "_MOST_BYTES", 1000)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.json", " " * 10**6)
    assert api.post("/annotations/import?name=a.zip", content=buffer.getvalue()).status_code == 413


def test_a_size_that_disagrees(api):
    document = {
        "images": [{"id": 1, "file_name": "a.png", "width": 5, "height": 5}],
        "annotations": [],
        "categories": [],
    }
    answer = api.post("/annotations/import?name=a.json", content=json.dumps(document))
    assert answer.status_code == 400 and "5 x 5" in answer.json()["error"]


def test_formats_and_their_room(api):
    references = _references("coco")
    for format in ("xml", None, ["csv"]):
        answer = api.post("/annotations/export", json={"format": format, "references": references})
        assert answer.status_code == 400
    answer = api.post("/annotations/export", json={"format": "csv", "references": references})
    assert answer.status_code == 400 and "no masks" in answer.json()["error"]


@pytest.mark.slow
def test_bytes_are_those_of_the_program_with_the_real_network(
    real_studio_server, tmp_path, monkeypatch
):
    api = Api(real_studio_server.address)
    # Hovering first describes images in other batches, whose last bits differ.
    api.binary("/flow", source="i2", target="i3")
    folder = tmp_path / "photos"
    shutil.copytree(real_studio_server.folder, folder)
    points = [{"name": "beak", "x": 100.5, "y": 80}, {"name": "tail", "x": 40, "y": 120.25}]
    fields = {"format": "coco", "references": [{"image": "i1", "points": points}]}
    exported = api.post("/annotations/export", json=fields).content
    given = api.post("/annotations/export", json={**fields, "images": []}).content
    (tmp_path / "given.json").write_bytes(given)
    output = tmp_path / "carried.json"
    config = TransferConfig(
        references=tmp_path / "given.json", images=folder, output=output, report=False
    )
    transfer_run.run(config, progress=False)
    assert exported == output.read_bytes()
