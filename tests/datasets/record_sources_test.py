"""Tests of image sets made of records."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from anchornet_tf.datasets.sources import open_source

BIRD, COW = 2, 9


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ANCHORNET_CACHE", str(folder))
    return folder


class _Builder(tfds.core.GeneratorBasedBuilder):
    """A few images of one grey level each; levels tell the image."""

    VERSION = tfds.core.Version("1.0.0")
    # Nothing is downloaded: there are no checksums to look for beside the code.
    code_path = None
    LABELS: dict
    SPLITS: dict[str, list]

    def _info(self):
        features = {"image": tfds.features.Image(encoding_format="png"), **self.LABELS}
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager):
        return {name: self._generate_examples(rows) for name, rows in self.SPLITS.items()}

    def _generate_examples(self, rows):
        for index, labels in enumerate(rows):
            yield index, {"image": np.full((5, 7, 3), 8 * index, np.uint8), **labels}


class AnchornetTinySynsets(_Builder):
    LABELS = {"label": tfds.features.ClassLabel(names=["n01440764", "n01514668", "n02403003"])}
    SPLITS = {
        "train": [{"label": index % 3} for index in range(9)],
        "validation": [{"label": 0}, {"label": 1}],
        "test": [{"label": 0}],
    }


class AnchornetTinyMulti(_Builder):
    LABELS = {
        "labels": tfds.features.Sequence(tfds.features.ClassLabel(names=["bird", "ox", "tree"]))
    }
    SPLITS = {"train": [{"labels": [0, 1]}, {"labels": []}, {"labels": [2]}, {"labels": [1, 2]}]}


class AnchornetTinyObjects(_Builder):
    LABELS = {"objects": tfds.features.Sequence({"label": tfds.features.Text()})}
    SPLITS = {
        "train": [{"objects": [{"label": "bird"}, {"label": "cow"}]}, {"objects": []}],
    }


class AnchornetTinyBare(_Builder):
    LABELS = {"caption": tfds.features.Text()}
    SPLITS = {"train": [{"caption": "a bird"}]}


class AnchornetTinyDamaged(_Builder):
    LABELS = {"label": tfds.features.ClassLabel(names=["bird", "background"])}
    SPLITS = {"train": [{"label": index % 2} for index in range(30)]}

    def _generate_examples(self, rows):
        for index, example in super()._generate_examples(rows):
            yield index, example | ({"image": __file__} if index == 4 else {})


def _level(source, index):
    return int(source.read(index)[0, 0, 0])


def test_synsets_become_classes(tmp_path):
    spec = "tfds:anchornet_tiny_synsets"
    source = open_source(spec, data_dir=tmp_path, label_map="voc20")
    assert len(source) == 9 and len(source.class_names) == 20
    assert source.labels.sum(axis=0)[[BIRD, COW]].tolist() == [3, 3]
    assert source.is_background.sum() == 3
    for index in range(9):
        kind = (_level(source, index) // 8) % 3
        assert np.flatnonzero(source.labels[index]).tolist() == [[], [BIRD], [COW]][kind]
    heldout = open_source(spec, "heldout", data_dir=tmp_path, label_map="voc20")
    assert len(heldout) == 2
    assert all("/validation/" in key for key in heldout.paths_or_keys)
    assert source.fingerprint() != heldout.fingerprint()
    again = open_source(spec, data_dir=tmp_path, label_map="voc20")
    assert source.fingerprint() == again.fingerprint()


def test_a_set_has_its_own_classes(tmp_path):
    source = open_source("tfds:anchornet_tiny_synsets", data_dir=tmp_path)
    assert source.images_per_class() == {"n01440764": 3, "n01514668": 3, "n02403003": 3}


def test_graph_reads_what_python_reads(tmp_path):
    source = open_source("tfds:anchornet_tiny_synsets", data_dir=tmp_path).select([7, 2])
    images = list(tf.data.Dataset.range(2).map(source.image_tensor).as_numpy_iterator())
    assert [image.shape for image in images] == [(5, 7, 3)] * 2
    np.testing.assert_array_equal(images, [source.read(0), source.read(1)])


def test_several_labels_and_names_of_its_own(tmp_path):
    source = open_source(
        "tfds:anchornet_tiny_multi",
        data_dir=tmp_path,
        label_map={"ox": "cow", "tree": "background"},
        heldout_fraction=0.0,
    )
    assert source.class_names == ("bird", "cow")
    found = {
        _level(source, index): np.flatnonzero(source.labels[index]).tolist() for index in range(4)
    }
    assert found == {0: [0, 1], 8: [], 16: [], 24: [1]}


def test_labels_of_objects(tmp_path):
    source = open_source("tfds:anchornet_tiny_objects", data_dir=tmp_path, heldout_fraction=0.0)
    found = {
        _level(source, index): np.flatnonzero(source.labels[index]).tolist() for index in range(2)
    }
    assert found == {0: [0, 1], 8: []}


def test_divides_a_set_without_heldout_split(tmp_path):
    parts = [
        open_source(
            "tfds:anchornet_tiny_multi",
            split,
            data_dir=tmp_path,
            label_map={"*": "background"},
            heldout_fraction=0.5,
        )
        for split in ("train", "heldout")
    ]
    keys = [key for part in parts for key in part.paths_or_keys]
    assert len(keys) == len(set(keys)) == 4


def test_unreadable_records_are_skipped(tmp_path):
    source = open_source("tfds:anchornet_tiny_damaged", data_dir=tmp_path, heldout_fraction=0.0)
    assert len(source) == 29 and len(source.unreadable) == 1
    assert 8 * 4 not in {_level(source, index) for index in range(29)}


def test_unknown_names_are_found_before_the_set_is_prepared(tmp_path):
    with pytest.raises(ValueError, match="Received: 2 other labels: 'ox', 'tree'"):
        open_source("tfds:anchornet_tiny_multi", data_dir=tmp_path / "sets", label_map="voc20")
    assert not (tmp_path / "sets").exists()


def test_set_without_labels(tmp_path):
    with pytest.raises(ValueError, match="Received: anchornet_tiny_bare with .*caption"):
        open_source("tfds:anchornet_tiny_bare", data_dir=tmp_path)


def test_unknown_set(tmp_path):
    with pytest.raises(ValueError, match="Received: 'no_such_set'"):
        open_source("tfds:no_such_set", data_dir=tmp_path)


def test_set_that_must_be_downloaded_by_hand(tmp_path):
    pytest.importorskip(
        "importlib_resources", reason="tensorflow-datasets needs it for its own sets"
    )
    with pytest.raises(ValueError, match="(?s)could not be prepared.*Received: imagenet2012"):
        open_source("tfds:imagenet2012", data_dir=tmp_path)


def test_set_without_random_access(tmp_path):
    tfds.builder("anchornet_tiny_multi", data_dir=tmp_path).download_and_prepare()
    with pytest.raises(ValueError, match="convert_format.*Received: anchornet_tiny_multi as"):
        open_source("tfds:anchornet_tiny_multi", data_dir=tmp_path)


def test_parts_world():
    source, heldout = open_source("parts_world"), open_source("parts_world", "heldout")
    for split, label_count in ((source, 60), (heldout, 20)):
        assert (split.labels.sum(axis=0) == label_count).all()
        assert split.is_background.sum() >= 100
    assert source.fingerprint() != heldout.fingerprint()
    bird = int(np.flatnonzero(source.labels[:, BIRD])[0])
    (image,) = tf.data.Dataset.from_tensors(bird).map(source.image_tensor).as_numpy_iterator()
    assert image.shape == (224, 224, 3) and image.std() > 10
    np.testing.assert_array_equal(image, source.read(bird))


def test_records_joined_with_files(tmp_path):
    path = tmp_path / "birds" / "bird" / "a.png"
    path.parent.mkdir(parents=True)
    tf.io.write_file(str(path), tf.io.encode_png(np.full((3, 3, 3), 99, np.uint8)))
    joined = open_source(
        f"tfds:anchornet_tiny_objects+folder:{tmp_path / 'birds'}",
        data_dir=tmp_path,
        heldout_fraction=0.0,
    )
    assert len(joined) == 3 and _level(joined, 2) == 99
    images = list(tf.data.Dataset.range(3).map(joined.image_tensor).as_numpy_iterator())
    for index, image in enumerate(images):
        np.testing.assert_array_equal(image, joined.read(index))


def test_an_array_must_be_an_image():
    from anchornet_tf.datasets.image_source import image_of_record

    assert image_of_record({"image": np.zeros((2, 3, 1), np.uint8)}).shape == (2, 3, 3)
    with pytest.raises(ValueError, match=r"Received: float64 of shape \(2, 3, 3\)"):
        image_of_record({"image": np.zeros((2, 3, 3))})
