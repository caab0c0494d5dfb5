"""A descriptor and a matcher in one object, made once and called often."""

import dataclasses
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import tqdm

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.look_twice import CloserMap
from anchornet_tf.features.registry import DESCRIPTORS, Descriptor
from anchornet_tf.matchers.closer_look import match_with_closer_look
from anchornet_tf.matchers.confidence import Confidence, confidence_of
from anchornet_tf.matchers.feature_cache import FeatureCache
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.registry import MATCHERS, PairMatcher
from anchornet_tf.utils.forked import check_not_forked
from anchornet_tf.utils.image_io import ScaledImage, read_scaled
from anchornet_tf.utils.named_options import split_options

MEMORY_LIMIT = 2 * 1024**3


class Matcher:
    """Finds, for every pixel of one image, the matching pixel of another.

    Weights are read when the object is made, and networks are compiled at its first call. Later
    calls only do the work on their images.

    Args:
        features: Name of a descriptor (see `get_descriptor`), or a descriptor.
        matcher: Name of a matcher (see `get_matcher`), or a matcher.
        max_pixels: int. Image files with more pixels are refused before they are decoded; None for
            the value of the environment variable ANCHORNET_MAX_PIXELS, or else 67,108,864. Images
            with sides over 2,048 pixels are scaled down internally; flows are always in the pixels
            of the original images.
        confidence: How the matcher's scores become the probability that a match is right:
            `"auto"` for what was fitted to the descriptor (or, failing that, to others), a
            `Confidence`, the contents of its file, or None to leave the scores as they are.
        **options: Options of the named descriptor or matcher, such as `blur=1` or `mutual=True`;
            each reaches the one that takes it. An option that both take needs a prefix:
            `**{"dsp.reference": True}`.

    Attributes:
        descriptor: Callable from a list of images to a list of `FeatureMap`s.
        pair_matcher: Callable from two feature maps to a `Flow`.
        confidence: The `Confidence` in use, or None.

    Raises:
        ValueError: If a name is unknown, or neither the descriptor nor the matcher takes an option.

    Example:

    ```python
    from anchornet_tf import Matcher
    from anchornet_tf.datasets import parts_world

    image_a, image_b = (parts_world.draw("bird", number).image for number in (3, 8))
    matcher = Matcher("sift", "hough", step=4)
    flow = matcher(image_a, image_b)
    ```
    """

    def __init__(
        self,
        features: str | Descriptor = "anchornet",
        matcher: str | PairMatcher = "hough",
        *,
        max_pixels: int | None = None,
        confidence: Confidence | Mapping | str | None = "auto",
        **options,
    ):
        of_features, of_matcher = options_of_both(features, matcher, options)
        # The matcher is made first: it is cheap to make and may refuse its options.
        self.pair_matcher: PairMatcher = (
            matcher if callable(matcher) else MATCHERS.create(matcher, **of_matcher)
        )
        self.descriptor: Descriptor = (
            features if callable(features) else DESCRIPTORS.create(features, **of_features)
        )
        self.max_pixels = max_pixels
        self.confidence = confidence_of(self.descriptor, confidence)

    @classmethod
    def from_preset(
        cls,
        preset: str | os.PathLike = "voc20",
        matcher: str | PairMatcher = "hough",
        **options,
    ) -> "Matcher":
        """Makes a `Matcher` that uses the class-agnostic anchors of a trained model.

        Args:
            preset: Name of a preset, or the folder of a model that was trained with
                `trainers.stage2`.
            matcher: As in `Matcher`.
            **options: As in `Matcher`.

        Returns:
            The matcher.

        Raises:
            ValueError: If there is no such model, or as in `Matcher`.
        """
        if "features" in options:
            raise ValueError(
                'Expected no `features`: a preset\'s are "anchornet". For others, call Matcher '
                f"itself. Received: features={options['features']!r}"
            )
        return cls("anchornet", matcher, model=preset, **options)

    def __call__(self, image_a, image_b) -> Flow:
        """Matches two images.

        Args:
            image_a: The source: a path, an array or a PIL image (see
                `anchornet_tf.utils.image_io.read_image`).
            image_b: The target, of any size.

        Returns:
            The flow, in pixels of the images as they were given.

        Raises:
            FileNotFoundError: If an image is a path that does not exist.
            ValueError: If an image cannot be read or has too many pixels.
            RuntimeError: In a process that was forked after TensorFlow had been used.
        """
        check_not_forked()
        first, second = self._read(image_a), self._read(image_b)
        source, target = self.descriptor([first.pixels, second.pixels])
        return self.match_maps([source], [target], [first], [second])[0]

    @property
    def on_grid(self) -> bool:
        """Whether the matcher needs feature maps alone, and no images."""
        return getattr(self.pair_matcher, "on_grid", False)

    def match_maps(
        self,
        sources: Sequence[FeatureMap],
        targets: Sequence[FeatureMap],
        source_images: Sequence[ScaledImage],
        target_images: Sequence[ScaledImage],
    ) -> list[Flow]:
        """Matches images whose features are known, pair by pair.

        Args:
            sources: Feature maps of the source images.
            targets: Feature maps of the target images, as many.
            source_images: The source images, as `anchornet_tf.utils.image_io.read_scaled` gives
                them. Where `on_grid`, they may be None if the maps have the original sizes.
            target_images: The target images.

        Returns:
            The flow of each pair, in pixels of the original images.
        """
        return match_with_closer_look(
            self._match_maps, sources, targets, source_images, target_images
        )

    def _match_maps(self, sources, targets, source_images, target_images) -> list[Flow]:
        if self.on_grid:
            # The cells of a grid cover the image, whatever its number of pixels.
            sources = list(map(_with_original_size, sources, source_images))
            targets = list(map(_with_original_size, targets, target_images))
            flows = _on_grid(self.pair_matcher, sources, targets)
        else:
            flows = [
                self.pair_matcher(
                    _with_size(source, source_image.pixels.shape[:2]),
                    _with_size(target, target_image.pixels.shape[:2]),
                    source_image=source_image.pixels,
                    target_image=target_image.pixels,
                ).resized(source_image.original_size, target_image.original_size)
                for source, target, source_image, target_image in zip(
                    sources, targets, source_images, target_images, strict=True
                )
            ]
        if self.confidence is None:
            return flows
        # Confidences are fitted to single looks.
        looks = ([_single_look(features) for features in maps] for maps in (sources, targets))
        return self.confidence.of_flows(self.pair_matcher, flows, *looks)

    def _read(self, image) -> ScaledImage:
        return read_scaled(image, max_pixels=self.max_pixels)

    def describe(self, images: Sequence) -> list[FeatureMap]:
        """Returns the features of each image.

        Args:
            images: Paths, arrays or PIL images.

        Raises:
            FileNotFoundError: If an image is a path that does not exist.
            ValueError: If an image cannot be read or has too many pixels.
        """
        if isinstance(images, str | os.PathLike) or not isinstance(images, Iterable):
            raise ValueError(f"Expected a list of images. Received: {images!r}")
        if getattr(images, "ndim", 4) < 4:
            shape = np.shape(images)
            raise ValueError(f"Expected a list of images. Received: an array of shape {shape}")
        check_not_forked()
        images = [self._read(image) for image in images]
        maps = self.descriptor([image.pixels for image in images])
        return [
            _with_size(features, image.original_size)
            for features, image in zip(maps, images, strict=True)
        ]

    def match_many(
        self,
        pairs: Sequence[tuple[Hashable, Hashable]],
        images: Mapping | Sequence,
        *,
        progress: bool = True,
        memory_limit: int = MEMORY_LIMIT,
    ) -> Iterator[Flow]:
        """Matches many pairs among a set of images; each image is described once.

        Flows are returned one by one, so that they need not fit in memory together. Features beyond
        `memory_limit` are kept in a temporary folder.

        Args:
            pairs: `(source, target)` keys into `images`.
            images: Mapping or sequence of images: paths, arrays or PIL images.
            progress: bool. Whether to show a progress bar.
            memory_limit: int. Bytes of features to keep in memory.

        Returns:
            Iterator over one `Flow` per pair, in the order of `pairs`.

        Raises:
            FileNotFoundError: If an image is a path that does not exist.
            ValueError: If a pair is not two keys of `images`, or an image cannot be read.

        Example:

        ```python
        import itertools
        from anchornet_tf import Matcher
        from anchornet_tf.datasets import parts_world

        images = [parts_world.draw("bird", number).image for number in range(3)]
        pairs = list(itertools.permutations(range(3), 2))
        flows = Matcher("sift", step=8).match_many(pairs, images, progress=False)
        for (source, target), flow in zip(pairs, flows):
            flow.save(f"{source}-{target}.npz")
        ```
        """
        pairs = [_check_pair(pair, images) for pair in pairs]
        if memory_limit < 0:
            raise ValueError(f"Expected a `memory_limit` of at least 0. Received: {memory_limit}")
        # Checks inside the generator would run only when the first flow is asked for.
        return self._flows(pairs, images, progress, memory_limit)

    def _flows(self, pairs, images, progress, memory_limit):
        sizes: dict[Hashable, tuple[int, int]] = {}

        def read(key):
            image = self._read(images[key])
            sizes[key] = image.original_size
            return image.pixels

        uses = [key for pair in pairs for key in pair]
        with FeatureCache(read, self.descriptor, uses, memory_limit) as cache:
            for pair in tqdm.tqdm(pairs, unit="pair", disable=not progress):
                source, target = (cache.take(key) for key in pair)
                scaled = [
                    ScaledImage(described.image, sizes[key])
                    for described, key in zip((source, target), pair, strict=True)
                ]
                maps = source.features, target.features
                yield self.match_maps(*([each] for each in (*maps, *scaled)))[0]


