"""What is computed of single feature maps, kept for those that were used last.

A reference is matched with thousands of images: what the matcher needs of it is computed once.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from anchornet_tf.features.feature_map import FeatureMap

Result = TypeVar("Result")
# Each of them is smaller than the map itself; so many are forgotten only by large sets.
_MOST = 64


class KeptOfMaps:
    """Calls a function once for each map, while the map is alive and among those used last.

    Args:
        compute: From a `FeatureMap` to anything. Maps are given to it one by one: the last bits of
            what it returns must not depend on which maps are asked for together.
    """

    def __init__(self, compute: Callable[[FeatureMap], Result]):
        self._compute = compute
        self._kept: weakref.WeakKeyDictionary[FeatureMap, Result] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def __call__(self, maps: Sequence[FeatureMap]) -> list[Result]:
        """Returns the result of each map."""
        return [self._of(features) for features in maps]

    def _of(self, features: FeatureMap) -> Result:
        with self._lock:
            found = self._kept.pop(features, None)
        if found is None:
            found = self._compute(features)
        with self._lock:
            self._kept[features] = found  # Now the last to be forgotten.
            while len(self._kept) > _MOST:
                oldest = next(iter(self._kept), None)
                if oldest is not None:
                    self._kept.pop(oldest, None)
        return found
