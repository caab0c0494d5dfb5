"""Carries points and regions from references to an image, and fuses what they say."""

import copy
import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap, resize_bilinear
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.tasks.fusion import fuse_masks, fuse_points
from anchornet_tf.tasks.layout import layout_of, layout_similarity
from anchornet_tf.tasks.references import (
    Key,
    Reference,
    View,
    check_references,
    mask_size,
    mirrored_image,
)
from anchornet_tf.utils.image_io import ScaledImage

# Without points to tell, an object is taken to fill this share of the image's long side.
_USUAL_SIZE = 0.5
# A mirrored reference has to be so much surer than the reference as it is: less would be better for
# drawings, of which half face the other way, and more for photographs, which mostly do not.
_MIRROR_LEAD = 0.1


@dataclasses.dataclass(frozen=True, eq=False)
class Carried:
    """What was found in one image.

    Attributes:
        points: `(x, y, probability)` by key.
        masks: By key, bool `(height, width)` of the image and the mean probability inside.
        used: Names of the references that were asked, the most similar first; those that were
            mirrored end in "(mirrored)".
    """

    points: Mapping[Key, tuple[float, float, float]]
    masks: Mapping[Key, tuple[np.ndarray, float]]
    used: tuple[str, ...]


class Carrier:
    """Holds references with their features, and carries what is marked in them to any image.

    Args:
        references: The annotated images.
        matcher: The `Matcher` that finds the correspondences.
        references_per_image: int. How many of the references, the most similar ones, are asked for
            each image.
        mirror: bool. Whether references are also tried mirrored, and used so where that is surer.

    Raises:
        ValueError: If there is nothing to carry, or `references_per_image` is not positive.
    """

    def __init__(
        self,
        references: Sequence[Reference],
        matcher: Matcher,
        references_per_image: int = 5,
        mirror: bool = True,
    ):
        check_references(references)
        if references_per_image < 1:
            raise ValueError(
                "`references_per_image` must be positive. "
                f"Received: references_per_image={references_per_image}"
            )
        self.matcher = matcher
        self.references = tuple(references)
        self.references_per_image = references_per_image
        self._views = _described(references, matcher, mirror)  # One list per reference.
        self._layouts = [[layout_of(view.features) for view in views] for views in self._views]
        self._wants_masks = any(reference.regions for reference in references)

    def subset(self, numbers: Sequence[int], references_per_image: int) -> "Carrier":
        """Returns a carrier of some of the references, which are not described again."""
        part = copy.copy(self)
        part.references_per_image = references_per_image
        part.references, part._views, part._layouts = (
            [items[number] for number in numbers]
            for items in (self.references, self._views, self._layouts)
        )
        part._wants_masks = any(reference.regions for reference in part.references)
        return part

    def view(self, number: int) -> View:
        """Returns a reference as it is, with its features."""
        return self._views[number][0]

    def carry(self, features: FeatureMap, image: ScaledImage) -> Carried:
        """Returns what the references say about an image.

        Args:
            features: Its feature map, in pixels of the original image.
            image: The image.
        """
        numbers = self.choose(features)
        views = [view for number in numbers for view in self._views[number]]
        flows = self.matcher.match_maps(
            [view.features for view in views],
            [features] * len(views),
            [view.image for view in views],
            [image] * len(views),
        )
        views, flows = _surer(views, flows)
        points = _fused_points(views, flows, max(features.image_size))
        masks = {}
        if self._wants_masks:
            backward = self.matcher.match_maps(
                [features] * len(views),
                [view.features for view in views],
                [image] * len(views),
                [view.image for view in views],
            )
            masks = _fused_masks(views, backward, features.image_size)
        names = [
            self.references[number].annotations.name + (" (mirrored)" if view.mirrored else "")
            for number, view in zip(numbers, views, strict=True)
        ]
        return Carried(points, masks, tuple(names))

    def choose(self, features: FeatureMap) -> list[int]:
        """Returns the numbers of the references that look most like an image, the most first.

        Args:
            features: The feature map of the image.
        """
        if len(self.references) <= self.references_per_image:
            return list(range(len(self.references)))
        layout = layout_of(features)
        likeness = [
            max(layout_similarity(layout, other) for other in layouts) for layouts in self._layouts
        ]
        return np.argsort(np.negative(likeness), kind="stable")[
            : self.references_per_image
        ].tolist()


