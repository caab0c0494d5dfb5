"""Matching images in one call."""

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence

import tqdm

from anchornet_tf.features.registry import DESCRIPTORS, Descriptor
from anchornet_tf.matchers.feature_cache import FeatureCache
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.registry import MATCHERS, Matcher
from anchornet_tf.utils.image_io import read_image

MEMORY_LIMIT = 2 * 1024**3


def match_pair(
    image_a,
    image_b,
    features: str | Descriptor = "anchornet",
    matcher: str | Matcher = "hough",
    **options,
) -> Flow:
    """Finds for every pixel of one image its match in another.

    Args:
        image_a: The source: a path, an array or a PIL image (see
            `anchornet_tf.utils.image_io.read_image`).
        image_b: The target, of any size.
        features: Name of a descriptor (see `anchornet_tf.features.registry.get_descriptor`), or
            one.
        matcher: Name of a matcher (see `anchornet_tf.matchers.registry.get_matcher`), or one.
        **options: Options of the named descriptor and matcher, e.g. `mutual=True`; each goes to
            the one that knows it.

    Returns:
        The flow, in pixels of the images as they were given.

    Raises:
        FileNotFoundError: If an image is a path that leads nowhere.
        ValueError: If an image cannot be read, or a name or an option is unknown.

    Example:

    ```python
    flow = match_pair("cat.jpg", "dog.jpg")
    points_in_dog = flow.transfer_points([[120, 80], [64, 200]])  # (x, y)
    dog_as_cat = flow.warp(PIL.Image.open("dog.jpg"))
    ```
    """
    images = [read_image(image_a), read_image(image_b)]
    describe, match = _make(features, matcher, options)
    source, target = describe(images)
    return match(source, target, source_image=images[0], target_image=images[1])


def match_many(
    pairs: Sequence[tuple[Hashable, Hashable]],
    images: Mapping | Sequence,
    features: str | Descriptor = "anchornet",
    matcher: str | Matcher = "hough",
    *,
    progress: bool = True,
    memory_limit: int = MEMORY_LIMIT,
    **options,
) -> Iterator[Flow]:
    """Matches many pairs among a set of images; each image is described once.

    Flows come one by one, so that they need not fit in memory together. Features beyond
    `memory_limit` wait in a temporary folder.

    Args:
        pairs: `(source, target)` keys into `images`.
        images: Mapping or sequence of images: paths, arrays or PIL images.
        features: As in `match_pair`.
        matcher: As in `match_pair`.
        progress: bool. Whether to show a progress bar.
        memory_limit: int. Bytes of features to keep in memory.
        **options: As in `match_pair`.

    Returns:
        Iterator over one `Flow` a pair, in the order of `pairs`.

    Raises:
        FileNotFoundError: If an image is a path that leads nowhere.
        ValueError: If a pair is not two keys of `images`, or a name or an option is unknown.

    Example:

    ```python
    paths = sorted(glob.glob("cars/*.jpg"))
    pairs = list(itertools.permutations(range(len(paths)), 2))
    for pair, flow in zip(pairs, match_many(pairs, paths, matcher="hough")):
        flow.save(f"{pair[0]}-{pair[1]}.npz")
    ```
    """
    pairs = [_check_pair(pair, images) for pair in pairs]
    if memory_limit < 0:
        raise ValueError(f"`memory_limit` must not be negative. Received: {memory_limit}")
    describe, match = _make(features, matcher, options)
    # A generator would find mistakes only when its first flow is asked for.
    return _flows(pairs, images, describe, match, progress, memory_limit)


def _flows(pairs, images, describe, match, progress, memory_limit):
    uses = [key for pair in pairs for key in pair]
    with FeatureCache(lambda key: read_image(images[key]), describe, uses, memory_limit) as cache:
        for pair in tqdm.tqdm(pairs, unit="pair", disable=not progress):
            source, target = (cache.take(key) for key in pair)
            yield match(
                source.features,
                target.features,
                source_image=source.image,
                target_image=target.image,
            )


def _make(features, matcher, options) -> tuple[Descriptor, Matcher]:
    """Returns descriptor and matcher, each made with those options that it knows."""
    of_features = _known_options(DESCRIPTORS, features)
    of_matcher = _known_options(MATCHERS, matcher)
    unknown = sorted(set(options) - of_features - of_matcher)
    if unknown:
        raise ValueError(
            f"Options of features={features!r} are {sorted(of_features)}, those of "
            f"matcher={matcher!r} are {sorted(of_matcher)}. Received: {', '.join(unknown)}"
        )
    if not callable(features):
        chosen = {name: options[name] for name in options if name in of_features}
        features = DESCRIPTORS.create(features, **chosen)
    if not callable(matcher):
        chosen = {name: options[name] for name in options if name in of_matcher}
        matcher = MATCHERS.create(matcher, **chosen)
    return features, matcher


def _known_options(registry, name) -> set[str]:
    return set() if callable(name) else set(registry.options(name))


def _check_pair(pair, images) -> tuple[Hashable, Hashable]:
    try:
        source, target = pair
        found = [images[key] for key in (source, target)]
    except (TypeError, ValueError, LookupError) as error:
        raise ValueError(
            f"A pair must be two keys of the {len(images)} `images`. Received: {pair!r}"
        ) from error
    for image in found:
        if isinstance(image, str | os.PathLike) and not os.path.exists(image):
            raise FileNotFoundError(f"There must be an image at the path. Received: {image!r}")
    return source, target
