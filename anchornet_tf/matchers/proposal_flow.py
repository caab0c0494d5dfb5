"""Proposal Flow: matches box proposals of two images and turns the matches into a dense flow.

Reference:
    Ham, Cho, Schmid, Ponce: Proposal Flow, CVPR 2016.
"""

import collections
import hashlib

import numpy as np
from absl import logging

from anchornet_tf.features import proposals
from anchornet_tf.features.box_features import BOX_CELLS, describe_boxes
from anchornet_tf.features.boxes import check_boxes
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers import box_matching
from anchornet_tf.matchers.dense_from_boxes import displacement_from_boxes, one_to_one
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.static_dynamic_filter import static_dynamic_filter

ALGORITHMS = ("nam", "phm", "lom")
_REMEMBERED_IMAGES = 256


class ProposalFlowMatcher:
    """Matches two images by their box proposals.

    Args:
        algorithm: `"nam"` (appearance alone), `"phm"` (boxes agree on the place and scale of the whole
            object) or `"lom"` (boxes agree with those around them).
        num_proposals: int. Boxes of each image, where none are given.
        proposal_method: How boxes are proposed, see `anchornet_tf.features.proposals.propose_boxes`.
        aspect_filter: bool. Whether boxes match only boxes of about the same aspect ratio.
        centered: bool. Whether the mean descriptor of the pair is removed, see
            `anchornet_tf.features.box_features.describe_boxes`.
        num_cells: int. Samples a side that describe a box.
        lom_variant: `"ordered"`, `"published"` or `"parallel"`, see
            `anchornet_tf.matchers.box_matching.local_offset_matching`.
        smooth: bool. Whether the flow is smoothed within regions of the source image, which also fills
            in the pixels that no match is left for. Otherwise those are marked invalid.

    Raises:
        ValueError: If an option is out of range.

    Example:

    >>> matcher = ProposalFlowMatcher("lom", num_proposals=500)
    >>> flow = matcher(source_features, target_features, source_image=a, target_image=b)
    """

    def __init__(
        self,
        algorithm: str = "lom",
        num_proposals: int = 1000,
        proposal_method: str = "auto",
        aspect_filter: bool = True,
        centered: bool = True,
        num_cells: int = BOX_CELLS,
        lom_variant: str = "ordered",
        smooth: bool = True,
    ):
        if algorithm not in ALGORITHMS:
            raise ValueError(
                f"`algorithm` must be one of {ALGORITHMS}. Received: algorithm={algorithm!r}"
            )
        if num_proposals < 1:
            raise ValueError(
                "`num_proposals` must be a positive integer. "
                f"Received: num_proposals={num_proposals}"
            )
        if proposal_method not in proposals.METHODS:
            raise ValueError(
                f"`proposal_method` must be one of {proposals.METHODS}. "
                f"Received: proposal_method={proposal_method!r}"
            )
        if lom_variant not in box_matching.LOM_VARIANTS:
            raise ValueError(
                f"`lom_variant` must be one of {box_matching.LOM_VARIANTS}. "
                f"Received: lom_variant={lom_variant!r}"
            )
        self.algorithm = algorithm
        self.num_proposals = num_proposals
        self.proposal_method = proposal_method
        self.aspect_filter = aspect_filter
        self.centered = centered
        self.num_cells = num_cells
        self.lom_variant = lom_variant
        self.smooth = smooth
        self._remembered = collections.OrderedDict()

    def __call__(
        self,
        source: FeatureMap,
        target: FeatureMap,
        *,
        source_image: np.ndarray | None = None,
        target_image: np.ndarray | None = None,
        source_boxes: np.ndarray | None = None,
        target_boxes: np.ndarray | None = None,
        **_,
    ) -> Flow:
        """Returns the flow from the source to the target image.

        Args:
            source: FeatureMap of the source image.
            target: FeatureMap of the target image.
            source_image: uint8 `(height, width, 3)` of the source's `image_size`. Without it, boxes are
                sliding windows and smoothing does not see the regions of the image.
            target_image: uint8 `(height, width, 3)` of the target's `image_size`, or None.
            source_boxes: `(n, 4)` boxes as in `anchornet_tf.features.boxes`, in place of proposals.
            target_boxes: `(n, 4)` boxes, in place of proposals.

        Raises:
            ValueError: If features are of different kinds or depths, an image has another size than
                its features or boxes are malformed.
        """
        source_image = _check_image(source_image, source, "source_image")
        target_image = _check_image(target_image, target, "target_image")
        if source_boxes is None:
            source_boxes = self.propose(source_image, source.image_size)
        if target_boxes is None:
            target_boxes = self.propose(target_image, target.image_size)
        source_boxes = check_boxes(source_boxes, "source_boxes")
        target_boxes = check_boxes(target_boxes, "target_boxes")
        confidence = self.box_confidence(source, target, source_boxes, target_boxes)
        return self.flow_from_confidence(
            confidence,
            source_boxes,
            target_boxes,
            source.image_size,
            target.image_size,
            source_image,
        )

    def flow_from_confidence(
        self,
        confidence: np.ndarray,
        source_boxes: np.ndarray,
        target_boxes: np.ndarray,
        source_size: tuple[int, int],
        target_size: tuple[int, int],
        source_image: np.ndarray | None = None,
    ) -> Flow:
        """Returns the dense flow of matched boxes.

        Args:
            confidence: `(n_source, n_target)`, as `box_confidence` gives it.
            source_boxes: `(n_source, 4)` boxes.
            target_boxes: `(n_target, 4)` boxes.
            source_size: (height, width) of the source image.
            target_size: (height, width) of the target image.
            source_image: uint8 `(height, width, 3)`, whose regions the smoothing follows, or None.
        """
        if confidence.size == 0:
            nothing = np.zeros(source_size)
            return Flow(np.zeros((*nothing.shape, 2)), target_size, nothing, nothing)
        best, best_confidence = box_matching.match_boxes(confidence)
        displacement, valid, pixel_confidence = displacement_from_boxes(
            source_boxes, target_boxes[best], best_confidence, source_size, target_size
        )
        valid = one_to_one(displacement, valid, pixel_confidence, target_size)
        if self.smooth and valid.any():
            if source_image is None:
                source_image = np.zeros((*source_size, 3), np.uint8)
            displacement = static_dynamic_filter(displacement, valid, source_image)
            displacement = _into_target(displacement, target_size)
            valid = np.ones_like(valid)
        return Flow(displacement, target_size, valid, pixel_confidence)

    def propose(self, image: np.ndarray | None, image_size: tuple[int, int]) -> np.ndarray:
        """Returns `(n, 4)` boxes of an image; those of the last images are remembered.

        Args:
            image: uint8 `(height, width, 3)`; None for sliding windows.
            image_size: `(height, width)`.
        """
        if image is None:
            blank = np.zeros((*image_size, 3), np.uint8)
            return proposals.propose_boxes(blank, self.num_proposals, "sliding_window")
        digest = hashlib.blake2b(np.ascontiguousarray(image)).digest()
        key = (self.num_proposals, self.proposal_method, image.shape, digest)
        if key not in self._remembered:
            self._remembered[key] = proposals.propose_boxes(
                image, self.num_proposals, self.proposal_method
            )
        self._remembered.move_to_end(key)
        while len(self._remembered) > _REMEMBERED_IMAGES:
            self._remembered.popitem(last=False)
        return self._remembered[key]

    def box_confidence(
        self,
        source: FeatureMap,
        target: FeatureMap,
        source_boxes: np.ndarray,
        target_boxes: np.ndarray,
    ) -> np.ndarray:
        """Returns how well each source box matches each target box.

        Args:
            source: FeatureMap of the source image.
            target: FeatureMap of the target image.
            source_boxes: `(n_source, 4)` boxes.
            target_boxes: `(n_target, 4)` boxes.

        Returns:
            float32 array `(n_source, n_target)`, 0 where they do not match.
        """
        descriptors = describe_boxes(
            source, target, source_boxes, target_boxes, self.centered, self.num_cells
        )
        similarity = box_matching.box_similarity(*descriptors)
        if similarity.size and similarity.min() > 0:
            logging.log_first_n(
                logging.WARNING,
                "Every box is similar to every other, as with features that are never negative: a few "
                "boxes may become the best match of most. Consider centered=True.",
                1,
            )
        return self.confidence_from_similarity(
            similarity, source_boxes, target_boxes, source.image_size, target.image_size
        )

    def confidence_from_similarity(
        self,
        similarity: np.ndarray,
        source_boxes: np.ndarray,
        target_boxes: np.ndarray,
        source_size: tuple[int, int],
        target_size: tuple[int, int],
    ) -> np.ndarray:
        """Returns what the algorithm makes of the boxes' similarities, `(n_source, n_target)` both."""
        confidence = box_matching.naive_appearance_matching(
            similarity, source_boxes, target_boxes, self.aspect_filter
        )
        if self.algorithm == "phm":
            return box_matching.probabilistic_hough_matching(
                confidence, source_boxes, target_boxes, source_size, target_size
            )
        if self.algorithm == "lom":
            return box_matching.local_offset_matching(
                confidence, source_boxes, target_boxes, self.lom_variant
            )
        return confidence


def _check_image(image, features, name):
    if image is None:
        return None
    image = np.asarray(image)
    if image.shape != (*features.image_size, 3):
        raise ValueError(
            f"`{name}` must have shape {(*features.image_size, 3)}, that of the image its features "
            f"come from. Received: {name}.shape={image.shape}"
        )
    return image


def _into_target(displacement, target_size):
    """Shortens vectors so that they end on the target image."""
    origin = np.stack(np.indices(displacement.shape[:2]), axis=-1)
    return np.clip(displacement, -origin, np.subtract(target_size, 1) - origin)
