"""Runs every descriptor with every matcher on every pair of a benchmark, once."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import multiprocessing
import multiprocessing.context
import multiprocessing.resource_tracker
import os
import pathlib
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import tqdm

from anchornet_tf.datasets.annotated.annotation import Benchmark, Pair
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.closer_look import match_with_closer_look
from anchornet_tf.matchers.feature_cache import FeatureCache
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.matcher import MEMORY_LIMIT
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.runner import box_cells, pair_measures
from anchornet_tf.runner.descriptors import Descriptors
from anchornet_tf.runner.proposal_store import ProposalStore
from anchornet_tf.utils.image_io import ScaledImage
from anchornet_tf.utils.journal import Journal
from anchornet_tf.utils.safe_names import path_part

NO_FEATURES = "-"
_UNMOVED = "none"  # The matcher that looks at nothing.


@dataclasses.dataclass(frozen=True)
class GridOptions:
    """What to run.

    Attributes:
        features: Names of descriptors.
        matchers: Names of matchers.
        measures: Some of `MEASURES`, or None for those of the benchmark's protocol.
        measures_of: Some of `MEASURES` for matchers that are measured otherwise, by their names.
        num_boxes: int. Proposals per image, for box matchers whose `matcher_options` have no
            `num_proposals`.
        matcher_options: The options of each matcher, by its name.
        workers: int. Processes for the box matchers; 0 to run them in this process.
        memory_limit: int. Bytes of features to keep in memory, and as many of box descriptors.
    """

    features: tuple[str, ...]
    matchers: tuple[str, ...]
    measures: tuple[str, ...] | None = None
    measures_of: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    num_boxes: int = 1000
    matcher_options: Mapping[str, Mapping] = dataclasses.field(default_factory=dict)
    workers: int = 0
    memory_limit: int = MEMORY_LIMIT


@dataclasses.dataclass(frozen=True, eq=False)
class Cell:
    """One descriptor with one matcher, and how the two are measured.

    Attributes:
        features: Name of the descriptor, or `NO_FEATURES`.
        matcher: Name of the matcher.
        measures: Some of `MEASURES`.
        journal: The notes so far.
    """

    features: str
    matcher: str
    measures: tuple[str, ...]
    journal: Journal

    @property
    def name(self) -> str:
        """The name of the cell in tables, plots and files."""
        return self.matcher if self.features == NO_FEATURES else f"{self.matcher}+{self.features}"

    def lacks(self, pair: Pair) -> bool:
        """Returns whether the pair has yet to be matched."""
        notes = [pair_measures.NOTE_OF[measure] for measure in self.measures]
        return not self.journal.has(pair.name, notes)


class Grid:
    """All cells of an evaluation.

    Args:
        benchmark: Benchmark.
        descriptors: Descriptors.
        options: GridOptions.
        folder: Where journals are kept. A later run with the same folder continues where this one
            ended.
        boxes: ProposalStore, or None for one in the cache folder.

    Attributes:
        cells: One `Cell` for each descriptor and matcher that go together.

    Raises:
        FileNotFoundError: If a bank is missing.
        ValueError: If something is unknown or does not go together.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        descriptors: Descriptors,
        options: GridOptions,
        folder: str | os.PathLike,
        boxes: ProposalStore | None = None,
    ):
        self.benchmark = benchmark
        self._descriptors = descriptors
        self._options = options
        self._boxes = boxes or ProposalStore()
        self._matchers = {name: self._make_matcher(name) for name in options.matchers}
        self._check_classes()
        self.cells = list(self._make_cells(pathlib.Path(folder)))
        if not self.cells:
            raise ValueError(
                "Expected a matcher and a measure that go together. "
                f"Received: matchers={options.matchers}, measures={options.measures}"
            )

    def _make_matcher(self, name):
        return MATCHERS.create(name, **self._options_of(name))

    def _options_of(self, matcher: str) -> dict:
        options = dict(self._options.matcher_options.get(matcher, {}))
        if box_cells.is_box_matcher(matcher):
            options = {"num_proposals": self._options.num_boxes} | options
        return options

    def _check_classes(self) -> None:
        classes = {image.class_name for image in self.benchmark.annotations().values()}
        for feature in self._options.features:
            self._descriptors.check(feature, classes)
            if self._descriptors.depends_on_class(feature):
                for pair in self.benchmark.pairs:
                    if pair.source.class_name != pair.target.class_name:
                        raise ValueError(
                            f"Expected pairs within one class: {feature} cannot match two. "
                            f"Received: {pair.source.class_name} and {pair.target.class_name}"
                        )

    def _make_cells(self, folder: pathlib.Path) -> Iterator[Cell]:
        usual = self._options.measures or self.benchmark.protocol.measures
        for matcher in self._options.matchers:
            wanted = self._options.measures_of.get(matcher, usual)
            wanted = pair_measures.check_measures(wanted)
            boxes = box_cells.is_box_matcher(matcher)
            measures = tuple(name for name in wanted if boxes or name != "regions")
            features = self._options.features if matcher != _UNMOVED else (NO_FEATURES,)
            for feature in features if measures else ():
                header = {
                    "benchmark": self.benchmark.name,
                    "features": feature,
                    "matcher": matcher,
                    "matcher_options": {
                        name: repr(v) for name, v in self._options_of(matcher).items()
                    },
                    "feature_options": {}
                    if feature == NO_FEATURES
                    else self._descriptors.identity(feature),
                }
                journal = Journal(folder / path_part(f"{matcher}+{feature}.jsonl"), header)
                yield Cell(feature, matcher, measures, journal)

    def run(self, progress: bool = True) -> list[Cell]:
        """Matches the pairs that are not matched yet.

        Args:
            progress: bool. Whether to show a progress bar.

        Returns:
            The cells, complete.
        """
        total = sum(cell.lacks(pair) for cell in self.cells for pair in self.benchmark.pairs)
        if not total:
            return self.cells
        with (
            _processes(
                self._options.workers if self._pairs_lacking(self._box_cells()) else 0
            ) as pool,
            tqdm.tqdm(total=total, unit="pair", smoothing=0.05, disable=not progress) as bar,
        ):
            self._prepare_boxes(pool, progress)
            for feature in dict.fromkeys(cell.features for cell in self.cells):
                cells = [cell for cell in self.cells if cell.features == feature]
                bar.set_description(feature if feature != NO_FEATURES else _UNMOVED)
                for class_name, pairs in self._batches(feature):
                    self._run_pairs(feature, class_name, pairs, cells, pool, bar)
        return self.cells

    def flow(self, cell: Cell, pair: Pair) -> Flow:
        """Returns the flow that a cell finds for a pair, for pictures."""
        images = [pair.source.read_image(), pair.target.read_image()]
        if cell.features == NO_FEATURES:
            maps = _blank(images)
        else:
            maps = self._descriptors.describe(cell.features, pair.source.class_name)(images)
        matcher = self._matchers[cell.matcher]
        if not box_cells.is_box_matcher(cell.matcher):
            return _matched(matcher, *maps, *images)
        boxes = [self._boxes.boxes(image, matcher) for image in images]
        return matcher(
            *maps,
            source_image=images[0],
            target_image=images[1],
            source_boxes=boxes[0],
            target_boxes=boxes[1],
        )

    def _batches(self, feature: str) -> Iterator[tuple[str | None, Sequence[Pair]]]:
        """Yields the pairs of each class for a descriptor that depends on it, else all pairs."""
        if not self._descriptors.depends_on_class(feature):
            yield None, self.benchmark.pairs
            return
        for class_name in dict.fromkeys(pair.source.class_name for pair in self.benchmark.pairs):
            yield (
                class_name,
                [pair for pair in self.benchmark.pairs if pair.source.class_name == class_name],
            )

    def _box_cells(self) -> list[Cell]:
        return [cell for cell in self.cells if box_cells.is_box_matcher(cell.matcher)]

    def _pairs_lacking(self, cells) -> list[Pair]:
        return [pair for pair in self.benchmark.pairs if any(cell.lacks(pair) for cell in cells)]

    def _prepare_boxes(self, pool, progress) -> None:
        for cells in self._grouped(self._box_cells(), "proposal_options"):
            images = {
                annotation.image_key: annotation
                for pair in self._pairs_lacking(cells)
                for annotation in (pair.source, pair.target)
            }
            found = (annotation.read_image() for annotation in images.values())
            matcher = self._matchers[cells[0].matcher]
            self._boxes.prepare(found, matcher, pool, len(images), progress)

    def _grouped(self, cells, options) -> list[list[Cell]]:
        """Groups cells whose box matchers agree in the attribute named `options`."""
        groups: dict[tuple, list[Cell]] = {}
        for cell in cells:
            groups.setdefault(getattr(self._matchers[cell.matcher], options), []).append(cell)
        return list(groups.values())

    def _run_pairs(self, feature, class_name, pairs, cells, pool, bar) -> None:
        lacking = [(pair, [cell for cell in cells if cell.lacks(pair)]) for pair in pairs]
        lacking = [(pair, missing) for pair, missing in lacking if missing]
        if not lacking:
            return
        images = self.benchmark.annotations()
        describe = _blank
        if feature != NO_FEATURES:
            describe = self._descriptors.describe(feature, class_name)
        uses = [side.image_key for pair, _ in lacking for side in (pair.source, pair.target)]
        descriptors = box_cells.DescriptorMemory(self._options.memory_limit)
        pending: collections.deque = collections.deque()
        with FeatureCache(
            lambda key: images[key].read_image(), describe, uses, self._options.memory_limit
        ) as cache:
            for pair, missing in lacking:
                source, target = (cache.take(side.image_key) for side in (pair.source, pair.target))
                boxed = [cell for cell in missing if box_cells.is_box_matcher(cell.matcher)]
                for cell in missing:
                    if cell not in boxed:
                        matcher = self._matchers[cell.matcher]
                        maps = source.features, target.features
                        flow = _matched(matcher, *maps, source.image, target.image)
                        cell.journal.add(pair.name, self._measures_of(cell, flow, pair))
                        bar.update()
                for alike in self._grouped(boxed, "similarity_options"):
                    pending.append(self._submit(pool, descriptors, pair, alike, source, target))
                    # A short queue keeps the processes busy and the memory small.
                    while len(pending) > 2 * self._options.workers:
                        self._finish(*pending.popleft(), bar)
            while pending:
                self._finish(*pending.popleft(), bar)

    def _submit(self, pool, descriptors, pair, cells, source, target):
        matchers = {cell.matcher: self._matchers[cell.matcher] for cell in cells}
        matcher = matchers[cells[0].matcher]
        boxed = descriptors.pair(
            matcher,
            *(
                box_cells.BoxedImage(
                    side.image_key, kept.features, self._boxes.boxes(kept.image, matcher)
                )
                for side, kept in ((pair.source, source), (pair.target, target))
            ),
        )
        with_flow = {
            cell.matcher for cell in cells if any(measure != "regions" for measure in cell.measures)
        }
        submit = pool.submit if pool is not None else _now
        future = submit(box_cells.match_pair, boxed, matchers, source.image, with_flow)
        return future, pair, cells, boxed

    def _finish(self, future, pair, cells, boxed, bar) -> None:
        results = future.result()
        for cell in cells:
            matches, flow = results[cell.matcher]
            notes = {}
            if "regions" in cell.measures:
                notes = pair_measures.measure_boxes(
                    pair, boxed.source_boxes, boxed.target_boxes, *matches, boxed.target_size
                )
            if flow is not None:
                notes |= self._measures_of(cell, flow, pair)
            cell.journal.add(pair.name, notes)
            bar.update()

    def _measures_of(self, cell, flow, pair) -> dict:
        return pair_measures.measure_flow(flow, pair, self.benchmark.protocol, cell.measures)


