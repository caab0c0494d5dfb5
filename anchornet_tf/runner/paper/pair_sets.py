"""The pairs of images that tables need: within classes, across classes, across families."""

import dataclasses

from anchornet_tf.datasets.annotated.annotation import Annotation, Benchmark, Pair
from anchornet_tf.datasets.annotated.registry import open_benchmark
from anchornet_tf.runner.paper.config import QUICK_CLASSES, PaperRun

WITHIN, ACROSS, FAMILIES = "within", "across", "families"
# Tables 1 and 2, and on parts_world table 3, are measured on the same pairs.
SET_OF_TABLE = {1: WITHIN, 2: WITHIN, 3: WITHIN, 4: ACROSS, 5: FAMILIES}
_QUICK_GROUPS = 4


@dataclasses.dataclass(frozen=True, eq=False)
class PairSet:
    """Pairs that tables share.

    Attributes:
        name: `within`, `across` or `families`.
        benchmark: The pairs to match; None if the data has none.
        every: All pairs of the same images, of which those are drawn; None likewise.
        classes: The classes that the data shows.
        left_out: Why groups that the data has are left out, by group.
        reason: Why there are no pairs at all; "" if there are.
    """

    name: str
    benchmark: Benchmark | None
    every: Benchmark | None = None
    classes: tuple[str, ...] = ()
    left_out: dict[str, str] = dataclasses.field(default_factory=dict)
    reason: str = ""

    @property
    def groups(self) -> list[str]:
        """The groups of the pairs to match, in their order."""
        pairs = self.benchmark.pairs if self.benchmark else ()
        return list(dict.fromkeys(pair.group for pair in pairs))

    def why_not(self, group: str) -> str:
        """Says why a group has no pairs."""
        if self.reason or group in self.left_out:
            return self.reason or self.left_out[group]
        missing = [name for name in group.split(">") if name not in self.classes]
        if missing:
            return f"the data has no class {' and no class '.join(missing)}"
        return f"the data has no pairs of {group}"

    def of_classes(self, classes) -> Benchmark:
        """Returns the pairs whose images show these classes."""
        pairs = tuple(pair for pair in self.benchmark.pairs if _classes(pair) <= set(classes))
        return dataclasses.replace(self.benchmark, pairs=pairs)

    def image_sets(self) -> list[list[Annotation]]:
        """Returns the images in sets: two images that are a pair are in one set."""
        return _connected(self.every)


def read_pair_set(name: str, run: PaperRun) -> PairSet:
    """Reads the pairs of a set and leaves out what a run does not ask for.

    Raises:
        FileNotFoundError: If the data is missing.
        ValueError: If an annotation is malformed, or the data has none of the classes asked for.
    """
    options: dict = {ACROSS: {"cross_category": True}, FAMILIES: {}, WITHIN: {}}[name]
    if name != WITHIN:
        options = options | {"seed": run.seed}
    if name == FAMILIES and run.data == "parts_world":
        options = options | {"animal_families": True}
    try:
        found = open_benchmark(run.data, run.data_dir, **options)
    except ValueError:
        if name != ACROSS:
            raise
        # A set of cars alone has no pairs of two classes. What is malformed is found here, too.
        return PairSet(name, None, classes=_classes_of(open_benchmark(run.data, run.data_dir)))
    classes = _classes_of(found)
    pairs, left_out = _chosen_pairs(found, classes, run)
    if not pairs:
        return PairSet(name, None, None, classes, left_out, "no pairs of the classes asked for")
    found = dataclasses.replace(found, pairs=pairs)
    every = _of_first_images(found, run.images_per_set) if name == WITHIN else found
    benchmark = every
    if run.pairs_per_column is not None:
        num_groups = len({pair.group for pair in every.pairs})
        benchmark = every.limited(run.pairs_per_column * num_groups, run.seed)
    return PairSet(name, benchmark, every, classes, left_out)


def _chosen_pairs(
    found: Benchmark, classes, run: PaperRun
) -> tuple[tuple[Pair, ...], dict[str, str]]:
    unknown = [name for name in run.classes or () if name not in classes]
    if unknown and len(unknown) == len(run.classes):
        raise ValueError(
            f"Expected classes of {found.name}: {', '.join(sorted(classes))}. "
            f"Received: {', '.join(unknown)}"
        )
    groups: dict[str, set[str]] = {}
    for pair in found.pairs:
        groups.setdefault(pair.group, set()).update(_classes(pair))
    left_out = {}
    kept = list(groups)
    if run.classes is not None:
        left_out = {
            group: "left out by --class" for group in kept if not groups[group] <= {*run.classes}
        }
    elif run.quick:
        quick = [group for group in kept if groups[group] <= {*QUICK_CLASSES}]
        quick = quick or kept[:_QUICK_GROUPS]
        left_out = {group: "left out by --quick" for group in kept if group not in quick}
    return tuple(pair for pair in found.pairs if pair.group not in left_out), left_out


def _of_first_images(benchmark: Benchmark, count: int | None) -> Benchmark:
    if count is None:
        return benchmark
    kept = {image.image_key for images in _connected(benchmark) for image in images[:count]}
    pairs = tuple(
        pair
        for pair in benchmark.pairs
        if pair.source.image_key in kept and pair.target.image_key in kept
    )
    notes = benchmark.notes
    if len(pairs) < len(benchmark.pairs):
        notes = (*notes, f"the first {count} images of each set")
    return dataclasses.replace(benchmark, pairs=pairs, notes=notes)


def _connected(benchmark: Benchmark) -> list[list[Annotation]]:
    """Returns the images that pairs join, in the order of first use."""
    images = benchmark.annotations()
    home = {key: key for key in images}

    def root(key):
        while home[key] != key:
            home[key] = home[home[key]]
            key = home[key]
        return key

    for pair in benchmark.pairs:
        home[root(pair.target.image_key)] = root(pair.source.image_key)
    sets: dict[str, list[Annotation]] = {}
    for key, image in images.items():
        sets.setdefault(root(key), []).append(image)
    return list(sets.values())


def _classes(pair: Pair) -> set[str]:
    return {pair.source.class_name, pair.target.class_name}


def _classes_of(benchmark: Benchmark) -> tuple[str, ...]:
    images = benchmark.annotations().values()
    return tuple(dict.fromkeys(image.class_name for image in images))
