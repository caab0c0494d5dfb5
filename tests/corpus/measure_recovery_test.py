"""The comparison after kills finds what is lost, twice, different or wrongly failed."""

import os
import random
import shutil

import pytest

from anchornet_tf.corpus.measure_recovery import copy_and_break, differences
from tests.corpus.conftest import BROKEN, COUNT


@pytest.fixture
def copied(corpus, tmp_path):
    """The folders of two corpora that are the same."""
    return [
        shutil.copytree(corpus.path, tmp_path / name, ignore=shutil.ignore_patterns("index"))
        for name in ("killed", "whole")
    ]


def test_the_same_is_the_same(copied, capsys):
    assert differences(*map(str, copied), dict.fromkeys(BROKEN, "text")) == []
    said = capsys.readouterr().out
    assert f"{COUNT + 2} images: {COUNT} described, 2 failed" in said


def test_a_lost_shard(copied):
    os.remove(copied[0] / "shards" / "shard-00000.parquet")
    wrong = differences(*map(str, copied), dict.fromkeys(BROKEN, "text"))
    assert "1 files differ, such as shards/shard-00000.parquet" in wrong
    assert "4 images lost, such as 00.png" in wrong


def test_a_shard_twice(copied):
    shards = copied[0] / "shards"
    shutil.copy(shards / "shard-00000.parquet", shards / "shard-00009.parquet")
    wrong = differences(*map(str, copied), dict.fromkeys(BROKEN, "text"))
    assert "4 images twice, such as 00.png" in wrong


def test_an_image_that_should_not_have_failed(copied):
    assert differences(*map(str, copied), {BROKEN[0]: "text"}) == ["2 images failed instead of 1"]


def test_images_are_broken_in_every_way(config, tmp_path):
    folder = tmp_path / "images"
    broken = copy_and_break(config, str(folder), 0.4, random.Random(0))
    assert len(os.listdir(folder)) == COUNT + 2 and len(broken) == 6
    assert sorted(set(broken.values())) == ["cut short", "empty", "text"]
    for path in folder.iterdir():
        assert path.is_symlink() == (path.name not in broken)
        if broken.get(path.name) == "empty":
            assert path.stat().st_size == 0
