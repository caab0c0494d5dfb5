"""Odd images with every matcher, on a small trunk with random weights; what would be found."""

import functools
import json
import subprocess
import sys

import numpy as np
import pytest

from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.layers import hypercolumn
from anchornet_tf.matchers import nearest
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.matchers.registry import MATCHERS
from benchmarks import odd_images, odd_measures, odd_pictures
from tests.features.tiny_trunk import TinyTrunk
from tests.matchers.matcher_properties import random_map
from tests.repository.tree import ROOT

SMALL = [name for name in odd_pictures.NAMES if name != odd_pictures.LARGE]


@pytest.fixture(scope="module")
def describe():
    trunk = TinyTrunk()
    return DeepDescriptor(lambda images: hypercolumn.stack(trunk(images)), image_size=96)


@functools.cache
def pair(name):
    return odd_pictures.pair(name)


def _found(describe, matcher, names):
    options = {"num_proposals": 60} if "num_proposals" in MATCHERS.options(matcher) else {}
    match = Matcher(describe, matcher, **options)
    found = odd_measures.Measure("tiny", matcher)
    for name in names:
        odd_measures._judge(found, match, name, *pair(name))
    assert set(found.seconds) == set(names) - set(odd_pictures.REFUSED)
    return found


@pytest.mark.parametrize("matcher", ["none", "nearest", "hough", "dsp"])
def test_odd_images_are_matched_or_refused(describe, matcher):
    found = _found(describe, matcher, SMALL)
    assert found.wrong == []
    assert all(50 < megabytes < 20_000 for megabytes in found.megabytes.values())


@pytest.mark.slow
@pytest.mark.parametrize("matcher", ["nam", "phm", "lom"])
def test_odd_images_are_matched_by_their_boxes(describe, matcher):
    names = [name for name in SMALL if name not in ("constant", "constant, then usual")]
    assert _found(describe, matcher, names).wrong == []


@pytest.mark.parametrize("matcher", ["none", "nearest", "hough"])
def test_24_megapixels_are_matched(describe, matcher):
    assert _found(describe, matcher, [odd_pictures.LARGE]).wrong == []


def test_mutual_neighbours_do_not_depend_on_the_order(describe):
    match = Matcher(describe, "nearest")
    assert odd_measures._asymmetric(match, {name: pair(name) for name in SMALL}) == []


def test_neighbours_that_are_not_mutual_are_found(monkeypatch):
    source, target = random_map(seed=1), random_map(seed=2)
    assert odd_measures.symmetric(source, target)

    def careless(*maps, mutual, refine, search=nearest.nearest_cells):
        return search(*maps, mutual=False, refine=refine)

    monkeypatch.setattr(nearest, "nearest_cells", careless)
    assert not odd_measures.symmetric(source, target)


def test_what_a_flow_should_not_be_is_found():
    image = np.zeros((20, 30, 3), np.uint8)
    still = np.zeros((20, 30, 2), np.float32)
    right = Flow(still, (20, 30))
    assert odd_measures.flaws(right, image, image, "nearest") == []
    far = Flow(still + 5, (20, 30))
    (said,) = odd_measures.flaws(far, image, image, "nearest")
    assert "outside" in said
    assert odd_measures.flaws(far, image, image, "none") == []
    assert (
        "no pixel"
        in odd_measures.flaws(
            Flow(still, (20, 30), valid=np.zeros((20, 30), bool)), image, image, "hough"
        )[-1]
    )
    assert odd_measures.flaws(right, image[:10], image, "nearest")


def test_what_a_matcher_does_wrong_is_noted():
    def judged(name, match):
        found = odd_measures.Measure("a", "b")
        odd_measures._judge(found, match, name, *pair(name))
        return found.wrong

    still = Flow(np.zeros((375, 500, 2), np.float32), (375, 500))
    assert judged("identical", lambda *_: still) == []
    assert judged("NaN", lambda *_: still) == ["NaN: was matched"]
    moved = Flow(np.pad(np.full((300, 400, 2), 9.0), ((0, 75), (0, 100), (0, 0))), (375, 500))
    assert judged("identical", lambda *_: moved) == ["identical: moves by 12.7 pixels"]

    def fail(*_):
        raise ZeroDivisionError("by zero")

    assert judged("identical", fail) == ["identical: ZeroDivisionError: by zero"]


def test_the_table(tmp_path):
    one = odd_measures.Measure("hc", "dsp", {"usual": 1.23}, {"usual": 1234.0})
    odd_images._write(tmp_path, "a machine", [one])
    text = (tmp_path / "odd_images.md").read_text()
    assert "| `hc` | 1.2 s, 1,234 MB |" in text
    contents = json.loads((tmp_path / "odd_images.json").read_text())
    assert contents["measures"][0]["seconds"] == {"usual": 1.23}
    assert "hc" in odd_measures.line(one) and "as it should be" in odd_measures.line(one)


def test_unknown_names_are_refused():
    command = [sys.executable, "-m", "benchmarks.odd_images", "--features=unicorn"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert result.stderr.endswith("Received: unicorn\n")
