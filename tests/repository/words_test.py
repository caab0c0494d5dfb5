"""The repository speaks of the product alone, in plain words, and holds no stray large files."""

import re
import subprocess

import pytest

from tests.repository.tree import ROOT

_WIDTH = 100
_TABLE_WIDTH = 160  # a row of a table cannot be wrapped
_LONGEST_WORD = 70  # nor can an address

# "a" that means "per": "images a class", "a row a class", "one public layer a file".
_EACH = (
    "class|column|curve|file|group|image|layer|line|map|module|pair|round|row|set|side|tap|worker"
)
_COUNTED = (
    "bins|boxes|bytes|cells|cores|core\\(s\\)|draws|figures|filters|GB|images|MB|ms|pairs|panels|"
    "pictures|pixels|points|samples|seconds|steps|values|views"
)
_SMALL_WORDS = "along|and|as|at|by|for|from|has|in|is|of|on|or|per|than|that|to|was|with"
_VERBS = "has|is|may|sees|takes"
_PER = re.compile(
    rf"\b(?:{_COUNTED}) an? (?:{_EACH}|second|step|minute|cell|pixel|pass)\b(?! (?:{_VERBS})\b)"
    rf"|\b(?:an?|one)(?: (?!(?:{_SMALL_WORDS})\b)[\w-]+){{1,2}} an? (?:{_EACH})\b"
)


def _tracked() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def _lines(*endings: str):
    """Gives (place, line) of all tracked files with these endings."""
    for name in _tracked():
        if name.endswith(endings):
            for number, line in enumerate((ROOT / name).read_text().splitlines(), start=1):
                yield f"{name}:{number}", line


def test_no_file_is_over_25_megabytes():
    assert max((ROOT / name).stat().st_size for name in _tracked()) < 25 * 2**20


def test_no_image_of_the_reference_data_is_tracked():
    assert not [
        name for name in _tracked() if name.startswith(("data/", "golden/", "shared/", "runs/"))
    ]


def test_lines_are_at_most_100_columns_wide():
    wide = []
    for place, line in _lines(".py", ".md"):
        is_table = line.lstrip().startswith("|")
        allowed = _TABLE_WIDTH if is_table else _WIDTH
        if len(line) > allowed and max(map(len, line.split())) <= _LONGEST_WORD:
            wide.append(f"{place}: {len(line)}")
    assert not wide, "\n".join(wide)


@pytest.mark.parametrize(
    "text, is_meant",
    [
        ("300 images a class", True),
        ("one public layer a file", True),
        ("a sub-folder a class", True),
        ("pairs a second", True),
        ("images of a class", False),
        ("which images a step sees", False),
        ("one of a pair", False),
        ("images per class", False),
    ],
)
def test_the_word_for_per_is_recognised(text, is_meant):
    assert bool(_PER.search(text)) == is_meant


def test_per_is_not_written_as_a():
    this = "tests/repository/words_test.py"
    places = [
        f"{place}: {found[0]}"
        for place, line in _lines(".py", ".md")
        if not place.startswith(this) and (found := _PER.search(line))
    ]
    assert not places, "\n".join(places)
