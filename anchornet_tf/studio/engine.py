"""Descriptors and matchers of the studio: each result is computed once, in bounded memory."""

import concurrent.futures
import copy
import dataclasses
import hashlib
import statistics
import threading
import time
import weakref
from collections.abc import Mapping, Sequence

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.studio import directions, responses
from anchornet_tf.studio.byte_cache import ByteCache
from anchornet_tf.studio.offers import Offer
from anchornet_tf.studio.refusals import Refusal, expected
from anchornet_tf.studio.worker import LATER, URGENT, Worker
from anchornet_tf.utils.image_io import ScaledImage

# Shares of the memory for what was computed.
_FEATURES_SHARE, _FLOWS_SHARE, _RESPONSES_SHARE = 0.6, 0.25, 0.15
_MOST_WAITING = 256
_TIMES_KEPT = 32


class Engine:
    """Computes features, flows and responses of filters.

    Args:
        descriptors: What the page can choose, by name.
        matchers: What the page can choose, by name; each makes a `Matcher` of a descriptor.
        memory: int, bytes to keep of what was computed.
        filters: A `FilterResponses` (`anchornet_tf.studio.responses`), or None without a model.
    """

    def __init__(
        self,
        descriptors: Mapping[str, Offer],
        matchers: Mapping[str, Offer],
        memory: int = 2**30,
        filters=None,
    ):
        self.descriptors, self.matchers = dict(descriptors), dict(matchers)
        self.worker = Worker()
        self.filters = filters
        self.features_cache = ByteCache(int(memory * _FEATURES_SHARE))
        self.flows_cache = ByteCache(int(memory * _FLOWS_SHARE))
        self.responses_cache = ByteCache(int(memory * _RESPONSES_SHARE))
        self._made: dict = {}  # What offers made; touched by the worker's thread alone.
        self._directions: dict[str, np.ndarray] = {}
        self._digests = weakref.WeakKeyDictionary()  # ScaledImage -> digest of its pixels.
        self._keys = weakref.WeakKeyDictionary()  # FeatureMap -> what it was computed from.
        self._latest = weakref.WeakValueDictionary()  # (descriptor, digest) -> FeatureMap.
        self._running: dict = {}
        self._times: dict = {}
        self._lock = threading.RLock()

    def close(self) -> None:
        """Ends the worker."""
        self.worker.close()

    # What the page waits for. Each gives a future.

    def features(self, image: ScaledImage, descriptor: str) -> concurrent.futures.Future:
        """Describes an image, together with others that are asked for at the same time.

        Returns:
            Future of a `FeatureMap`.

        Raises:
            Refusal: If there is no such descriptor, or too much waits already.
        """
        self.check(descriptor)
        key = descriptor, self.digest(image)
        with self._lock:
            found = self._latest.get(key)
            if found is not None:
                self.features_cache.get(self._keys[found])
                return _ready(found)
        return self._once(
            ("features", *key),
            lambda: self.worker.submit_item(
                ("features", descriptor), image, lambda images: self.described(images, descriptor)
            ),
        )

    def packed(self, features: FeatureMap, descriptor: str) -> bytes:
        """Returns features that `features` gave, as the page takes them."""
        return directions.packed(features, self._directions[descriptor])

    def flow(
        self, source: ScaledImage, target: ScaledImage, descriptor: str, matcher: str
    ) -> concurrent.futures.Future:
        """Matches two images: future of a `Flow`.

        Raises:
            Refusal: If there is no such descriptor or matcher, or too much waits already.
        """
        self.check(descriptor, matcher)
        key = "flow", descriptor, matcher, self.digest(source), self.digest(target)

        def match():
            maps = self.quick_maps([source, target], descriptor)
            pair = ([each] for each in (*maps, source, target))
            return self.matched(*pair, descriptor, matcher)[0]

        return self._once(key, lambda: self.worker.submit(match))

    def responses(
        self, image: ScaledImage, class_name: str, priority: int = URGENT
    ) -> concurrent.futures.Future:
        """Finds where the filters of a class fire: future of bytes for the page.

        Raises:
            Refusal: If too much waits already.
        """
        digest = self.digest(image)
        key = "responses", digest, class_name
        found = self.responses_cache.get(key)
        if found is not None:
            return _ready(found)

        def compute():
            taps = self.responses_cache.get(("taps", digest))
            if taps is None:
                taps = self.filters.taps(image)
                self.responses_cache.put(("taps", digest), taps, sum(t.nbytes for t in taps))
            values = self.filters.of_taps(taps, class_name)
            content = responses.packed(values, image.original_size)
            self.responses_cache.put(key, content, len(content))
            return content

        return self._once((*key, priority), lambda: self.worker.submit(compute, priority))

    # What only the worker's thread does.

    def described(self, images: Sequence[ScaledImage], descriptor: str) -> list[FeatureMap]:
        """Describes images in one batch, unless that very batch was described before.

        Numbers of a network depend on the batch in their last bits, so that a batch is known by all
        of its images.
        """
        # First: features that somebody can see can be packed.
        self._fit_directions(descriptor)
        digests = tuple(self.digest(image) for image in images)
        keys = [(descriptor, digests, number) for number in range(len(images))]
        maps = [self.features_cache.get(key) for key in keys]
        if any(features is None for features in maps):
            start = time.perf_counter()
            maps = list(map(_owned, self._matcher(descriptor).describe(images)))
            self._note(("features", descriptor), (time.perf_counter() - start) / len(images))
            for key, features in zip(keys, maps, strict=True):
                self.features_cache.put(key, features, _num_bytes(features))
        with self._lock:
            for key, digest, features in zip(keys, digests, maps, strict=True):
                self._keys[features] = key
                self._latest[descriptor, digest] = features
        return maps

    def quick_maps(self, images: Sequence[ScaledImage], descriptor: str) -> list[FeatureMap]:
        """Describes those of some images that were not described before, in whatever batch."""
        with self._lock:
            found = {
                image: self._latest.get((descriptor, self.digest(image))) for image in set(images)
            }
        missing = [image for image in dict.fromkeys(images) if found[image] is None]
        if missing:
            found |= zip(missing, self.described(missing, descriptor), strict=True)
        return [found[image] for image in images]

    def matched(
        self, sources, targets, source_images, target_images, descriptor: str, matcher: str
    ) -> list[Flow]:
        """Matches pairs of feature maps, those together that were not matched before."""
        pairs = list(zip(sources, targets, source_images, target_images, strict=True))
        keys = [(matcher, self._key(source), self._key(target)) for source, target, *_ in pairs]
        flows = {key: self.flows_cache.get(key) for key in keys}
        missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if not flows.get(key)}
        if missing:
            start = time.perf_counter()
            made = self._matcher(descriptor, matcher).match_maps(
                *zip(*missing.values(), strict=True)
            )
            self._note(("flow", matcher), (time.perf_counter() - start) / len(made))
            for key, flow in zip(missing, made, strict=True):
                flows[key] = flow
                self.flows_cache.put(key, flow, flow.num_bytes)
        # Copies: pixels that one user makes are not kept with the cells.
        return [copy.copy(flows[key]) for key in keys]

    def warm_up(self, descriptor: str, matcher: str) -> concurrent.futures.Future:
        """Loads and compiles what the first hover needs."""

        def run():
            matcher_object = self._matcher(descriptor, matcher)
            image = ScaledImage(np.zeros((224, 224, 3), np.uint8), (224, 224))
            self._fit_directions(descriptor)
            maps = matcher_object.describe([image, image])
            matcher_object.match_maps(maps[:1], maps[1:], [image], [image])

        return self.worker.submit(run, LATER)

    # Small things.

    def check(self, descriptor, matcher=None) -> None:
        """Raises a `Refusal` for a name that is not offered."""
        if not isinstance(descriptor, str) or descriptor not in self.descriptors:
            raise expected(f"a descriptor, one of {', '.join(self.descriptors)}", descriptor)
        if matcher is not None and (not isinstance(matcher, str) or matcher not in self.matchers):
            raise expected(f"a matcher, one of {', '.join(self.matchers)}", matcher)

    def digest(self, image: ScaledImage) -> str:
        """Returns what tells the pixels and the size of an image from others."""
        with self._lock:
            found = self._digests.get(image)
        if found is None:
            digest = hashlib.blake2b(repr(image.original_size).encode(), digest_size=16)
            digest.update(repr(image.pixels.shape).encode())
            digest.update(np.ascontiguousarray(image.pixels))
            found = digest.hexdigest()
            with self._lock:
                self._digests[image] = found
        return found

    def offered(self) -> dict:
        """Returns descriptors and matchers with their costs, as measured here where they were."""
        return {
            "descriptors": [
                {
                    "name": name,
                    "summary": offer.summary,
                    "cost": self._cost("features", name, offer),
                }
                for name, offer in self.descriptors.items()
            ],
            "matchers": [
                {"name": name, "summary": offer.summary, "cost": self._cost("flow", name, offer)}
                for name, offer in self.matchers.items()
            ],
        }

    def _cost(self, what: str, name: str, offer: Offer) -> str:
        times = self._times.get((what, name))
        if not times:
            return offer.cost
        unit = "image" if what == "features" else "pair"
        return f"{1000 * statistics.median(times):.0f} ms per {unit} here"

    def _note(self, key, seconds: float) -> None:
        self._times.setdefault(key, []).append(seconds)
        del self._times[key][:-_TIMES_KEPT]

    def _key(self, features: FeatureMap):
        with self._lock:
            return self._keys[features]

    def _matcher(self, descriptor: str, matcher: str | None = None):
        """Returns the `Matcher` of a descriptor and a matcher; descriptors are made once."""
        matcher = matcher or next(iter(self.matchers))
        if (descriptor, matcher) not in self._made:
            if descriptor not in self._made:
                self._made[descriptor] = self.descriptors[descriptor].make()
            self._made[descriptor, matcher] = self.matchers[matcher].make(self._made[descriptor])
        return self._made[descriptor, matcher]

    def _fit_directions(self, descriptor: str) -> None:
        if descriptor not in self._directions:
            describe = self._matcher(descriptor).describe
            self._directions[descriptor] = directions.kept(
                self.descriptors[descriptor].directions_path(), lambda: directions.fit(describe)
            )

    def _once(self, key, submit) -> concurrent.futures.Future:
        """Gives the future of what is computed at this moment, or of a new computation."""
        with self._lock:
            running = self._running.get(key)
            if running is not None:
                return running
            if len(self._running) >= _MOST_WAITING:
                raise Refusal(
                    429, f"Expected at most {_MOST_WAITING} requests at once. Received: one more"
                )
            future = self._running[key] = submit()
        future.add_done_callback(lambda _: self._running.pop(key, None))
        return future


def _arrays(features: FeatureMap) -> dict[str, np.ndarray]:
    """Returns the arrays of a map, by field: kinds of maps hold more than values."""
    values = {field.name: getattr(features, field.name) for field in dataclasses.fields(features)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def _owned(features: FeatureMap) -> FeatureMap:
    """Returns a map that keeps no larger array alive, such as that of its whole batch."""
    views = {
        name: value.copy() for name, value in _arrays(features).items() if value.base is not None
    }
    return dataclasses.replace(features, **views) if views else features


def _num_bytes(features: FeatureMap) -> int:
    return sum(value.nbytes for value in _arrays(features).values())


def _ready(value) -> concurrent.futures.Future:
    future = concurrent.futures.Future()
    future.set_result(value)
    return future
