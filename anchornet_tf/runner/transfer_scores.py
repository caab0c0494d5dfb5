"""How well annotations are carried from few references: on images whose annotations are known.

Every image of a set is a target in turn. References are drawn at random from the other images of
its set, or chosen by `anchornet_tf.tasks.suggestion`.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import tqdm

from anchornet_tf.annotations.items import AnnotatedObject, ImageAnnotations, Point, Region
from anchornet_tf.annotations.regions import region_mask
from anchornet_tf.datasets.annotated.annotation import Annotation, object_size
from anchornet_tf.matchers.confidence import RIGHT_WITHIN
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.metrics.calibration import auroc, expected_calibration_error
from anchornet_tf.tasks import suggestion
from anchornet_tf.tasks.carrier import Carried, Carrier
from anchornet_tf.tasks.layout import layout_of
from anchornet_tf.tasks.references import Key, Reference


@dataclasses.dataclass(frozen=True, eq=False)
class PointScores:
    """What became of the points of many targets.

    Attributes:
        errors: `(n,)` distances from the true places, over the object's size; infinite where there
            is no answer.
        probabilities: `(n,)` that the answers are right.
        groups: `(n,)` the set of each.
    """

    errors: np.ndarray
    probabilities: np.ndarray
    groups: np.ndarray

    def pck(self, threshold: float) -> float:
        """Returns the share of points within a threshold, the mean over the sets."""
        right = self.errors < threshold
        return float(np.mean([right[self.groups == name].mean() for name in self._names()]))

    def surest(self, share: float = 0.5) -> "PointScores":
        """Returns the surest share of the points of every set."""
        kept = []
        for name in self._names():
            members = np.flatnonzero(self.groups == name)
            order = np.argsort(-self.probabilities[members], kind="stable")
            kept.append(members[order[: max(1, round(share * len(members)))]])
        kept = np.concatenate(kept)
        return PointScores(self.errors[kept], self.probabilities[kept], self.groups[kept])

    def summary(self) -> dict[str, float]:
        """Returns the figures that are reported, by name."""
        return {
            "points": len(self.errors),
            "PCK 0.05": self.pck(0.05),
            "PCK 0.1": self.pck(0.1),
            "PCK 0.1 of the surest half": self.surest().pck(0.1),
            "AUROC": auroc(self.probabilities, self.errors < RIGHT_WITHIN),
            "ECE": expected_calibration_error(self.probabilities, self.errors < RIGHT_WITHIN),
        }

    def _names(self):
        return np.unique(self.groups)


def as_reference(annotation: Annotation, with_masks: bool) -> Reference:
    """Returns an image of a benchmark as a reference."""
    points = {
        name: Point(x, y)
        for name, (x, y), visible in zip(
            annotation.point_names, annotation.points, annotation.visible, strict=True
        )
        if visible
    }
    regions = []
    if with_masks and annotation.read_masks is not None:
        regions = [
            Region(name, "mask", mask=mask) for name, mask in annotation.read_masks().parts.items()
        ]
    item = AnnotatedObject(annotation.class_name, points, tuple(regions))
    return Reference(ImageAnnotations(annotation.name, None, (item,)), annotation.read_scaled())


class TransferTrial:
    """The images of some sets, described once, to try transfers on.

    Args:
        sets: Annotated images of each set.
        matcher: The `Matcher`.
        with_masks: bool. Whether to carry the masks of parts too.
        mirror: bool. As in `Carrier`.
    """

    def __init__(
        self,
        sets: Mapping[str, Sequence[Annotation]],
        matcher: Matcher,
        with_masks: bool = False,
        mirror: bool = True,
    ):
        self.sets = {name: list(images) for name, images in sets.items()}
        self._carriers = {
            name: Carrier(
                [as_reference(image, with_masks) for image in images], matcher, mirror=mirror
            )
            for name, images in self.sets.items()
        }

    def scores(
        self,
        num_references: int,
        draws: int,
        seed: int = 0,
        suggested: bool = False,
        asked: int | None = None,
    ) -> tuple[PointScores, np.ndarray]:
        """Carries annotations to every image from references of its set.

        Args:
            num_references: int.
            draws: int. How often references are drawn for each target.
            seed: int, of the draws.
            suggested: bool. Whether references are those that `--suggest` names instead of random
                ones; then each set has one draw, and its other images are the targets.
            asked: int. How many of the references, the most similar ones, are asked; None for all.

        Returns:
            The scores of the points and the `(n,)` IoUs of the regions.
        """
        errors, probabilities, groups, overlaps = [], [], [], []
        for name, target, chosen in tqdm.tqdm(
            list(self._trials(num_references, draws, seed, suggested)), unit="image", leave=False
        ):
            carrier = self._carriers[name]
            view = carrier.view(target)
            image = carrier.references[target].image
            carried = carrier.subset(chosen, asked or num_references).carry(view.features, image)
            found = _point_errors(carried, carrier.references[target], self.sets[name][target])
            errors += [error for error, _ in found]
            probabilities += [probability for _, probability in found]
            groups += [name] * len(found)
            overlaps += _overlaps(carried, carrier.references[target])
        points = PointScores(np.array(errors), np.array(probabilities), np.array(groups))
        return points, np.array(overlaps)

    def _trials(self, count, draws, seed, suggested):
        for name, images in self.sets.items():
            if len(images) <= count:
                continue
            if suggested:
                carrier = self._carriers[name]
                texts = [
                    suggestion.packed(layout_of(carrier.view(number).features))
                    for number in range(len(images))
                ]
                chosen = suggestion.suggest(suggestion.unpacked(texts), count)
                yield from ((name, t, chosen) for t in range(len(images)) if t not in chosen)
                continue
            for target in range(len(images)):
                others = [number for number in range(len(images)) if number != target]
                rng = np.random.default_rng([seed, target])
                for _ in range(draws):
                    yield name, target, rng.permutation(others)[:count].tolist()


def _point_errors(carried: Carried, truth: Reference, annotation: Annotation) -> list[tuple]:
    length = object_size(annotation)
    found = []
    for key, place in truth.points.items():
        x, y, probability = carried.points.get(key, (np.inf, np.inf, 0.0))
        error = np.hypot(x - place[0], y - place[1]) / length
        # A point that no reference shows cannot be carried, and is nobody's mistake.
        if np.isfinite(error):
            found.append((error, probability))
    return found


def _overlaps(carried: Carried, truth: Reference) -> list[float]:
    found = []
    for key, region in truth.regions.items():
        mask = region_mask(region, truth.image.original_size)
        carried_mask = carried.masks.get(Key(*key), (np.zeros_like(mask), 0.0))[0]
        union = np.count_nonzero(mask | carried_mask)
        if union:
            found.append(np.count_nonzero(mask & carried_mask) / union)
    return found
