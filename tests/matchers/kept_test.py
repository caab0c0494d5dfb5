"""What is computed of a map is computed once, and forgotten with it."""

import gc

import numpy as np

from anchornet_tf import FeatureMap
from anchornet_tf.matchers import kept
from anchornet_tf.matchers.kept import KeptOfMaps


def _maps(count):
    return [FeatureMap(np.full((2, 2, 1), number + 1.0), (4, 4)) for number in range(count)]


def test_each_map_is_computed_once():
    asked = []

    def compute(features):
        asked.append(features)
        return float(features.values.sum())

    of_maps = KeptOfMaps(compute)
    first, second = _maps(2)
    assert of_maps([first, second, first]) == [4.0, 8.0, 4.0]
    assert of_maps([second]) == [8.0]
    assert asked == [first, second]


def test_few_are_kept_and_none_of_maps_that_are_gone(monkeypatch):
    monkeypatch.setattr(kept, "_MOST", 3)
    asked = []
    of_maps = KeptOfMaps(lambda features: asked.append(features.values[0, 0, 0]) or len(asked))
    maps = _maps(4)
    of_maps(maps)
    of_maps(maps[1:])  # Still known.
    assert asked == [1, 2, 3, 4]
    of_maps(maps[:1])  # The one that was used longest ago was forgotten.
    assert asked == [1, 2, 3, 4, 1]
    del maps
    gc.collect()
    assert len(of_maps._kept) == 0