def _single_look(features: FeatureMap) -> FeatureMap:
    return features.second_look if isinstance(features, CloserMap) else features


def _with_size(features: FeatureMap, size: tuple[int, int]) -> FeatureMap:
    if features.image_size == size:
        return features
    return dataclasses.replace(features, image_size=size)


def _with_original_size(features: FeatureMap, image: ScaledImage | None) -> FeatureMap:
    return features if image is None else _with_size(features, image.original_size)


def _on_grid(matcher: PairMatcher, sources, targets) -> list[Flow]:
    """Matches maps pair by pair, together where the matcher can and their grids agree."""
    match_batch = getattr(matcher, "match_batch", None)
    alike = all(
        len({features.values.shape for features in maps}) == 1 for maps in (sources, targets)
    )
    if match_batch is not None and alike:
        return match_batch(sources, targets)
    return [matcher(source, target) for source, target in zip(sources, targets, strict=True)]


def options_of_both(features, matcher, options: Mapping) -> tuple[dict, dict]:
    """Splits options into those of a descriptor and those of a matcher.

    Args:
        features: Name of a descriptor, or a descriptor, which takes no options.
        matcher: Name of a matcher, or a matcher, which takes no options.
        options: Options by name, with or without a prefix.

    Returns:
        The options of the descriptor and the options of the matcher.

    Raises:
        ValueError: If a name is unknown, or neither takes an option.
    """
    takers = [
        {} if callable(name) else {name: registry.options(name)}
        for registry, name in ((DESCRIPTORS, features), (MATCHERS, matcher))
    ]
    split = split_options(options, *takers)
    of_features, of_matcher = (
        {} if callable(name) else split[name] for name in (features, matcher)
    )
    return of_features, of_matcher


def _check_pair(pair, images) -> tuple[Hashable, Hashable]:
    try:
        source, target = pair
        found = [images[key] for key in (source, target)]
    except (TypeError, ValueError, LookupError) as error:
        raise ValueError(
            f"Expected a pair of keys of the {len(images)} `images`. Received: {pair!r}"
        ) from error
    for image in found:
        if isinstance(image, str | os.PathLike) and not os.path.exists(image):
            raise FileNotFoundError(f"Expected the path of an image. Received: {image!r}")
    return source, target
