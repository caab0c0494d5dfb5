"""What every benchmark is read into: annotated images, pairs of them, and how they are scored."""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from anchornet_tf.metrics.pck import reference_length
from anchornet_tf.utils.image_io import ScaledImage, read_image, read_scaled

MEASURES = ("pck", "parts", "regions")


@dataclasses.dataclass(frozen=True, eq=False)
class Masks:
    """Where the object and its parts are.

    Attributes:
        whole: `(height, width)` bool, the object; None where it is not annotated.
        parts: name -> `(height, width)` bool; parts may overlap.
    """

    whole: np.ndarray | None
    parts: Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class Annotation:
    """What is known about one image.

    Attributes:
        name: str, for people and files.
        image_key: str. Annotations of one image share it, so that its features are computed once.
        class_name: str, the class (or family) that the image shows.
        points: `(n, 2)` keypoints (x, y), 0-based pixels.
        point_names: n names. A name that occurs twice stands for places that are not told apart.
        visible: `(n,)` bool; points that are not visible have any coordinates.
        box: (left, top, right, bottom) of the object in pixels, or None.
        path: the image's file, or None for images that are none.
        load: callable without arguments to the uint8 `(height, width, 3)` image, for those.
        read_masks: callable without arguments to the masks, or None where there are none.
    """

    name: str
    image_key: str
    class_name: str
    points: np.ndarray
    point_names: tuple[str, ...]
    visible: np.ndarray
    box: tuple[float, float, float, float] | None = None
    path: pathlib.Path | None = None
    load: Callable[[], np.ndarray] | None = None
    read_masks: Callable[[], Masks] | None = None

    def __post_init__(self):
        points = np.asarray(self.points, np.float64).reshape(-1, 2)
        visible = np.asarray(self.visible, bool)
        if not len(points) == len(self.point_names) == len(visible):
            raise ValueError(
                "Each keypoint needs a name and a visibility. Received: "
                f"{len(points)} points, {len(self.point_names)} names, {len(visible)} flags of "
                f"{self.name}"
            )
        if not np.isfinite(points[visible]).all():
            raise ValueError(
                "Visible keypoints must be finite. Received: "
                f"{points[visible].tolist()} of {self.name}"
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "visible", visible)

    def read_image(self) -> np.ndarray:
        """Returns the image, uint8 `(height, width, 3)`."""
        return read_image(self.path) if self.load is None else self.load()

    def read_scaled(self) -> ScaledImage:
        """Returns the image for a descriptor: scaled down where it is very large."""
        return read_scaled(self.path if self.load is None else self.load())

    @property
    def visible_points(self) -> np.ndarray:
        """`(m, 2)`: the visible keypoints."""
        return self.points[self.visible]


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Two images to match.

    Attributes:
        name: str, unique within the benchmark.
        source: Annotation.
        target: Annotation.
        group: str. Scores are averaged within groups (a set or a class) first.
    """

    name: str
    source: Annotation
    target: Annotation
    group: str

    def shared_points(self) -> tuple[np.ndarray, np.ndarray]:
        """Finds the keypoints that are visible in both images.

        Returns:
            `(n, 2)` points of the source and `(n, m, 2)` points of the target that have the same
            name; m is one unless names repeat, and rows with fewer are filled up with NaN.
        """
        places: dict[str, list] = {}
        for name, point in zip(
            np.array(self.target.point_names, object)[self.target.visible],
            self.target.visible_points,
            strict=True,
        ):
            places.setdefault(name, []).append(point)
        shared = self._shared()
        found = [places[name] for name in np.array(self.source.point_names, object)[shared]]
        candidates = np.full((len(found), max(map(len, found), default=1), 2), np.nan)
        for row, points in zip(candidates, found, strict=True):
            row[: len(points)] = points
        return self.source.points[shared], candidates

    def shared_names(self) -> list[str]:
        """Returns the names of the points that `shared_points` finds."""
        return np.array(self.source.point_names, object)[self._shared()].tolist()

    def _shared(self) -> np.ndarray:
        there = set(np.array(self.target.point_names, object)[self.target.visible])
        named = np.array([name in there for name in self.source.point_names], bool)
        return named & self.source.visible


@dataclasses.dataclass(frozen=True)
class Protocol:
    """How a benchmark is scored.

    Attributes:
        measures: of `MEASURES`, those that are published for it.
        normalize_by: the lengths that PCK errors may be divided by, the usual one first.
        thresholds: of PCK.
        inclusive: bool. Whether an error equal to the threshold is correct.
        length_of: "source" or "target": the image whose size `"image"` means.
        average: "groups" (the mean of the groups' means) or "pairs" (the mean over all pairs).
        matrix: bool. Whether results are shown by source class and target class.
    """

    measures: tuple[str, ...]
    normalize_by: tuple[str, ...]
    thresholds: tuple[float, ...]
    inclusive: bool = False
    length_of: str = "target"
    average: str = "groups"
    matrix: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Benchmark:
    """Pairs and how they are scored.

    Attributes:
        name: str.
        pairs: the pairs, those of a group together.
        protocol: Protocol.
        notes: what a reader of its figures has to know.
    """

    name: str
    pairs: tuple[Pair, ...]
    protocol: Protocol
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.pairs:
            raise ValueError(f"Expected at least one pair of images. Received: none in {self.name}")
        names = [pair.name for pair in self.pairs]
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})[:3]
            raise ValueError(f"Names of pairs must be unique. Received: {', '.join(twice)} twice")

    def annotations(self) -> dict[str, Annotation]:
        """Returns one annotation per image, by image key, in the order of first use."""
        found: dict[str, Annotation] = {}
        for pair in self.pairs:
            for annotation in (pair.source, pair.target):
                found.setdefault(annotation.image_key, annotation)
        return found

    def of_classes(self, names: Sequence[str]) -> "Benchmark":
        """Returns the pairs whose two images show one of the named classes.

        Raises:
            ValueError: If the benchmark has no such class, or no pair between them.
        """
        there = sorted({item.class_name for item in self.annotations().values()})
        unknown = [name for name in names if name not in there]
        if unknown:
            raise ValueError(
                f"Expected classes of {self.name}: {', '.join(there)}. "
                f"Received: {', '.join(unknown)}"
            )
        pairs = tuple(
            pair
            for pair in self.pairs
            if pair.source.class_name in names and pair.target.class_name in names
        )
        notes = (*self.notes, f"only {', '.join(names)}")
        return dataclasses.replace(self, pairs=pairs, notes=notes)

    def limited(self, limit: int, seed: int) -> "Benchmark":
        """Returns `limit` random pairs that are spread evenly over the groups.

        A larger limit keeps the pairs of a smaller one.

        Raises:
            ValueError: If `limit` is not positive.
        """
        if limit < 1:
            raise ValueError(f"`limit` must be a positive integer. Received: limit={limit}")
        order = np.random.default_rng(seed).permutation(len(self.pairs))
        turn: dict[str, int] = {}
        ranked = []
        for index in order:
            group = self.pairs[index].group
            turn[group] = turn.get(group, 0) + 1
            ranked.append((turn[group], index))
        chosen = sorted(index for _, index in sorted(ranked, key=lambda item: item[0])[:limit])
        note = f"{len(chosen)} of {len(self.pairs)} pairs (limit={limit}, seed={seed})"
        pairs = tuple(self.pairs[index] for index in chosen)
        notes = (*self.notes, note) if len(pairs) < len(self.pairs) else self.notes
        return dataclasses.replace(self, pairs=pairs, notes=notes)


def object_size(annotation: Annotation) -> float:
    """Returns how large the object of an image is, in pixels.

    It is the longer side of its box, or of that of its mask, or else of the box of its keypoints.
    """
    if annotation.box is not None:
        return reference_length("bbox", box=annotation.box)
    masks = annotation.read_masks() if annotation.read_masks is not None else None
    if masks is not None and masks.whole is not None and masks.whole.any():
        rows, columns = (np.flatnonzero(masks.whole.any(axis=axis)) for axis in (1, 0))
        return reference_length("bbox", box=(columns[0], rows[0], columns[-1], rows[-1]))
    return reference_length("bbox_kp", points=annotation.visible_points)
