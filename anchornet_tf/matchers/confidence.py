"""The probability that a match is right, from the evidence for it.

"Right" means within a tenth of the object's size of the true place. The probability is a small
function of the evidence (`anchornet_tf.matchers.evidence`), fitted by `trainers.fit_confidence` to
pairs of images whose correspondences are known: for one descriptor, and for each matcher.
"""

import dataclasses
import functools
import json
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.features.object_probe import GRID, ObjectProbe
from anchornet_tf.features.shipped_confidence import shipped_confidence
from anchornet_tf.matchers import evidence
from anchornet_tf.matchers.cells import cells_of
from anchornet_tf.matchers.evidence import Look
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.kept import KeptOfMaps

FORMAT = "anchornet_tf.Confidence/1"
# A match is right within this share of the object's size of the true place.
RIGHT_WITHIN = 0.1
# Flows on finer grids are looked at on one of fewer cells.
FINEST = 4 * GRID[0]
# Evidence this many deviations from its mean counts no more than that.
LIMIT = 4.0
_GATE_SLOPE = 2.0
# Flows with more cells than this together are looked at in turn.
_CELLS_AT_ONCE = 16 * math.prod(GRID)
_SOURCE_OBJECT = evidence.NAMES.index("source_object")


@dataclasses.dataclass(frozen=True, eq=False)
class Calibration:
    """From evidence to a probability: that there is an object, times that its match is right.

    The first is what the probe says about the source; nothing else can tell a background that is
    alike everywhere from an object that is found again. The second is a logistic function of the
    evidence.

    Attributes:
        center: `(evidence,)` that is subtracted first.
        scale: `(evidence,)` that it is then divided by.
        weights: `(evidence,)` of what is left.
        bias: float.
        background: float. What the probe says about a place that is as likely background as not:
            less than it says about all but a few of the places that people mark.
    """

    center: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    bias: float
    background: float

    def probabilities(self, values: tf.Tensor) -> tf.Tensor:
        """Returns the probability of matches, `(...)`, from their evidence, `(..., evidence)`."""
        standard = tf.clip_by_value((values - self.center) / self.scale, -LIMIT, LIMIT)
        right = tf.linalg.matvec(standard, self.weights) + self.bias
        return object_gate(values, self.background) * tf.sigmoid(right)

    def contents(self) -> dict:
        """Returns the calibration as plain lists."""
        arrays = {name: getattr(self, name).tolist() for name in ("center", "scale", "weights")}
        return {**arrays, "bias": self.bias, "background": self.background}

    @classmethod
    def from_contents(cls, contents: Mapping) -> "Calibration":
        """Makes a calibration of what `contents` returned."""
        arrays = [np.array(contents[key], np.float32) for key in ("center", "scale", "weights")]
        if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
            raise ValueError("one centre, scale and weight for each kind of evidence")
        return cls(*arrays, float(contents["bias"]), float(contents["background"]))


def object_gate(values: tf.Tensor, background: float) -> tf.Tensor:
    """Returns the probability `(...)` of an object at the source, from `(..., evidence)`.

    Without a probe, its evidence is zero, and the gate is the same everywhere.
    """
    return tf.sigmoid(_GATE_SLOPE * (values[..., _SOURCE_OBJECT] - background))