def _surer(views: list[View], flows: list[Flow]) -> tuple[list[View], list[Flow]]:
    """Keeps, of a reference and its mirror image, the one whose marks are matched more surely."""
    kept: list[tuple[View, Flow]] = []
    best = 0.0
    for view, flow in zip(views, flows, strict=True):
        sure = _mean_confidence(view, flow)
        if not view.mirrored:
            kept.append((view, flow))
            best = sure
        # Scores of matchers have scales of their own, so the lead is a share of them.
        elif sure > best + _MIRROR_LEAD * (1.0 if flow.has_probabilities else best):
            kept[-1] = (view, flow)
    return [view for view, _ in kept], [flow for _, flow in kept]


def _mean_confidence(view: View, flow: Flow) -> float:
    if view.points:
        places = np.array(list(view.points.values()))
        return float(flow.transfer_with_confidence(places, outside="nearest")[1].mean())
    marked = np.maximum.reduce(list(view.masks.values())) > 0.5
    _, _, confidence = flow.cells(max(marked.shape))
    marked = resize_bilinear(marked[..., np.newaxis] * 1.0, confidence.shape)[..., 0] > 0.5
    return float(confidence[marked].mean()) if marked.any() else float(confidence.mean())


def _described(references, matcher, mirror) -> list[list[View]]:
    with_image = not matcher.on_grid
    views = []
    for reference in references:
        # One by one: the last bits of a network's numbers depend on the batch, and those of a
        # reference must not change when another one is added.
        (features,) = matcher.describe([reference.image])
        flipped = None
        if mirror:
            (flipped,) = matcher.describe([mirrored_image(reference.image)])
        views.append(reference.views(features, flipped, with_image))
    return views


def _fused_points(views: list[View], flows: list[Flow], long_side: int) -> dict:
    keys = list(dict.fromkeys(key for view in views for key in view.points))
    if not keys:
        return {}
    positions = np.full((len(views), len(keys), 2), np.nan)
    probabilities = np.zeros((len(views), len(keys)))
    for row, (view, flow) in enumerate(zip(views, flows, strict=True)):
        columns = [column for column, key in enumerate(keys) if key in view.points]
        points = np.array([view.points[keys[column]] for column in columns])
        if len(columns):
            moved, sure = flow.transfer_with_confidence(points, outside="nearest")
            positions[row, columns], probabilities[row, columns] = moved, sure
    size = _object_size(positions, probabilities, long_side)
    fused, sure = fuse_points(positions, probabilities, size)
    return {
        key: (float(x), float(y), float(p))
        for key, (x, y), p in zip(keys, fused, sure, strict=True)
        if np.isfinite(x)
    }


def _object_size(positions, probabilities, long_side) -> float:
    """Estimates how large the object is in the image, from where its points went."""
    known = np.isfinite(positions).all(axis=-1)
    weights = np.where(known, probabilities, 0)
    counted = weights.sum(axis=0) > 0
    if counted.sum() < 3:
        return _USUAL_SIZE * long_side
    places = np.where(known[..., np.newaxis], positions, 0)
    mean = np.einsum("rp,rpc->pc", weights, places)[counted] / weights.sum(axis=0)[counted, None]
    return float(np.clip(np.ptp(mean, axis=0).max(), 0.1 * long_side, long_side))


def _fused_masks(views: list[View], flows: list[Flow], size: tuple[int, int]) -> dict:
    keys = list(dict.fromkeys(key for view in views for key in view.masks))
    small = mask_size(size)
    pulled: dict[Key, list] = {key: [] for key in keys}
    for view, flow in zip(views, flows, strict=True):
        if not view.masks:
            continue
        stacked = np.stack(list(view.masks.values()), axis=-1)
        flow = flow.resized(small, stacked.shape[:2])
        masks = flow.warp(stacked)
        sure = np.where(flow.valid, flow.confidence, 0)
        for number, key in enumerate(view.masks):
            pulled[key].append((masks[..., number], sure))
    fused = {}
    for key, found in pulled.items():
        masks, sure = (np.stack(parts) for parts in zip(*found, strict=True))
        share, probability = fuse_masks(masks, sure)
        whole = resize_bilinear(share[..., np.newaxis], size)[..., 0] > 0.5
        inside = share > 0.5
        if inside.any():
            fused[key] = (whole, float(probability[inside].mean()))
    return fused
