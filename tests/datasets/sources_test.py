"""Tests of image sets made of files, and of what all kinds of sets have in common."""

import shutil

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf
from absl import logging

from anchornet_tf.datasets import file_sources, image_source
from anchornet_tf.datasets.sources import open_source
from tests.shared_data import shared_path


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ANCHORNET_CACHE", str(folder))
    return folder


@pytest.fixture
def warnings(monkeypatch):
    messages = []
    monkeypatch.setattr(logging, "warning", lambda text, *values: messages.append(text % values))
    return messages


def _save(path, level=100, mode="RGB", size=(9, 6)):
    path.parent.mkdir(parents=True, exist_ok=True)
    colour = {"RGB": (level, 0, 0), "RGBA": (level, 0, 0, 255), "L": level}[mode]
    PIL.Image.new(mode, size, colour).save(path)


def _folder(root, counts):
    for number, (name, count) in enumerate(counts.items()):
        for index in range(count):
            _save(root / name / f"{index:03}.png", level=40 * number + index)
    return root


def _manifest(root, rows, header="path,labels"):
    root.mkdir(parents=True, exist_ok=True)
    path = root / "labels.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_folder(tmp_path):
    root = _folder(tmp_path / "set", {"bird": 3, "background": 2})
    (root / "notes.txt").write_text("no image")
    (root / "bird" / "notes.txt").write_text("no image")
    (root / ".thumbnails").mkdir()
    source = open_source(f"folder:{root}", heldout_fraction=0.0)
    assert source.paths_or_keys == (
        *("background/000.png", "background/001.png"),
        *("bird/000.png", "bird/001.png", "bird/002.png"),
    )
    assert source.labels.shape == (5, 1) and source.labels.dtype == bool
    assert np.flatnonzero(source.labels[:, 0]).tolist() == [2, 3, 4]
    assert source.is_background.tolist() == [True, True, False, False, False]
    assert source.class_names == ("bird",) and len(source) == 5
    image = source.read(4)
    assert image.shape == (6, 9, 3) and image.dtype == np.uint8
    assert image[0, 0].tolist() == [2, 0, 0]


def test_folder_lists_what_tfds_lists(tmp_path):
    import tensorflow_datasets as tfds

    root = _folder(tmp_path / "set" / "train", {"bird": 3, "background": 2}).parent
    _save(root / "train" / "bird" / "PHOTO.JPEG")
    builder = tfds.folder_dataset.ImageFolder(str(root))
    expected = {
        (item["image/filename"].decode(), builder.info.features["label"].int2str(item["label"]))
        for item in builder.as_dataset(split="train").as_numpy_iterator()
    }
    source = open_source(f"folder:{root}", heldout_fraction=0.0)
    found = {
        (path, "bird" if label else "background")
        for path, label in zip(source.reader.paths, source.labels[:, 0], strict=True)
    }
    assert found == expected


@pytest.mark.parametrize("heldout", ["test", "validation", "val", "heldout"])
def test_folder_with_splits_of_its_own(tmp_path, heldout):
    root = tmp_path / "set"
    _folder(root / "train", {"bird": 4, "background": 4})
    _folder(root / heldout, {"bird": 1, "background": 2})
    assert len(open_source(f"folder:{root}", "train")) == 8
    assert len(open_source(f"folder:{root}", "heldout")) == 3


def test_manifest(tmp_path):
    rows = ["images/a.png,bird;cow", " images/b.png , background ", "", "images/c.jpg,cow"]
    for name in ("a.png", "b.png", "c.jpg"):
        _save(tmp_path / "images" / name)
    path = _manifest(tmp_path, rows, header="\ufeffpath,labels")
    source = open_source(f"manifest:{path}", heldout_fraction=0.0)
    assert source.paths_or_keys == ("images/a.png", "images/b.png", "images/c.jpg")
    assert [np.flatnonzero(row).tolist() for row in source.labels] == [[0, 1], [], [1]]


def test_label_map(tmp_path):
    root = _folder(tmp_path, {"airplane": 2, "frog": 3, "n02690373": 1})
    names = {"airplane": "aeroplane", "n02690373": "aeroplane", "*": "background"}
    source = open_source(f"folder:{root}", label_map=names, heldout_fraction=0.0)
    assert source.class_names == ("aeroplane",)
    assert source.labels.sum() == 3 and source.is_background.sum() == 3


