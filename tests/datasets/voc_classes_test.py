"""Tests of the twenty classes and the synsets that stand for them."""

import json
import subprocess
import sys

import pytest

from anchornet_tf.datasets import voc_classes
from tests.shared_data import shared_path


def test_twenty_classes_in_alphabetical_order():
    assert len(voc_classes.VOC_CLASSES) == 20
    assert list(voc_classes.VOC_CLASSES) == sorted(voc_classes.VOC_CLASSES)
    assert voc_classes.class_index("aeroplane") == 0
    assert voc_classes.class_index("tvmonitor") == 19


def test_check_classes_keeps_order():
    assert voc_classes.check_classes("bird") == ("bird",)
    assert voc_classes.check_classes(["cow", "bird"]) == ("cow", "bird")


def test_check_classes_lists_the_twenty():
    with pytest.raises(ValueError, match="Received: 'unicorn'") as caught:
        voc_classes.check_classes(["bird", "unicorn"])
    assert all(name in str(caught.value) for name in voc_classes.VOC_CLASSES)


@pytest.mark.parametrize("names, received", [([], "no class"), (["cow", "cow"], "cow, cow")])
def test_check_classes_wants_each_once(names, received):
    with pytest.raises(ValueError, match=f"Received: {received}"):
        voc_classes.check_classes(names)


def test_synsets():
    synsets = voc_classes.synsets_by_class()
    assert tuple(synsets) == voc_classes.VOC_CLASSES
    assert sum(map(len, synsets.values())) == 231
    assert len(voc_classes.class_by_synset()) == 231
    assert voc_classes.class_by_synset()["n02690373"] == "aeroplane"


def test_synsets_equal_the_protocol():
    protocol = json.loads(shared_path("protocols/voc20_to_ilsvrc12_231.json").read_text())
    found = voc_classes.synsets_by_class()
    assert {name: set(ids) for name, ids in found.items()} == {
        name: set(ids) for name, ids in protocol.items()
    }


def test_ilsvrc12_has_769_background_synsets():
    lines = shared_path("protocols/ilsvrc12_wnid_names.txt").read_text().splitlines()
    mapped = voc_classes.map_label_names(line.split()[0] for line in lines)
    assert len(mapped) == 1000
    assert list(mapped.values()).count("background") == 769


def test_map_label_names():
    mapped = voc_classes.map_label_names(
        ["cow", "background", "n02690373", "n01440764", "airplane", "frog"],
        {"airplane": "aeroplane", "*": "background"},
    )
    assert mapped == {
        "cow": "cow",
        "background": "background",
        "n02690373": "aeroplane",
        "n01440764": "background",
        "airplane": "aeroplane",
        "frog": "background",
    }


def test_map_label_names_prefers_the_users_word():
    assert voc_classes.map_label_names(["cat"], {"cat": "dog"}) == {"cat": "dog"}


def test_map_label_names_refuses_unknown_labels():
    with pytest.raises(ValueError, match="Received: 2 other labels: 'airplane', 'frog'"):
        voc_classes.map_label_names(["frog", "cow", "airplane"])


def test_map_label_names_refuses_a_map_on_no_class():
    with pytest.raises(ValueError, match="Received: 'plane'"):
        voc_classes.map_label_names(["airplane"], {"airplane": "plane"})


def test_imports_no_tensorflow():
    code = "import sys, anchornet_tf.datasets.voc_classes; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