def _matched(matcher, source, target, source_image, target_image) -> Flow:
    """Matches two maps of images, and their objects again if the maps were made for that."""

    def match(sources, targets, *images):
        shown = [image.pixels for (image,) in images]
        return [matcher(*sources, *targets, source_image=shown[0], target_image=shown[1])]

    images = [[ScaledImage(image, image.shape[:2])] for image in (source_image, target_image)]
    return match_with_closer_look(match, [source], [target], *images)[0]


def _blank(images) -> list[FeatureMap]:
    """Returns empty feature maps, which hold only the sizes of the images."""
    return [FeatureMap(np.zeros((1, 1, 1), np.float32), image.shape[:2]) for image in images]


def _now(function, *arguments) -> concurrent.futures.Future:
    future: concurrent.futures.Future = concurrent.futures.Future()
    future.set_result(function(*arguments))
    return future


@contextlib.contextmanager
def _processes(workers: int):
    """Yields a pool of fresh processes, or None without workers.

    Work that is still waiting when the block ends is dropped.
    """
    if workers < 1:
        yield None
        return
    pool = concurrent.futures.ProcessPoolExecutor(
        workers, mp_context=_FreshProcesses(), initializer=_follow_parent
    )
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _FreshProcess(multiprocessing.context.SpawnProcess):
    """A process that does not hear Ctrl-C, not even while it imports TensorFlow."""

    def start(self) -> None:
        # Where it is not running yet, starting it would let SIGINT through again.
        multiprocessing.resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _FreshProcesses(multiprocessing.context.SpawnContext):
    # Forked processes would inherit TensorFlow's threads and locks, and hang.
    Process = _FreshProcess


def _follow_parent() -> None:
    """Makes this process end with the one that started it, even if that one is killed."""
    # Ctrl-C reaches all processes of a terminal; the first one sees to it that the others end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch():
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
