"""Proposal Flow: matches box proposals of two images and turns the matches into a dense flow.

Reference:
    Ham, Cho, Schmid, Ponce: Proposal Flow, CVPR 2016.
"""

import collections
import hashlib

import numpy as np
from absl import logging

from anchornet_tf.features import box_features, proposals
from anchornet_tf.features.boxes import check_boxes
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers import box_matching
from anchornet_tf.matchers.box_pair import BoxMatches, BoxPair
from anchornet_tf.matchers.dense_from_boxes import (
    displacement_from_boxes,
    displacement_to_same_place,
    one_to_one,
)
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.static_dynamic_filter import static_dynamic_filter

ALGORITHMS = ("nam", "phm", "lom")
_REMEMBERED_IMAGES = 256


class ProposalFlowMatcher:
    """Matches two images by their box proposals.

    Calling the matcher takes five steps, each of which is a method that can be called by itself:
    `propose` boxes, `describe` them, take their `similarity`, `match_boxes`, and make the dense
    `flow`.

    Args:
        algorithm: `"nam"` (appearance alone), `"phm"` (boxes agree on the place and scale of the
            whole object) or `"lom"` (boxes agree with those around them).
        num_proposals: int. Boxes of each image, where none are given.
        proposal_method: How boxes are proposed, see
            `anchornet_tf.features.proposals.propose_boxes`.
        aspect_filter: bool. Whether boxes match only boxes of about the same aspect ratio.
        centered: bool. Whether the mean descriptor of the pair is removed, see
            `anchornet_tf.features.box_features.normalize_descriptors`.
        num_cells: int. Samples along each side of a box that describe it. Feature maps with box
            descriptors of their own (whitened HOG) have their own number.
        lom_variant: `"ordered"`, `"published"` or `"parallel"`, see
            `anchornet_tf.matchers.box_matching.local_offset_matching`.
        smooth: bool. Whether the flow is smoothed within regions of the source image, which also
            fills in the pixels that no match is left for. Otherwise those are marked invalid.

    Raises:
        ValueError: If an option is out of range.

    Example:

    ```python
    matcher = ProposalFlowMatcher("lom", num_proposals=500)
    flow = matcher(source_features, target_features, source_image=a, target_image=b)
    ```
    """

    def __init__(
        self,
        algorithm: str = "lom",
        num_proposals: int = 1000,
        proposal_method: str = "auto",
        aspect_filter: bool = True,
        centered: bool = True,
        num_cells: int = box_features.BOX_CELLS,
        lom_variant: str = "ordered",
        smooth: bool = True,
    ):
        if algorithm not in ALGORITHMS:
            raise ValueError(
                f"`algorithm` must be one of {ALGORITHMS}. Received: algorithm={algorithm!r}"
            )
        for name, value in (("num_proposals", num_proposals), ("num_cells", num_cells)):
            if value < 1:
                raise ValueError(f"`{name}` must be a positive integer. Received: {name}={value}")
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

    @property
    def name(self) -> str:
        """The name of the algorithm, as `get_matcher` takes it."""
        return self.algorithm

    def __getstate__(self) -> dict:
        """Returns the options alone: boxes that are remembered here stay here."""
        return self.__dict__ | {"_remembered": collections.OrderedDict()}

    @property
    def proposal_options(self) -> tuple[str, int]:
        """Method and number of proposals: matchers that share them propose the same boxes."""
        return proposals.resolve_method(self.proposal_method), self.num_proposals

    @property
    def similarity_options(self) -> tuple:
        """What `similarity` depends on: matchers that share it can share a `BoxPair`."""
        return (*self.proposal_options, self.num_cells, self.centered)

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
            source_image: uint8 `(height, width, 3)` of the source's `image_size`. Without it, boxes
                are sliding windows and smoothing does not see the regions of the image.
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
        similarity = self.similarity(
            self.describe(source, source_boxes), self.describe(target, target_boxes)
        )
        pair = BoxPair(similarity, source_boxes, target_boxes, source.image_size, target.image_size)
        return self.flow(pair, self.match_boxes(pair), source_image)

    def propose(
        self, image: np.ndarray | None, image_size: tuple[int, int] | None = None
    ) -> np.ndarray:
        """Returns `(n, 4)` boxes of an image; those of the last images are remembered.

        Args:
            image: uint8 `(height, width, 3)`; None for sliding windows.
            image_size: `(height, width)`, needed only where there is no image.
        """
        if image is None:
            blank = np.zeros((*image_size, 3), np.uint8)
            return proposals.propose_boxes(blank, self.num_proposals, "sliding_window")
        digest = hashlib.blake2b(np.ascontiguousarray(image)).digest()
        key = (self.proposal_options, image.shape, digest)
        if key not in self._remembered:
            self._remembered[key] = proposals.propose_boxes(
                image, self.num_proposals, self.proposal_method
            )
        self._remembered.move_to_end(key)
        while len(self._remembered) > _REMEMBERED_IMAGES:
            self._remembered.popitem(last=False)
        return self._remembered[key]

    def describe(self, features: FeatureMap, boxes: np.ndarray) -> box_features.BoxDescriptors:
        """Returns the descriptors of one image's boxes, which do not depend on the other image.

        Args:
            features: FeatureMap of the image.
            boxes: `(n, 4)` boxes.
        """
        return box_features.describe_boxes(features, boxes, self.num_cells)

    def similarity(
        self, source: box_features.BoxDescriptors, target: box_features.BoxDescriptors
    ) -> np.ndarray:
        """Returns how similar each source box is to each target box.

        Args:
            source: BoxDescriptors of `n_source` boxes, as `describe` gives them.
            target: BoxDescriptors of `n_target` boxes.

        Returns:
            float32 array `(n_source, n_target)`, not negative.

        Raises:
            ValueError: If the descriptors are of different kinds or lengths.
        """
        descriptors = source.values, target.values
        if source.comparable != target.comparable or len({d.shape[1] for d in descriptors}) > 1:
            raise ValueError(
                "Both images need features of one kind and depth. Received: descriptors of shapes "
                f"{descriptors[0].shape} and {descriptors[1].shape}"
            )
        if not source.comparable:
            descriptors = box_features.normalize_descriptors(*descriptors, centered=self.centered)
        similarity = box_matching.box_similarity(*descriptors)
        if not self.centered and similarity.size and similarity.min() > 0:
            logging.log_first_n(
                logging.WARNING,
                "Every box is similar to every other, as with features that are never negative: a "
                "few boxes may become the best match of most. Consider centered=True.",
                1,
            )
        return similarity

    def match_boxes(self, pair: BoxPair) -> BoxMatches:
        """Returns the target box that the algorithm finds for each source box."""
        return BoxMatches(*box_matching.best_matches(self.confidence(pair)))

    def confidence(self, pair: BoxPair) -> np.ndarray:
        """Returns how well each source box matches each target box, by the algorithm.

        Returns:
            float32 array `(n_source, n_target)`, 0 where they do not match.
        """
        boxes = pair.source_boxes, pair.target_boxes
        appearance = box_matching.naive_appearance_matching(
            pair.similarity, *boxes, self.aspect_filter
        )
        if self.algorithm == "phm":
            return box_matching.probabilistic_hough_matching(
                appearance, *boxes, pair.source_size, pair.target_size
            )
        if self.algorithm == "lom":
            return box_matching.local_offset_matching(appearance, *boxes, self.lom_variant)
        return appearance

    def flow(
        self, pair: BoxPair, matches: BoxMatches, source_image: np.ndarray | None = None
    ) -> Flow:
        """Returns the dense flow of matched boxes.

        Where not a single box has a match (boxes that all look alike, as in a constant image), the
        confidence is zero everywhere and every pixel keeps its relative place.

        Args:
            pair: BoxPair that was matched.
            matches: BoxMatches of it.
            source_image: uint8 `(height, width, 3)`, whose regions the smoothing follows, or None.
        """
        if not (matches.confidence > 0).any():
            return self._no_match(pair)
        displacement, valid, confidence = displacement_from_boxes(
            pair.source_boxes,
            pair.target_boxes[matches.best],
            matches.confidence,
            pair.source_size,
            pair.target_size,
        )
        valid = one_to_one(displacement, valid, confidence, pair.target_size)
        if not valid.any():
            return self._no_match(pair)
        if self.smooth:
            if source_image is None:
                source_image = np.zeros((*pair.source_size, 3), np.uint8)
            displacement = static_dynamic_filter(displacement, valid, source_image)
            displacement = _into_target(displacement, pair.target_size)
            valid = np.ones_like(valid)
        return Flow(displacement, pair.target_size, valid, confidence)

    def _no_match(self, pair: BoxPair) -> Flow:
        logging.warning(
            "%s found no match between %d boxes of an image of %dx%d pixels and %d boxes of one of "
            "%dx%d: the flow keeps every pixel in its relative place, with confidence zero%s.",
            self.algorithm,
            len(pair.source_boxes),
            *pair.source_size,
            len(pair.target_boxes),
            *pair.target_size,
            "" if self.smooth else ", and is not valid anywhere",
        )
        displacement = displacement_to_same_place(pair.source_size, pair.target_size)
        valid = np.full(pair.source_size, self.smooth)
        return Flow(displacement, pair.target_size, valid, np.zeros(pair.source_size))


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
