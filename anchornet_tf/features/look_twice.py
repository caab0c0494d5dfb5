"""Describes an image twice: as a whole, and cropped to where its object is.

Objects in photographs are small, and the cells of a network's map are few. The first look tells
where the object is; the second one spends all cells on it.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.object_probe import ObjectProbe

# Chosen on the half of PF-WILLOW that is for tuning: this share of the object's weight is left out
# on each side, and the box then grows by so much of its sides.
LEFT_OUT = 0.02
MARGIN = 0.15
# How fast the weight of a cell rises with what the probe says about it.
SLOPE = 2.0
# How much the first look counts beside the second where both show the object; same half.
FIRST_LOOK = 0.5
# A crop shows at least this share of the image's sides.
SMALLEST = 0.25


class Box(NamedTuple):
    """A part of an image, as shares of its height and width from 0 to 1."""

    top: float
    left: float
    bottom: float
    right: float

    def pixels(self, size: tuple[int, int]) -> tuple[slice, slice]:
        """Returns the rows and columns of an image of a `(height, width)`, at least one each."""
        found = []
        for first, last, side in (
            (self.top, self.bottom, size[0]),
            (self.left, self.right, size[1]),
        ):
            start = min(int(round(first * side)), side - 1)
            found.append(slice(start, max(start + 1, int(round(last * side)))))
        return tuple(found)

    def snapped(self, size: tuple[int, int]) -> "Box":
        """Returns the part that `pixels` names, exactly."""
        rows, columns = self.pixels(size)
        return Box(
            rows.start / size[0],
            columns.start / size[1],
            rows.stop / size[0],
            columns.stop / size[1],
        )


@dataclasses.dataclass(frozen=True, eq=False)
class CloserMap(FeatureMap):
    """What two looks say about a part of an image.

    Args:
        values: As in `FeatureMap`: the descriptors of both looks, side by side.
        image_size: `(height, width)` of the part.
        second_look: The feature map of the second look alone.
    """

    second_look: FeatureMap


@dataclasses.dataclass(frozen=True, eq=False)
class FocusedMap(FeatureMap):
    """The feature map of an image, with a second one of the part that shows its object.

    Args:
        values: As in `FeatureMap`.
        image_size: As in `FeatureMap`.
        closer_values: float array `(rows, columns, depth)` that covers the part.
        box: The part.
    """

    closer_values: np.ndarray
    box: Box

    @functools.cached_property
    def closer(self) -> CloserMap:
        """The part that shows the object, in pixels of the part.

        The first look sees less detail of a cell, but more around it: matching with both is better
        than with the second alone.
        """
        rows, columns = self.box.pixels(self.image_size)
        size = rows.stop - rows.start, columns.stop - columns.start
        second = FeatureMap(self.closer_values, size)
        box = self.box
        values = _unit(self.values)
        down = _reading(values.shape[0], second.grid_size[0], box.top, box.bottom)
        across = _reading(values.shape[1], second.grid_size[1], box.left, box.right)
        # The two axes separate: rows of cells first, then cells within the rows.
        first = np.matmul(across, np.tensordot(down, values, axes=1))
        both = np.concatenate([_unit(second.values), np.sqrt(FIRST_LOOK) * _unit(first)], axis=-1)
        return CloserMap(both, size, second)


def _unit(values: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    return (values / np.maximum(lengths, 1e-6)).astype(np.float32, copy=False)


def _reading(cells: int, count: int, first: float, last: float) -> np.ndarray:
    """Returns `(count, cells)` weights that read `count` places of a part of an axis bilinearly."""
    places = first + (np.arange(count) + 0.5) / count * (last - first)
    places = np.clip(places * cells - 0.5, 0, cells - 1)
    return np.maximum(1 - np.abs(places[:, np.newaxis] - np.arange(cells)), 0).astype(np.float32)


class LookTwice:
    """A descriptor that looks at each image as a whole and then at its object.

    Args:
        describe: The descriptor for both looks.
        probe: What tells objects from background in its maps.
        size: int or `(height, width)` that the part with the object is resized to.

    Attributes:
        confidence: That of the descriptor.
    """

    def __init__(self, describe: DeepDescriptor, probe: ObjectProbe, size: int | tuple[int, int]):
        self.describe = describe
        self.describe_closer = describe.at_size(size)
        self.confidence = describe.confidence
        self._logits = tf.function(probe.logits, reduce_retracing=True, autograph=False)

    def __call__(self, images: Sequence[np.ndarray]) -> list[FocusedMap]:
        """Returns the maps of each `(height, width, 3)` image with values from 0 to 255.

        Raises:
            ValueError: As in `DeepDescriptor`.
        """
        found = []
        for start in range(0, len(images), self.describe.batch_size):
            chunk = images[start : start + self.describe.batch_size]
            maps = self.describe(chunk)
            logits = [self._logits(features.values[np.newaxis])[0].numpy() for features in maps]
            sizes = [np.shape(image)[:2] for image in chunk]
            boxes = [
                object_box(each).snapped(size) for each, size in zip(logits, sizes, strict=True)
            ]
            crops = [
                image[box.pixels(size)]
                for image, box, size in zip(chunk, boxes, sizes, strict=True)
            ]
            for features, closer, box in zip(maps, self.describe_closer(crops), boxes, strict=True):
                found.append(FocusedMap(features.values, features.image_size, closer.values, box))
        return found


def probe_of(confidence: Mapping | None) -> ObjectProbe:
    """Returns what finds the object of an image.

    Args:
        confidence: The contents of a confidence's file, or None.

    Raises:
        ValueError: If nothing in it tells objects from background.
    """
    probe = ObjectProbe.from_contents(confidence)
    if probe is None:
        raise ValueError(
            "Expected a model that tells objects from background for `look_twice`: "
            "`python -m trainers.fit_confidence` fits that. Received: one without"
        )
    return probe


def object_box(logits: np.ndarray) -> Box:
    """Returns the part of an image that shows its object.

    Args:
        logits: float array `(rows, columns)` over the image: above 0 where there is an object.
    """
    weights = 1 / (1 + np.exp(-SLOPE * np.asarray(logits, np.float64)))
    sides = [_extent(weights.sum(axis=1)), _extent(weights.sum(axis=0))]
    (top, bottom), (left, right) = sides
    return Box(top, left, bottom, right)


def _extent(weights: np.ndarray) -> tuple[float, float]:
    """Returns from where to where most of the weight lies, as shares of the side."""
    passed = np.concatenate([[0.0], np.cumsum(weights)])
    passed /= passed[-1]
    borders = np.linspace(0, 1, len(passed))
    # Weights are above zero, so that `passed` rises and each share has one place.
    first, last = np.interp([LEFT_OUT, 1 - LEFT_OUT], passed, borders)
    margin = max(MARGIN * (last - first), (SMALLEST - (last - first)) / 2)
    first, last = first - margin, last + margin
    # A small crop at the border of the image is moved inside.
    shift = max(0.0, -first) - max(0.0, last - 1) if last - first <= SMALLEST + 1e-9 else 0.0
    return float(max(0.0, first + shift)), float(min(1.0, last + shift))