@pytest.mark.parametrize("mode, suffix", [("L", "png"), ("RGBA", "png"), ("L", "jpg")])
def test_grey_and_transparent_images_are_read_as_rgb(tmp_path, mode, suffix):
    _save(tmp_path / "bird" / f"a.{suffix}", mode=mode, size=(1, 1))
    _save(tmp_path / "background" / "b.png")
    source = open_source(f"folder:{tmp_path}", heldout_fraction=0.0)
    image = source.read(1)
    assert image.shape == (1, 1, 3)
    assert abs(int(image[0, 0, 0]) - 100) < 3


def test_graph_reads_what_python_reads(tmp_path):
    root = _folder(tmp_path, {"bird": 3, "background": 2})
    source = open_source(f"folder:{root}", heldout_fraction=0.0).select([4, 0, 2])
    dataset = tf.data.Dataset.range(3).map(source.image_tensor)
    assert dataset.element_spec.shape.as_list() == [None, None, 3]
    for index, image in enumerate(dataset.as_numpy_iterator()):
        np.testing.assert_array_equal(image, source.read(index))


def test_heldout_images_are_never_trained_on(tmp_path):
    root = _folder(tmp_path, {"bird": 150, "background": 150})
    train, heldout = (open_source(f"folder:{root}", split) for split in ("train", "heldout"))
    assert not set(train.paths_or_keys) & set(heldout.paths_or_keys)
    assert len(train) + len(heldout) == 300
    # 30, deviation 5.
    assert 12 <= len(heldout) <= 48
    other = open_source(f"folder:{root}", "heldout", seed=1)
    assert set(other.paths_or_keys) != set(heldout.paths_or_keys)


def test_images_keep_their_side_when_others_come(tmp_path):
    root = _folder(tmp_path / "one", {"bird": 60, "background": 20})
    before = set(open_source(f"folder:{root}", "heldout", heldout_fraction=0.3).paths_or_keys)
    _folder(root, {"bird": 80, "background": 20, "cow": 5})
    after = set(open_source(f"folder:{root}", "heldout", heldout_fraction=0.3).paths_or_keys)
    assert before < after


def test_fingerprint_stays_when_the_set_moves_and_changes_with_it(tmp_path):
    def fingerprint(root):
        return open_source(f"folder:{root}", heldout_fraction=0.0).fingerprint()

    root = _folder(tmp_path / "one", {"bird": 3, "background": 2})
    first = fingerprint(root)
    copy = tmp_path / "two"
    shutil.copytree(root, copy)
    assert fingerprint(copy) == first == fingerprint(root)
    _save(copy / "bird" / "000.png", size=(90, 60))
    replaced = fingerprint(copy)
    _save(copy / "bird" / "999.png")
    added = fingerprint(copy)
    (copy / "bird").rename(copy / "cow")
    relabelled = fingerprint(copy)
    assert len({first, replaced, added, relabelled}) == 4


