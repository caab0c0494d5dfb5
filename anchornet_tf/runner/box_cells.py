"""The box matchers of the grid: descriptors once an image, similarities once a pair, then each algorithm.

Whatever needs the features happens in the calling process; the rest is a plain function of arrays that a pool of
processes can run.
"""

import collections
import dataclasses

import numpy as np

from anchornet_tf.features.box_features import crop_boxes, normalize_descriptors
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers import box_matching
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.proposal_flow import ALGORITHMS, ProposalFlowMatcher


@dataclasses.dataclass(frozen=True, eq=False)
class BoxPair:
    """Two images with boxes and their similarities.

    Attributes:
        similarity: `(n_source, n_target)` float32, not negative.
        source_boxes: `(n_source, 4)`.
        target_boxes: `(n_target, 4)`.
        source_image: uint8 `(height, width, 3)`, for the smoothing of the flow.
        target_size: (height, width).
    """

    similarity: np.ndarray
    source_boxes: np.ndarray
    target_boxes: np.ndarray
    source_image: np.ndarray
    target_size: tuple[int, int]


@dataclasses.dataclass(frozen=True, eq=False)
class BoxMatches:
    """What an algorithm found.

    Attributes:
        best: `(n_source,)`, the target box of each source box.
        confidence: `(n_source,)`.
        flow: the dense flow, or None where it was not asked for.
    """

    best: np.ndarray
    confidence: np.ndarray
    flow: Flow | None


class BoxDescriptors:
    """Descriptors of each image's boxes, computed once as long as they fit.

    Args:
        memory_limit: int. Bytes to keep; the least recently used go first.
        centered: bool. Whether the mean descriptor of a pair is removed.
    """

    def __init__(self, memory_limit: int, centered: bool = True):
        self._memory_limit = memory_limit
        self._centered = centered
        self._kept: collections.OrderedDict[str, np.ndarray] = collections.OrderedDict()

    def similarity(
        self,
        source: tuple[str, FeatureMap, np.ndarray],
        target: tuple[str, FeatureMap, np.ndarray],
    ) -> np.ndarray:
        """Returns `(n_source, n_target)` similarities of two images' boxes.

        Args:
            source: image key, feature map and `(n_source, 4)` boxes.
            target: the same of the target.
        """
        descriptors = [self._raw(*source), self._raw(*target)]
        # Feature maps with box descriptors of their own have scaled them as they should be.
        if not hasattr(source[1], "describe_boxes"):
            descriptors = normalize_descriptors(*descriptors, centered=self._centered)
        return box_matching.box_similarity(*descriptors)

    def _raw(self, key, features, boxes):
        if key not in self._kept:
            if hasattr(features, "describe_boxes"):
                found = features.describe_boxes(boxes)
            else:
                found = crop_boxes(features, boxes).reshape(len(boxes), -1)
            self._kept[key] = found
        self._kept.move_to_end(key)
        found = self._kept[key]
        while sum(kept.nbytes for kept in self._kept.values()) > self._memory_limit:
            self._kept.popitem(last=False)
        return found


def match_algorithms(
    pair: BoxPair, algorithms, with_flow: bool, options: dict
) -> dict[str, BoxMatches]:
    """Runs several algorithms on the same similarities.

    Args:
        pair: BoxPair.
        algorithms: names of `anchornet_tf.matchers.proposal_flow.ALGORITHMS`.
        with_flow: bool. Whether to make the dense flows too, which takes longer than the matching.
        options: arguments of `ProposalFlowMatcher`.

    Returns:
        dict of algorithm to matches.
    """
    results = {}
    of_boxes = pair.source_boxes, pair.target_boxes, pair.source_image.shape[:2], pair.target_size
    for algorithm in algorithms:
        matcher = ProposalFlowMatcher(algorithm, **options)
        confidence = matcher.confidence_from_similarity(pair.similarity, *of_boxes)
        best, best_confidence = box_matching.match_boxes(confidence)
        flow = None
        if with_flow:
            flow = matcher.flow_from_confidence(confidence, *of_boxes, pair.source_image)
        results[algorithm] = BoxMatches(best, best_confidence, flow)
    return results


def is_box_matcher(name: str) -> bool:
    """Tells whether a matcher works on boxes."""
    return name in ALGORITHMS
