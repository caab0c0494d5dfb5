"""The user's work: kept over a reload and a restart, shared by tabs, never overwritten blindly."""

import json

import PIL.Image
import pytest

from anchornet_tf.studio import work
from anchornet_tf.studio.library import Library
from anchornet_tf.studio.refusals import Refusal
from anchornet_tf.studio.work import WorkFile
from tests.studio.api import colored_png, marked


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in ("b.png", "c.png"):
        PIL.Image.new("RGB", (64, 48)).save(folder / name)
    return folder


MARK = {"image": "i1", "points": [{"name": "nose", "x": 3, "y": 4}], "regions": []}


def test_over_the_api(api):
    first = api.get("/work").json()
    mark = marked("i2", (40, 30))
    change = {"revision": first["revision"], "marks": [mark], "settings": {"theme": ["dark", 1]}}
    answer = api.put("/work", json=change)
    assert answer.json() == {"revision": first["revision"] + 1}
    assert api.get("/state").json()["work"] == answer.json()
    assert api.get("/work").json() == {**change, **answer.json()}
    stale = api.put("/work", json=change)
    assert stale.status_code == 409
    assert stale.json()["marks"] == [mark] and stale.json()["revision"] == first["revision"] + 1
    assert "Received:" in stale.json()["error"]


def test_survives_a_restart(folder):
    file = WorkFile(Library([folder]))
    assert file.write({"revision": 0, "marks": [MARK], "settings": {"a": 1}}) == 1
    assert WorkFile(Library([folder])).read() == {
        "revision": 1,
        "marks": [MARK],
        "settings": {"a": 1},
    }


def test_marks_stay_with_their_images(folder):
    WorkFile(Library([folder])).write({"revision": 0, "marks": [MARK]})
    PIL.Image.new("RGB", (64, 48)).save(folder / "a.png")
    file = WorkFile(Library([folder]))
    assert [mark["image"] for mark in file.read()["marks"]] == ["i2"]
    # An image that is away for a while takes its marks with it, and brings them back.
    (folder / "b.png").rename(folder / "b.hidden")
    file = WorkFile(Library([folder]))
    assert file.read()["marks"] == []
    file.write({"revision": 1, "marks": [{**MARK, "image": "i2"}]})
    (folder / "b.hidden").rename(folder / "b.png")
    marks = WorkFile(Library([folder])).read()["marks"]
    assert sorted(mark["image"] for mark in marks) == ["i2", "i3"]


def test_a_dropped_image_is_known_again(folder):
    library = Library([folder])
    entry, _ = library.add_upload("x.png", colored_png())
    WorkFile(library).write({"revision": 0, "marks": [{**MARK, "image": entry.id}]})
    again = Library([folder])
    assert WorkFile(again).read()["marks"] == []
    again.add_upload("first.png", colored_png(1, 1))
    entry, _ = again.add_upload("renamed.png", colored_png())
    assert WorkFile(again).read()["marks"] == [{**MARK, "image": entry.id}]


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"revision": "0"},
        {"revision": True},
        {"revision": 0, "marks": 5},
        {"revision": 0, "marks": [{"image": "i77"}]},
        {"revision": 0, "marks": [{**MARK, "points": [{"name": "x"}]}]},
        {"revision": 0, "settings": []},
        {"revision": 0, "settings": {"much": "x" * 70_000}},
    ],
)
def test_refuses(folder, document):
    with pytest.raises(Refusal, match="Received"):
        WorkFile(Library([folder])).write(document)


def test_a_damaged_file_is_begun_anew(folder, capsys):
    file = WorkFile(Library([folder]))
    file.write({"revision": 0, "marks": [MARK]})
    for content in ("{", "[]", '{"version": 9}', json.dumps({"version": 1, "marks": []})):
        file._path.write_text(content)
        assert file.read()["revision"] == 0
    assert "Begun anew" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(folder, monkeypatch, capsys):
    def refuse(path):
        raise OSError("full")

    monkeypatch.setattr(work, "atomic_file", refuse)
    file = WorkFile(Library([folder]))
    assert file.write({"revision": 0, "marks": [MARK]}) == 1
    assert file.read()["marks"] == [MARK]
    assert file.write({"revision": 1, "marks": []}) == 2
    assert "in memory only" in capsys.readouterr().err