def test_unreadable_images_are_skipped_and_reported(tmp_path, warnings):
    root = _folder(tmp_path, {"bird": 30, "background": 12})
    whole = (root / "bird" / "003.png").read_bytes()
    (root / "bird" / "003.png").write_bytes(whole[: len(whole) // 2])
    (root / "bird" / "007.png").write_bytes(b"")
    source = open_source(f"folder:{root}", heldout_fraction=0.0)
    assert source.unreadable == ("bird/003.png", "bird/007.png")
    assert len(source) == 40 and not set(source.unreadable) & set(source.paths_or_keys)
    assert any("bird/003.png" in message for message in warnings)
    assert any("Skipped 2 of 42 images" in message for message in warnings)
    for index in range(len(source)):
        source.read(index)


def test_truncated_jpeg_is_unreadable(tmp_path, warnings):
    root = _folder(tmp_path, {"bird": 30, "background": 12})
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    photo = root / "bird" / "photo.jpg"
    PIL.Image.fromarray(noise).save(photo)
    photo.write_bytes(photo.read_bytes()[:2000])
    source = open_source(f"folder:{root}", heldout_fraction=0.0)
    assert source.unreadable == ("bird/photo.jpg",)
    assert warnings


def test_too_many_unreadable_images_are_an_error(tmp_path):
    root = _folder(tmp_path, {"bird": 15, "background": 3})
    for index in range(3, 6):
        (root / "bird" / f"{index:03}.png").write_bytes(b"no image")
    assert len(open_source(f"folder:{root}", heldout_fraction=0.0)) == 15, "a few are skipped"
    (root / "bird" / "009.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match="Received: 4 of 18, such as bird/003.png"):
        open_source(f"folder:{root}", heldout_fraction=0.0)


def test_images_are_checked_once(tmp_path, monkeypatch):
    root = _folder(tmp_path, {"bird": 25, "background": 5})
    (root / "bird" / "003.png").write_bytes(b"no image")
    first = open_source(f"folder:{root}", heldout_fraction=0.0)

    def find_way(path):
        raise AssertionError("read again")

    monkeypatch.setattr(file_sources, "find_way", find_way)
    again = open_source(f"folder:{root}", heldout_fraction=0.0)
    assert again.unreadable == first.unreadable == ("bird/003.png",)


def test_a_damaged_cache_is_made_again(tmp_path, cache):
    root = _folder(tmp_path / "set", {"bird": 5, "background": 5})
    open_source(f"folder:{root}")
    (kept,) = (cache / "scans").iterdir()
    kept.write_text("[tru")
    assert len(open_source(f"folder:{root}", heldout_fraction=0.0)) == 10


def test_joined_sets(tmp_path):
    birds = _folder(tmp_path / "a+b", {"bird": 3})
    _save(tmp_path / "c" / "x.png", level=77)
    manifest = _manifest(tmp_path / "c", ["x.png,background"])
    joined = open_source(f"folder:{birds}+manifest:{manifest}", heldout_fraction=0.0)
    assert joined.paths_or_keys == ("bird/000.png", "bird/001.png", "bird/002.png", "x.png")
    assert joined.is_background.tolist() == [False, False, False, True]
    assert joined.read(3)[0, 0].tolist() == [77, 0, 0]
    assert joined.require_classes(["bird"]) == (0,)
    (image,) = tf.data.Dataset.from_tensors(3).map(joined.image_tensor).as_numpy_iterator()
    assert image[0, 0].tolist() == [77, 0, 0]


def test_joined_sets_have_the_classes_of_all(tmp_path):
    first = _folder(tmp_path / "a", {"yak": 2, "ant": 1})
    second = _folder(tmp_path / "b", {"emu": 1, "ant": 2, "background": 1})
    joined = open_source(f"folder:{first}+folder:{second}", heldout_fraction=0.0)
    assert joined.images_per_class() == {"ant": 3, "yak": 2, "emu": 1}
    assert joined.is_background.sum() == 1


def test_require_classes(tmp_path):
    root = _folder(tmp_path, {"bird": 3, "cow": 2, "background": 2})
    source = open_source(f"folder:{root}", heldout_fraction=0.0)
    assert source.require_classes(["cow", "bird"]) == (1, 0)
    with pytest.raises(
        ValueError, match=r"images of, or all: bird \(3\), cow \(2\)\. Received: 'dog'"
    ):
        source.require_classes(["bird", "dog"])
    with pytest.raises(ValueError, match="did you mean 'cow'. Received: 'cows'"):
        source.require_classes("cows")
    with pytest.raises(ValueError, match="named once. Received: cow, cow"):
        source.require_classes(["cow", "cow"])
    birds = source.select([2, 3, 4])
    with pytest.raises(ValueError, match="Received: folder:.* with 3 images, all of 'bird'"):
        birds.require_classes("bird")
    assert source.select([2, 3, 4, 5]).require_classes("bird") == (0,), "told apart from a cow"


def test_source_wants_one_of_each(tmp_path):
    reader = image_source.FileReader(["a.png"])
    with pytest.raises(ValueError, match=r"Received: 1 names, labels of shape \(1, 3\)"):
        image_source.ImageSource("x", ("bird",), ("a.png",), np.zeros((1, 3)), ("1",), reader)


def test_missing_folder(tmp_path):
    with pytest.raises(ValueError, match="Received: .*nowhere"):
        open_source(f"folder:{tmp_path / 'nowhere'}")


def test_folder_without_classes(tmp_path):
    with pytest.raises(ValueError, match="Received: .* without any"):
        open_source(f"folder:{tmp_path}")


def test_empty_class(tmp_path):
    _folder(tmp_path, {"bird": 3, "background": 3})
    (tmp_path / "cow").mkdir()
    with pytest.raises(ValueError, match="Received: .*cow without any"):
        open_source(f"folder:{tmp_path}")


def test_missing_manifest(tmp_path):
    with pytest.raises(ValueError, match="Received: .*nowhere.csv"):
        open_source(f"manifest:{tmp_path / 'nowhere.csv'}")


@pytest.mark.parametrize("header", ["file,class", "path", "path,labels,split", ""])
def test_manifest_with_another_header(tmp_path, header):
    path = _manifest(tmp_path, ["a.png,bird"], header=header)
    with pytest.raises(ValueError, match=f"must be `path,labels`. Received: `{header}` in"):
        open_source(f"manifest:{path}")


@pytest.mark.parametrize(
    "text",
    [
        '"path,\nlabels"\na.png,bird\n',
        'path,labels\n"a\nb.png"\n',
        'path,labels\n"a\nb.png",bird\n',
        'path,labels\n"a\nb.png",bird\n"a\nb.png",cow\n',
    ],
)
def test_a_manifest_with_quoted_line_breaks_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match="Received: ") as refusal:
        open_source(f"manifest:{path}")
    assert "\n" not in str(refusal.value)


def test_manifest_with_missing_files(tmp_path):
    _save(tmp_path / "a.png")
    rows = ["a.png,background"] + [f"gone{index}.png,bird" for index in range(8)]
    path = _manifest(tmp_path, rows)
    with pytest.raises(ValueError, match="Received: 8 of 9 missing, such as .*gone0") as caught:
        open_source(f"manifest:{path}")
    assert "gone4" in str(caught.value) and "gone5" not in str(caught.value)


@pytest.mark.parametrize(
    "rows, message",
    [
        (["a.png"], "Received: `a.png` at .*line 2"),
        (["a.png,bird", "b.png,"], "Received: `b.png,` at .*line 3"),
        (["a.png,bird,cow"], "Received: `a.png,bird,cow` at .*line 2"),
        (["a.png,bird;background"], "Received: `bird;background` at .*line 2"),
        (["a.png,bird", "a.png,cow"], "Received: a.png again at .*line 3"),
        (["a.png,bird;", "b.png,background"], "not empty. Received: '' at .*line 2"),
        ([], "Received: .*labels.csv"),
    ],
)
def test_manifest_with_a_wrong_line(tmp_path, rows, message):
    for name in ("a.png", "b.png"):
        _save(tmp_path / name)
    with pytest.raises(ValueError, match=message):
        open_source(f"manifest:{_manifest(tmp_path, rows)}")


@pytest.mark.parametrize(
    "spec", ["", "folder", "folder:", "zip:a.zip", "parts_worlds", "labels.csv"]
)
def test_unknown_spec(spec):
    with pytest.raises(ValueError, match=f"`tfds:NAME`. Received: '{spec}'"):
        open_source(spec)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"split": "test"}, "train, heldout. Received: split='test'"),
        ({"heldout_fraction": 1.0}, "Received: heldout_fraction=1.0"),
        ({"heldout_fraction": -0.1}, "Received: heldout_fraction=-0.1"),
        ({"split": "heldout", "heldout_fraction": 0.0}, "Received: no heldout image of folder:"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    _folder(tmp_path, {"bird": 3, "background": 3})
    with pytest.raises(ValueError, match=message):
        open_source(f"folder:{tmp_path}", **arguments)


@pytest.mark.slow
def test_real_manifest():
    path = shared_path("data/voc12-weak/labels.csv")
    sources = [open_source(f"manifest:{path}", split) for split in ("train", "heldout")]
    assert sum(map(len, sources)) == 6303
    assert sum(source.is_background.sum() for source in sources) == 1769
    for source in sources:
        assert len(source.require_classes(source.class_names)) == 20
        assert not source.unreadable
