"""What a run says before it begins."""

import re

import numpy as np
import pytest

from anchornet_tf.datasets.image_source import ImageSource, RecordReader
from anchornet_tf.datasets.splits import Splits
from anchornet_tf.training.stage1 import overview
from anchornet_tf.training.stage1.config import Stage1Config


def _source(counts, unreadable=()):
    names = tuple(counts)
    labels = np.repeat(np.eye(len(names), dtype=bool), list(counts.values()), axis=0)
    keys = tuple(map(str, range(len(labels))))
    return ImageSource("folder:x", names, keys, labels, keys, RecordReader(keys), None, unreadable)


@pytest.fixture
def splits():
    train = _source({"okapi": 80, "yak": 12, "zebra": 200}, ("a.jpg", "b.jpg"))
    return Splits(train, _source({"okapi": 8, "zebra": 21}, ("c.jpg",)), "nothing")


def _lines(config, splits, **changes):
    values = {"views_to_compute": 1000, "seconds_per_image": 0.1, "workdir": "runs/x"} | changes
    found = overview.lines(config, splits, **values)
    return {line.split(":")[0]: line for line in found}


def test_what_was_found(splits):
    lines = _lines(Stage1Config(("okapi", "zebra"), "folder:x"), splits)
    assert list(lines) == ["Data", "Classes", "Negatives", "Training", "Time", "Result"]
    assert "292 images to train on, 29 held out, 3 unreadable" in lines["Data"]
    classes = "2 of 3 (training + held-out images): okapi 80 + 8, zebra 200 + 21"
    assert lines["Classes"].endswith(classes)
    assert "300 steps; 1,000 views" in lines["Training"] and lines["Result"].endswith("runs/x")


def test_few_images_are_pointed_out(splits):
    assert "yak" in _lines(Stage1Config(("yak",), "folder:x"), splits)["Few"]
    some = Stage1Config(("okapi", "zebra"), "folder:x", images_per_class=10)
    assert "okapi, zebra with fewer than 30 images" in _lines(some, splits)["Few"]


def test_time_grows_with_the_work(splits):
    one = Stage1Config(("okapi",), "folder:x")
    seconds = overview.estimate(one, 1000, 0.1, 29)
    # 1,029 images through the trunk, and 300 steps of 16 images at 0.31 of the trunk.
    assert seconds == pytest.approx(15 + 0.1 * (1029 + 0.31 * 300 * 16))
    more = Stage1Config(("okapi", "zebra"), "folder:x", num_filters=128)
    assert overview.estimate(more, 1000, 0.1, 29) > 2 * seconds
    live = Stage1Config(("okapi",), "folder:x", cache_features=False)
    assert overview.estimate(live, 0, 0.1, 29) > seconds
    for rate, text in ((1e-4, "seconds"), (0.5, "minutes"), (20.0, "hours")):
        line = _lines(one, splits, seconds_per_image=rate)["Time"]
        assert re.search(rf"about [\d.]+ {text} here", line)


def test_the_trunk_is_timed_after_a_first_pass():
    calls = []
    seconds = overview.seconds_per_image(lambda images: calls.append(images.shape), 64)
    assert calls == [(8, 64, 64, 3)] * 2 and seconds >= 0