class Confidence:
    """Turns the scores of matchers into probabilities, for the maps of one descriptor.

    Args:
        calibrations: A `Calibration` for each matcher, by its name.
        probe: What tells objects from background in the maps, or None.
    """

    def __init__(self, calibrations: Mapping[str, Calibration], probe: ObjectProbe | None = None):
        self.calibrations = dict(calibrations)
        self.probe = probe
        # Without AutoGraph: rewriting code without loops over tensors takes longer than tracing it.
        options = {"reduce_retracing": True, "autograph": False}
        self._compiled = tf.function(self.probabilities, **options)
        self._compiled_objects = tf.function(
            lambda values: evidence.objects(values, probe), **options
        )
        self._looks = KeptOfMaps(self._look_at)

    def look(self, values: tf.Tensor) -> Look:
        """Looks at maps `(batch, height, width, depth)`, as `probabilities` needs them."""
        return evidence.look(values, self.probe)

    def _look_at(self, features: FeatureMap) -> Look:
        # Dense Hough matching asks for the same cells: they are computed once.
        (cells,) = cells_of([features], GRID)
        return Look(cells, self._compiled_objects(tf.constant(features.values)[tf.newaxis]))

    def probabilities(
        self,
        matcher: str,
        source: Look,
        target: Look,
        positions: tf.Tensor,
        scores: tf.Tensor,
        own: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Returns the probability of each match, `(batch, rows, columns)`.

        Args:
            matcher: Name of the matcher, one of `calibrations`.
            source: What `look` says about the source maps.
            target: What it says about the target maps.
            positions: As in `anchornet_tf.matchers.evidence.match_evidence`.
            scores: As there.
            own: As there.
        """
        found = evidence.match_evidence(source, target, positions, scores, own)
        return self.calibrations[matcher].probabilities(found)

    def of_flows(
        self,
        matcher,
        flows: Sequence[Flow],
        sources: Sequence[FeatureMap],
        targets: Sequence[FeatureMap],
    ) -> list[Flow]:
        """Returns flows with the probability as their confidence.

        Args:
            matcher: The matcher that made the flows. One that is not among `calibrations` keeps its
                scores.
            flows: The flows.
            sources: Feature maps of their sources.
            targets: Feature maps of their targets.
        """
        name = getattr(matcher, "name", None)
        if not self.is_for(name, sources[0].depth):
            return list(flows)
        flows, found = list(flows), []
        for start, end in _alike(flows):
            looks = [self._looks(maps[start:end]) for maps in (sources, targets)]
            found += self._of_alike(name, flows[start:end], *looks)
        return found

    def is_for(self, matcher: str | None, depth: int) -> bool:
        """Returns whether it was fitted to a matcher, and to maps of this depth.

        Args:
            matcher: Name of the matcher.
            depth: int, channels of the maps.
        """
        fits = self.probe is None or depth == len(self.probe.weights)
        return matcher in self.calibrations and fits

    def _of_alike(self, name, flows, sources: list[Look], targets: list[Look]) -> list[Flow]:
        """Returns flows of one grid with their probabilities."""
        read = [flow.cells(FINEST) for flow in flows]
        cells = [
            evidence.positions_on_grid(positions, flow.target_size)
            for (positions, _, _), flow in zip(read, flows, strict=True)
        ]
        scores = [scores for _, _, scores in read]
        own = [flow.evidence for flow in flows if flow.evidence is not None]
        arrays = [tf.constant(np.stack(each), tf.float32) for each in (cells, scores, own) if each]
        looks = [
            Look(*map(tf.concat, zip(*maps, strict=True), (0, 0))) for maps in (sources, targets)
        ]
        found = self._compiled(name, *looks, *arrays).numpy()
        return [
            flow.with_confidence(np.where(valid, sure, 0))
            for flow, (_, valid, _), sure in zip(flows, read, found, strict=True)
        ]

    def contents(self) -> dict:
        """Returns everything as plain lists and numbers, for a JSON file."""
        probe = self.probe and {
            name: np.asarray(value).tolist() for name, value in self.probe._asdict().items()
        }
        matchers = {name: each.contents() for name, each in self.calibrations.items()}
        return {
            "format": FORMAT,
            "evidence": list(evidence.NAMES),
            "probe": probe,
            "matchers": matchers,
        }

    @classmethod
    def from_contents(cls, contents: Mapping) -> "Confidence":
        """Makes a `Confidence` of what `contents` returned.

        Raises:
            ValueError: If it is something else.
        """
        try:
            if contents["format"] != FORMAT or contents["evidence"] != list(evidence.NAMES):
                raise ValueError("another version")
            matchers = {
                name: Calibration.from_contents(each) for name, each in contents["matchers"].items()
            }
            probe = ObjectProbe.from_contents(contents)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"Expected what `Confidence.contents` returns ({error}). "
                f"Received: {type(contents).__name__}"
            ) from error
        return cls(matchers, probe)


def _alike(flows: list[Flow]) -> Iterator[tuple[int, int]]:
    """Yields (start, end) of flows in a row with one grid, not too many for memory."""
    start = 0
    for number, flow in enumerate(flows):
        count = number - start + 1
        following = flows[number + 1] if number + 1 < len(flows) else None
        full = (count + 1) * math.prod(flow.grid_size) > _CELLS_AT_ONCE
        if following is None or full or _kind(following) != _kind(flow):
            yield start, number + 1
            start = number + 1


def _kind(flow: Flow):
    return flow.grid_size, flow.evidence is None


def confidence_of(descriptor, confidence) -> Confidence | None:
    """Returns the `Confidence` that a user asks for.

    Args:
        descriptor: The descriptor of the images.
        confidence: As in `Matcher`.

    Raises:
        ValueError: If it is none of what `Matcher` takes.
    """
    if confidence is None or isinstance(confidence, Confidence):
        return confidence
    if confidence == "auto":
        contents = getattr(descriptor, "confidence", None) or shipped_confidence("hc")
        return None if contents is None else _of_text(json.dumps(contents))
    if isinstance(confidence, Mapping):
        return Confidence.from_contents(confidence)
    raise ValueError(
        "`confidence` must be 'auto', None, a Confidence or the contents of its file. "
        f"Received: {confidence!r}"
    )


@functools.lru_cache(maxsize=16)
def _of_text(text: str) -> Confidence:
    """Makes each confidence once: a `Matcher` of the same descriptor need not compile it again."""
    return Confidence.from_contents(json.loads(text))
