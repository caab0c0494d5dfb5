"""The box matchers of the grid: descriptors once per image, similarities once per pair of images.

All steps are those of `ProposalFlowMatcher`. The steps that need the features run in the calling
process; the others take plain arrays, so that a pool of processes can run them.
"""

import collections
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from anchornet_tf.features.box_features import BoxDescriptors
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.box_pair import BoxMatches, BoxPair
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.proposal_flow import ALGORITHMS, ProposalFlowMatcher


class BoxedImage(NamedTuple):
    """An image with features and boxes.

    Attributes:
        key: str. Identifies the image.
        features: FeatureMap.
        boxes: `(n, 4)`.
    """

    key: str
    features: FeatureMap
    boxes: np.ndarray


class DescriptorMemory:
    """Computes the descriptors of each image's boxes and keeps as many as fit in memory.

    Args:
        memory_limit: int. Bytes to keep; the least recently used descriptors are dropped first.
    """

    def __init__(self, memory_limit: int):
        self._memory_limit = memory_limit
        self._kept: collections.OrderedDict[tuple, BoxDescriptors] = collections.OrderedDict()

    def pair(self, matcher: ProposalFlowMatcher, source: BoxedImage, target: BoxedImage) -> BoxPair:
        """Returns two images with the similarities of their boxes.

        Args:
            matcher: Describes and compares the boxes. Any matcher with the same
                `similarity_options` can match the returned pair.
            source: BoxedImage.
            target: BoxedImage.
        """
        similarity = matcher.similarity(
            self._describe(matcher, source), self._describe(matcher, target)
        )
        sizes = source.features.image_size, target.features.image_size
        return BoxPair(similarity, source.boxes, target.boxes, *sizes)

    def _describe(self, matcher: ProposalFlowMatcher, image: BoxedImage) -> BoxDescriptors:
        key = (image.key, matcher.similarity_options)
        if key not in self._kept:
            self._kept[key] = matcher.describe(image.features, image.boxes)
        self._kept.move_to_end(key)
        found = self._kept[key]
        while sum(kept.values.nbytes for kept in self._kept.values()) > self._memory_limit:
            self._kept.popitem(last=False)
        return found


def match_pair(
    pair: BoxPair,
    matchers: Mapping[str, ProposalFlowMatcher],
    source_image: np.ndarray,
    with_flow: Collection[str],
) -> dict[str, tuple[BoxMatches, Flow | None]]:
    """Runs several matchers on the same similarities.

    Args:
        pair: BoxPair.
        matchers: Matchers with the same `similarity_options`, by name.
        source_image: uint8 `(height, width, 3)`. Guides the smoothing of the flow.
        with_flow: The matchers whose dense flows to make too, which takes longer than the matching.

    Returns:
        The matches and the flow (None for those not in `with_flow`) of each matcher, by name.
    """
    results = {}
    for name, matcher in matchers.items():
        matches = matcher.match_boxes(pair)
        flow = matcher.flow(pair, matches, source_image) if name in with_flow else None
        results[name] = matches, flow
    return results


def is_box_matcher(name: str) -> bool:
    """Returns whether a matcher works on boxes."""
    return name in ALGORITHMS
