"""Sets as users bring them: any labels, few images, no background, files of all kinds."""

import numpy as np
import PIL.Image
import pytest

from anchornet_tf.datasets import file_sources, splits
from anchornet_tf.datasets.sources import open_source


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("ANCHORNET_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def drawn(tmp_path_factory, monkeypatch):
    """A few images in place of the drawn backgrounds, which take half a minute to draw."""
    folder = _write(tmp_path_factory.mktemp("drawn") / "background", 20)
    monkeypatch.setattr(splits, "DRAWN_BACKGROUND", f"folder:{folder.parent}")


def _write(folder, count, level=100):
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(count):
        PIL.Image.new("RGB", (9, 6), (level, index, 0)).save(folder / f"{index:03}.png")
    return folder


def _manifest(folder, content):
    _write(folder, 4)
    (folder / "labels.csv").write_bytes(content)
    return f"manifest:{folder / 'labels.csv'}"


def test_any_label_is_a_class(tmp_path):
    names = ("French horn", "キリン", "n01440764", "O'Neill & co", "a.b", "100%")
    for name in names:
        _write(tmp_path / name, 3)
    source = open_source(f"folder:{tmp_path}")
    assert source.class_names == (
        "100%",
        "French horn",
        "O'Neill & co",
        "a.b",
        "n01440764",
        "キリン",
    )
    assert source.require_classes(["キリン", "French horn"]) == (5, 1)


def test_accents_are_found_however_they_are_written(tmp_path):
    _write(tmp_path / "vo\u0308gel", 2)
    _write(tmp_path / "background", 2)
    source = open_source(f"folder:{tmp_path}")
    assert source.require_classes("vögel") == source.require_classes("vo\u0308gel") == (0,)


def test_a_flat_folder_is_one_class(tmp_path, drawn):
    root = _write(tmp_path / "giraffe", 12)
    assert open_source(f"folder:{root}").class_names == ("giraffe",)
    found = splits.open_splits(f"folder:{root}")
    sides = [part.images_per_class()["giraffe"] for part in (found.train, found.held_out)]
    assert sum(sides) == 12 and min(sides) > 0
    assert found.train.is_background.any() and found.held_out.is_background.any()
    assert "drawn pictures" in found.negatives


def test_every_class_is_on_both_sides(tmp_path):
    counts = {"two": 2, "three": 3, "seven": 7, "one": 1, "many": 60}
    for name, count in counts.items():
        _write(tmp_path / name, count)
    for seed in range(5):
        found = splits.open_splits(f"folder:{tmp_path}", seed=seed)
        train, held_out = (part.images_per_class() for part in (found.train, found.held_out))
        assert not set(found.train.paths_or_keys) & set(found.held_out.paths_or_keys)
        for name, count in counts.items():
            assert train[name] + held_out.get(name, 0) == count
            assert (held_out.get(name, 0) > 0) == (count > 1)


def test_one_image_alone_is_trained_on(tmp_path, drawn):
    _write(tmp_path / "okapi", 1)
    found = splits.open_splits(f"folder:{tmp_path / 'okapi'}")
    assert found.train.images_per_class() == {"okapi": 1}
    assert not found.held_out.images_per_class(), "drawn background alone"


def test_background_of_another_set(tmp_path):
    data = f"folder:{_write(tmp_path / 'set' / 'okapi', 20).parent}"
    flat = f"folder:{_write(tmp_path / 'nothing', 9)}"
    for split in ("train", "heldout"):
        source = open_source(data, split, background=flat)
        assert source.class_names == ("okapi",)
        count = {"train": 8, "heldout": 1}[split]
        assert source.is_background.sum() == count
    # A set that says which of its images are background is believed.
    labelled = _write(tmp_path / "other" / "background", 3).parent
    _write(labelled / "zebra", 5)
    source = open_source(data, background=f"folder:{labelled}", heldout_fraction=0.0)
    assert source.class_names == ("okapi",) and source.is_background.sum() == 3
    # Of one that does not, the images of the classes are left out.
    mixed = _write(tmp_path / "mixed" / "okapi", 3).parent
    _write(mixed / "zebra", 5)
    source = open_source(data, background=f"folder:{mixed}", heldout_fraction=0.0)
    assert source.is_background.sum() == 5 and source.images_per_class() == {"okapi": 20}
    with pytest.raises(ValueError, match="whose images are labelled okapi"):
        open_source(data, background=data, heldout_fraction=0.0)
    # Only what is trained matters.
    both = open_source(f"folder:{mixed}", background=f"folder:{mixed / 'zebra'}", classes=["okapi"])
    assert both.is_background.any()


def test_what_classes_are_told_apart_from(tmp_path):
    _write(tmp_path / "okapi", 10)
    _write(tmp_path / "zebra", 10)
    found = splits.open_splits(f"folder:{tmp_path}")
    assert "other classes" in found.negatives
    okapi = found.train.class_names.index("okapi")
    np.testing.assert_array_equal(found.train.is_negative(okapi), found.train.labels[:, 1 - okapi])
    _write(tmp_path / "background", 5)
    found = splits.open_splits(f"folder:{tmp_path}")
    assert found.negatives == "4 images of background"
    np.testing.assert_array_equal(found.train.is_negative(okapi), found.train.is_background)


def test_splits_share_their_columns(tmp_path):
    for name in ("ant", "yak"):
        _write(tmp_path / "train" / name, 2)
    for name in ("bee", "yak"):
        _write(tmp_path / "test" / name, 2)
    found = splits.open_splits(f"folder:{tmp_path}")
    assert found.train.class_names == ("ant", "yak")
    assert found.held_out.class_names == ("ant", "yak", "bee")
    assert found.held_out.labels.sum(axis=0).tolist() == [0, 2, 2]
    assert not found.held_out.is_background.any(), "a bee is no background"


@pytest.mark.parametrize(
    "rows, message",
    [
        (["000.png,Bird", "001.png,bird"], "upper and lower case.*Received: 'Bird' and 'bird'"),
        (["000.png,Background", "001.png,bird"], "rename the label. Received: 'Background'"),
        (["000.png," + "x" * 300], "Received: 300 characters, .*line 2"),
        (["000.png,a;;b"], "not empty. Received: '' at .*line 2"),
    ],
)
def test_labels_that_cannot_be(tmp_path, rows, message):
    data = _manifest(tmp_path, "\n".join(["path,labels", *rows]).encode())
    with pytest.raises(ValueError, match=message):
        open_source(data)


def test_labels_that_differ_in_case_can_be_merged(tmp_path):
    data = _manifest(tmp_path, b"path,labels\n000.png,Bird\n001.png,bird\n")
    source = open_source(data, label_map={"Bird": "bird"}, heldout_fraction=0.0)
    assert source.images_per_class() == {"bird": 2}


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_manifests_of_spreadsheets(tmp_path, ending, encoding):
    text = ending.join(["path,labels", "000.png,vögel", '001.png,"one, two"', ""])
    source = open_source(_manifest(tmp_path, text.encode(encoding)), heldout_fraction=0.0)
    assert source.class_names == ("one, two", "vögel")


@pytest.mark.parametrize("encoding", ["latin1", "utf-16"])
def test_manifests_in_other_encodings(tmp_path, encoding):
    data = _manifest(tmp_path, "path,labels\n000.png,vögel\n".encode(encoding))
    line = {"latin1": 2, "utf-16": 1}[encoding]
    with pytest.raises(ValueError, match=f"UTF-8.*Received: the byte 0x.. at .*, line {line}"):
        open_source(data)


def test_an_empty_folder(tmp_path):
    with pytest.raises(ValueError, match="must hold images.*Received: .* without any"):
        open_source(f"folder:{tmp_path}")


def test_what_is_not_used_is_said(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(file_sources.logging, "warning", lambda text, *v: said.append(text % v))
    _write(tmp_path / "okapi", 4)
    _write(tmp_path, 3)
    (tmp_path / "__MACOSX").mkdir()
    source = open_source(f"folder:{tmp_path}", heldout_fraction=0.0)
    assert source.images_per_class() == {"okapi": 4}
    assert said == [f"3 images beside the sub-folders of {tmp_path} are not used."]


def test_images_deeper_down(tmp_path):
    _write(tmp_path / "okapi" / "2019", 4)
    with pytest.raises(ValueError, match="not in folders of its own. Received: .*okapi without"):
        open_source(f"folder:{tmp_path}")


def test_one_image_per_class(tmp_path):
    _write(tmp_path / "okapi", 1)
    _write(tmp_path / "yak", 1)
    with pytest.raises(ValueError, match="two images or more.*Received: no heldout image of"):
        splits.open_splits(f"folder:{tmp_path}")
