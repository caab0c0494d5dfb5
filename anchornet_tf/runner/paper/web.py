"""The row of FlowWeb: whole sets are aligned, and the flows of their pairs measured."""

import pathlib
import shutil

from anchornet_tf.datasets.annotated.annotation import Annotation, Pair
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.runner.pair_measures import NOTE_OF, measure_flow
from anchornet_tf.runner.paper.methods import FLOW_WEB
from anchornet_tf.runner.paper.pair_sets import PairSet
from anchornet_tf.tasks.align import FEWEST_IMAGES, MAX_SIDE, align_frame
from anchornet_tf.tasks.align_store import FolderStore
from anchornet_tf.tasks.common_frame import SEEN_SIDE, CommonFrame
from anchornet_tf.tasks.flow_web.settings import FlowWebSettings
from anchornet_tf.utils.image_io import read_scaled
from anchornet_tf.utils.journal import Journal

# As in the published program.
_FEATURES, _MATCHER = "sift", "dsp"


class FlowWebRow:
    """Aligns sets of images and measures the flows of their pairs.

    Args:
        pairs: PairSet.
        measures: Some of `MEASURES`.
        folder: Where the journal is kept, and the flows of a set until it is measured. A later run
            with the same folder continues where this one ended.
        num_images: int. Images of each set, for the name of the journal; None for all.

    Attributes:
        journal: The notes of all pairs of the images that were aligned.
    """

    def __init__(self, pairs: PairSet, measures, folder: pathlib.Path, num_images: int | None):
        self._pairs, self._measures, self._folder = pairs, measures, folder
        self._settings = FlowWebSettings()
        self._header = {
            "benchmark": pairs.benchmark.name,
            "matcher": FLOW_WEB,
            "start": f"{_MATCHER}+{_FEATURES}",
            "max_side": MAX_SIDE,
            "settings": repr(self._settings),
        }
        # A set of other images has other flows for the same pair.
        name = f"{FLOW_WEB}-{num_images or 'all'}.jsonl"
        self.journal = Journal(folder / name, self._header)

    def lacking(self) -> int:
        """Returns the number of pairs that are not measured yet."""
        return sum(len(pairs) for _, pairs in self._waiting())

    def run(self, progress: bool = True) -> Journal:
        """Aligns the sets whose pairs are not measured yet, and measures them.

        Args:
            progress: bool. Whether to show progress bars.

        Returns:
            The journal, complete.
        """
        matcher = None
        for images, lacking in self._waiting():
            matcher = matcher or Matcher(_FEATURES, _MATCHER, confidence=None)
            keys = [image.image_key for image in images]
            # Masks and images are read again for each set: there may be hundreds of them.
            frame = CommonFrame.of(
                [read_scaled(image.read_scaled(), SEEN_SIDE) for image in images], MAX_SIDE
            )
            work = self._folder / f"{FLOW_WEB}-work"
            header = self._header | {"images": keys}
            store = FolderStore(work, header, {}, self._settings.iterations)
            aligned = align_frame(frame, matcher, None, self._settings, store, progress)
            for pair in lacking:
                flow = aligned[keys.index(pair.source.image_key), keys.index(pair.target.image_key)]
                notes = measure_flow(flow, pair, self._pairs.every.protocol, self._measures)
                self.journal.add(pair.name, notes)
            # Flows among many images take gigabytes.
            shutil.rmtree(work)
        return self.journal

    def _waiting(self) -> list[tuple[list[Annotation], list[Pair]]]:
        """Returns the sets that have pairs to measure, with those pairs."""
        notes = [NOTE_OF[measure] for measure in self._measures]
        lacking: dict[str, list[Pair]] = {}
        for pair in self._pairs.every.pairs:
            if not self.journal.has(pair.name, notes):
                lacking.setdefault(pair.source.image_key, []).append(pair)
        found = []
        for images in self._pairs.image_sets():
            own = [pair for image in images for pair in lacking.get(image.image_key, ())]
            if own and len(images) >= FEWEST_IMAGES:
                found.append((images, own))
        return found
