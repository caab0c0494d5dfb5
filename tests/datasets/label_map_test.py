"""What becomes of labels: any label is a class, maps merge them, slips are found."""

import json

import pytest

from anchornet_tf.datasets import label_map
from anchornet_tf.datasets.voc_classes import VOC_CLASSES
from tests.shared_data import shared_path


def test_by_default_labels_stand_for_themselves():
    own = label_map.find(None)
    assert own.apply(["okapi", "background", "French horn"]) == {
        "okapi": "okapi",
        "background": "background",
        "French horn": "French horn",
    }
    assert own.order({"okapi", "ant"}) == ("ant", "okapi")


def test_a_map_merges(tmp_path):
    names = {"great egret": "egret", "snowy egret": "egret", "sky": "background"}
    path = tmp_path / "map.json"
    path.write_text("\ufeff" + json.dumps(names), encoding="utf-8")
    for given in (names, path, str(path)):
        found = label_map.find(given).apply(["great egret", "snowy egret", "sky", "heron"])
        assert list(found.values()) == ["egret", "egret", "background", "heron"]
    rest = label_map.find(names | {"*": "background"})
    assert rest.apply(["heron", "great egret"]) == {"heron": "background", "great egret": "egret"}


def test_ilsvrc12_has_769_background_synsets():
    lines = shared_path("protocols/ilsvrc12_wnid_names.txt").read_text().splitlines()
    mapped = label_map.find("voc20").apply(line.split()[0] for line in lines)
    assert len(mapped) == 1000
    assert list(mapped.values()).count("background") == 769


@pytest.mark.parametrize(
    "name, is_voc",
    [
        ("imagenet2012", True),
        ("imagenet2012:5.1.0", True),
        ("voc/2012", True),
        ("voc", True),
        ("imagenette/320px", False),
        ("vocal", False),
        ("", False),
    ],
)
def test_which_sets_have_the_twenty_classes(name, is_voc):
    assert (label_map.find(None, name).classes == VOC_CLASSES) == is_voc
    assert label_map.find({"a": "b"}, name).classes is None, "what the user says goes first"


def test_the_twenty_refuse_other_labels():
    with pytest.raises(ValueError, match="Received: 2 other labels: 'airplane', 'frog'"):
        label_map.find("voc20").apply(["frog", "cow", "airplane"])


@pytest.mark.parametrize(
    "content, message",
    [
        ('{"a": ', "must be JSON.*Received: .*map.json"),
        ('["a"]', r"gives each label a class.*Received: \['a'\] in"),
        ("{}", r"gives each label a class.*Received: {} in"),
        ('{"a": 3}', "Received: 'a': 3 in .*map.json"),
        ('{"a": ""}', "Received: 'a': '' in"),
        ('{"": "a"}', "Received: '': 'a' in"),
        ('{"a": {"b": "c"}}', "Received: 'a': {'b': 'c'} in"),
    ],
)
def test_wrong_files(tmp_path, content, message):
    path = tmp_path / "map.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        label_map.find(path)


def test_a_file_in_another_encoding(tmp_path):
    path = tmp_path / "map.json"
    path.write_bytes('{"vögel": "bird"}'.encode("latin1"))
    with pytest.raises(ValueError, match="JSON in UTF-8.*Received: .*map.json"):
        label_map.find(path)


def test_no_such_map():
    with pytest.raises(ValueError, match="`voc20` or a JSON file.*Received: 'voc21'"):
        label_map.find("voc21")


def test_one_form_of_each_label():
    assert label_map.normal_form(" vo\u0308gel ") == "vögel"
    for label in ("", "  ", "a\nb", "a\0b"):
        with pytest.raises(ValueError, match="and not empty. Received: "):
            label_map.normal_form(label)
    assert label_map.normal_form("x" * 200)
    with pytest.raises(ValueError, match="at most 200 characters. Received: 300 characters"):
        label_map.normal_form("x" * 300)


@pytest.mark.parametrize("names", [("Bird", "bird"), ("STRASSE", "straße")])
def test_labels_that_differ_in_case_alone(names):
    with pytest.raises(ValueError, match="merge them by a label map. Received: .* and "):
        label_map.check_distinct(names)
    label_map.check_distinct(("bird", "birds"))
