"""Matching images in one call."""

import collections
import os
import pathlib
from collections.abc import Hashable, Iterator, Mapping, Sequence

from anchornet_tf.features.registry import DESCRIPTORS, Descriptor
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.matcher import MEMORY_LIMIT, Matcher, options_of_both
from anchornet_tf.matchers.registry import MATCHERS, PairMatcher
from anchornet_tf.utils.lazy_registry import LazyRegistry

# Compiled networks are large, so only the last few descriptors and matchers are kept.
_MOST_KEPT = 8
_made: collections.OrderedDict[Hashable, object] = collections.OrderedDict()


def match_pair(
    image_a,
    image_b,
    features: str | Descriptor = "anchornet",
    matcher: str | PairMatcher = "hough",
    *,
    max_pixels: int | None = None,
    **options,
) -> Flow:
    """Finds, for every pixel of one image, the matching pixel of another.

    The descriptors and matchers of the last few names and options are kept, so that a second call
    is as fast as a call of a `Matcher`.

    Args:
        image_a: The source: a path, an array or a PIL image (see
            `anchornet_tf.utils.image_io.read_image`).
        image_b: The target, of any size.
        features: As in `Matcher`.
        matcher: As in `Matcher`.
        max_pixels: As in `Matcher`.
        **options: As in `Matcher`.

    Returns:
        The flow, in pixels of the images as they were given.

    Raises:
        FileNotFoundError: If an image is a path that does not exist.
        ValueError: If an image cannot be read, a name is unknown, or neither the descriptor nor the
            matcher takes an option.

    Example:

    ```python
    from anchornet_tf import match_pair
    from anchornet_tf.datasets import parts_world

    image_a, image_b = (parts_world.draw("bird", number).image for number in (3, 8))
    flow = match_pair(image_a, image_b, "sift", "hough", step=4)
    points_in_b = flow.transfer_points([[120, 80], [64, 100]])  # (x, y)
    b_on_a = flow.warp(image_b)
    ```
    """
    return _matcher_of(features, matcher, max_pixels, options)(image_a, image_b)


def match_many(
    pairs: Sequence[tuple[Hashable, Hashable]],
    images: Mapping | Sequence,
    features: str | Descriptor = "anchornet",
    matcher: str | PairMatcher = "hough",
    *,
    progress: bool = True,
    memory_limit: int = MEMORY_LIMIT,
    max_pixels: int | None = None,
    **options,
) -> Iterator[Flow]:
    """Matches many pairs among a set of images; each image is described once.

    Args:
        pairs: As in `Matcher.match_many`.
        images: As in `Matcher.match_many`.
        features: As in `Matcher`.
        matcher: As in `Matcher`.
        progress: As in `Matcher.match_many`.
        memory_limit: As in `Matcher.match_many`.
        max_pixels: As in `Matcher`.
        **options: As in `Matcher`.

    Returns:
        Iterator over one `Flow` per pair, in the order of `pairs`.

    Raises:
        FileNotFoundError: If an image is a path that does not exist.
        ValueError: As in `Matcher` and `Matcher.match_many`.
    """
    made = _matcher_of(features, matcher, max_pixels, options)
    return made.match_many(pairs, images, progress=progress, memory_limit=memory_limit)


def _matcher_of(features, matcher, max_pixels, options) -> Matcher:
    of_features, of_matcher = options_of_both(features, matcher, options)
    return Matcher(
        _kept(DESCRIPTORS, features, of_features),
        _kept(MATCHERS, matcher, of_matcher),
        max_pixels=max_pixels,
    )


def _kept(registry: LazyRegistry, name, options: dict):
    """Returns the object of a name and its options, made once; an object is returned as it is."""
    if callable(name):
        return name
    key = (registry, name, tuple((option, _key(options[option])) for option in sorted(options)))
    try:
        hash(key)
    except TypeError:  # An option such as a list or an array.
        return registry.create(name, **options)
    if key not in _made:
        _made[key] = registry.create(name, **options)
    _made.move_to_end(key)
    while len(_made) > _MOST_KEPT:
        _made.popitem(last=False)
    return _made[key]


def _key(value):
    """Returns a key that is equal only for the same value of an option."""
    if isinstance(value, str | os.PathLike) and os.path.exists(value):
        # A model that was trained again is a different one.
        path = pathlib.Path(value)
        parts = sorted(path.iterdir()) if path.is_dir() else [path]
        return str(path.resolve()), tuple((part.name, part.stat().st_mtime_ns) for part in parts)
    if isinstance(value, tuple):
        return tuple(_key(each) for each in value)
    # 1, 1.0 and True are equal but may mean different things.
    return type(value), value
