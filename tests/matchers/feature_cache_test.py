"""Features are computed once, in batches, and forgotten after their last use."""

import collections

import numpy as np
import pytest

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.registry import get_descriptor
from anchornet_tf.matchers.feature_cache import FeatureCache


class _Counter:
    """Reads and describes images while counting how often."""

    def __init__(self):
        self.reads = collections.Counter()
        self.batches = []

    def read(self, key):
        self.reads[key] += 1
        return np.full((4, 4, 3), key, np.uint8)

    def describe(self, images):
        self.batches.append([int(image[0, 0, 0]) for image in images])
        return [FeatureMap(np.full((4, 4, 64), image[0, 0, 0]), (4, 4)) for image in images]


@pytest.mark.parametrize("memory_limit", [0, 10_000, 10**9])
def test_each_image_is_described_once_whatever_the_limit(memory_limit):
    uses = np.random.default_rng(0).integers(0, 20, 200).tolist()
    counter = _Counter()
    with FeatureCache(counter.read, counter.describe, uses, memory_limit, batch_size=3) as cache:
        for key in uses:
            entry = cache.take(key)
            assert (entry.features.values == key).all() and (entry.image == key).all()
            assert cache._bytes <= max(memory_limit, entry.num_bytes)
            assert cache._bytes == sum(each.num_bytes for each in cache._memory.values())
        folder = cache._folder.path
        assert not cache._memory and not list(folder.iterdir())
    assert not folder.exists()
    assert set(counter.reads.values()) == {1}
    assert [key for batch in counter.batches for key in batch] == list(dict.fromkeys(uses))
    assert {len(batch) for batch in counter.batches[:-1]} == {3}


@pytest.mark.parametrize("seed", range(40))
def test_every_take_is_the_truth_in_any_order_within_any_limit(seed):
    """Names of files that came again once gave one image the features of another."""
    rng = np.random.default_rng(seed)
    uses = rng.integers(0, rng.integers(2, 15), rng.integers(2, 80)).tolist()
    limit, batch = int(rng.choice([0, 1_000, 5_000, 9_000, 30_000])), int(rng.integers(1, 5))
    counter = _Counter()
    with FeatureCache(counter.read, counter.describe, uses, limit, batch_size=batch) as cache:
        for key in uses:
            entry = cache.take(key)
            assert (entry.features.values == key).all() and (entry.image == key).all()
    assert set(counter.reads.values()) == {1}


def test_maps_that_carry_more_than_values_come_back_whole():
    describe = get_descriptor("hog")
    images = np.random.default_rng(0).integers(0, 256, (4, 48, 40, 3), dtype=np.uint8)
    uses = [0, 1, 2, 3, 0, 1, 2, 3]
    boxes = np.float64([[0, 0, 30, 30]])
    with FeatureCache(lambda key: images[key], describe, uses, memory_limit=0) as cache:
        for key in uses:
            entry, (expected,) = cache.take(key), describe([images[key]])
            assert type(entry.features) is type(expected)
            assert entry.features.image_size == (48, 40)
            np.testing.assert_array_equal(entry.features.values, expected.values)
            np.testing.assert_array_equal(
                entry.features.describe_boxes(boxes), expected.describe_boxes(boxes)
            )


def test_no_pickle_is_written():
    counter = _Counter()
    with FeatureCache(counter.read, counter.describe, [1, 2, 3, 1, 2, 3], 0) as cache:
        cache.take(1)
        written = list(cache._folder.path.iterdir())
        assert written
        for path in written:
            with np.load(path, allow_pickle=False) as archive:
                assert set(archive.files) == {"_image", "values"}


def test_uses_must_be_announced():
    counter = _Counter()
    with FeatureCache(counter.read, counter.describe, [1, 2], 100) as cache:
        cache.take(1)
        with pytest.raises(KeyError, match="Received: 1"):
            cache.take(1)
        with pytest.raises(KeyError, match="Received: 7"):
            cache.take(7)
