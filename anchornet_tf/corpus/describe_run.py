"""Describes the images of a corpus with Apache Beam."""

import dataclasses
import functools
import os
from collections.abc import Iterator, Sequence

import apache_beam as beam

from anchornet_tf.corpus import beam_options
from anchornet_tf.corpus.config import DescribeConfig
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.corpus.listing import Shard, list_images
from anchornet_tf.corpus.model_folder import ModelFolder
from anchornet_tf.corpus.pipeline_run import finish, reporting
from anchornet_tf.corpus.progress import watched


@dataclasses.dataclass(frozen=True)
class DescribeResult:
    """What a run did.

    Attributes:
        images: int. Images of the corpus that are described.
        failed: Why, by key, for those that could not be.
        shards: int. How many the corpus has.
        skipped: int. How many an earlier run had finished.
    """

    images: int
    failed: dict[str, str]
    shards: int
    skipped: int


class DescribeShard(beam.DoFn):
    """Describes the images of a shard, and writes it; the model is loaded once per process.

    Args:
        folder: Of the corpus.
        root: The folder that keys are relative to.
        config: Of the corpus.
    """

    def __init__(self, folder: CorpusFolder, root: str, config: DescribeConfig):
        self._folder, self._root, self._config = folder, root, config

    def setup(self):
        # Some runners start workers that have not seen our programs.
        from anchornet_tf.command_line import start

        beam_options.one_thread()
        start.prepare()
        config = self._config
        with reporting():
            self._describe = _describer(
                config.model, config.peaks, config.dense, config.image_size, config.blur
            )

    def process(self, shard: Shard) -> Iterator[tuple[int, int]]:
        from anchornet_tf.corpus.shard_work import write_shard

        describe = self._describe
        with reporting():
            self._folder.write_directions(describe.directions)
            counts = write_shard(
                self._folder,
                shard,
                self._root,
                self._config,
                describe,
                describe.classes,
                describe.directions.shape[1],
            )
        beam.metrics.Metrics.counter("corpus", "described").inc(counts.described)
        beam.metrics.Metrics.counter("corpus", "failed").inc(counts.failed)
        yield shard.number, counts.described


@functools.cache
def _describer(model, peaks: int | None, dense: bool, image_size: int, blur: float):
    # Threads of a worker and bundles of a run share one model.
    from anchornet_tf.corpus.describer import AnchorDescriber

    return AnchorDescriber(model, peaks, dense, image_size, blur)


def run(
    config: DescribeConfig,
    arguments: Sequence[str] = (),
    workers: int | None = None,
    progress: bool = True,
) -> DescribeResult:
    """Describes all images that no finished shard has.

    Args:
        config: Of the corpus.
        arguments: Beam's own options.
        workers: int. As in `beam_options.pipeline_options`.
        progress: bool. Whether to show a progress bar.

    Raises:
        ValueError: If there are no images, or the folder holds a corpus of something else.
    """
    options = beam_options.pipeline_options(arguments, workers)
    listing = list_images(config.images, config.shard_size, config.limit)
    folder = CorpusFolder(os.fspath(config.output))
    folder.start(config, listing)
    found = ModelFolder.find(config.model)
    if found.is_exported:  # A version that appears meanwhile must not be taken by some workers.
        config = dataclasses.replace(config, model=os.fspath(found.path))
    root = folder.record()["root"]
    finished = folder.finished()
    waiting = [shard for shard in listing.shards if shard.number not in finished]
    if waiting:
        count = len(listing.shards)
        with watched("Describing", lambda: len(folder.finished()), count, progress):
            pipeline = beam.Pipeline(options=options)
            _ = (
                pipeline
                | "Shards" >> beam.Create(waiting)
                # Otherwise a runner may keep all shards in the worker that made them.
                | "Spread" >> beam.Reshuffle()
                | "Describe" >> beam.ParDo(DescribeShard(folder, root, config))
            )
            finish(pipeline)
    failed = folder.failed()
    missing = len(listing.shards) - len(folder.finished())
    if missing:
        raise OSError(
            f"Expected all shards to be written. Received: {missing} missing in {folder.path}"
        )
    folder.sweep()
    return DescribeResult(
        listing.count - len(failed), failed, len(listing.shards), len(listing.shards) - len(waiting)
    )
