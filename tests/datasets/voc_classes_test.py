"""Tests of the twenty classes and the synsets that stand for them."""

import json
import subprocess
import sys

from anchornet_tf.datasets import voc_classes
from tests.shared_data import shared_path


def test_twenty_classes_in_alphabetical_order():
    assert len(voc_classes.VOC_CLASSES) == 20
    assert list(voc_classes.VOC_CLASSES) == sorted(voc_classes.VOC_CLASSES)


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


def test_imports_no_tensorflow():
    code = "import sys, anchornet_tf.datasets.voc_classes; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
