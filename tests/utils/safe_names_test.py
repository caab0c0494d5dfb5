"""Names of files and layers for classes of any name."""

import itertools
import re

import pytest

from anchornet_tf.utils.safe_names import joined_name, safe_name

NAMES = (
    *("bird", "Bird", "french_horn", "french horn", "french-horn", "French horn", "a/b", "a_b"),
    *("a.b", "..", "", " ", ".hidden", "~", "con", "NUL", "vögel", "vo\u0308gel", "キリン", "☃"),
    *("x" * 60, "x" * 61, "é" * 300, "bird.c9de700d", "tab\tnew\nline", "a\0b", "\udcff"),
)


@pytest.mark.parametrize("name", ["bird", "french_horn", "T-34", "0"])
def test_plain_names_stay(name):
    assert safe_name(name) == safe_name(name, ascii_only=True) == name


@pytest.mark.parametrize("ascii_only", [False, True])
def test_names_are_safe_and_different(ascii_only):
    safe = [safe_name(name, ascii_only) for name in NAMES]
    for left, right in itertools.combinations(safe, 2):
        assert left != right
    for name in safe:
        assert len(name.encode()) < 200 and not name.startswith((".", "-", "~"))
        assert re.fullmatch(r"[\w.-]+", name, re.ASCII if ascii_only else 0)


def test_letters_of_all_alphabets_stay_readable():
    assert safe_name("キリン").startswith("キリン.")
    assert safe_name("Île d'Yeu", ascii_only=True).startswith("Ile_d_Yeu.")


def test_names_of_folders():
    assert joined_name(("bird",)) == "bird"
    assert joined_name(("bird", "cow")) == "bird-cow"
    many = tuple(f"class_{index}" for index in range(50))
    assert joined_name(many).startswith("class_0-and-49-more.") and len(joined_name(many)) < 100
    assert joined_name(many) != joined_name((*many[:-1], "other"))
