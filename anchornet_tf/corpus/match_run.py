"""Matches pairs of a corpus with Apache Beam."""

import functools
import json
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam

from anchornet_tf.corpus import beam_options, storage
from anchornet_tf.corpus.config import MatchConfig
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.corpus.listing import Shard
from anchornet_tf.corpus.model_folder import ModelFolder
from anchornet_tf.corpus.pair_list import read_pairs
from anchornet_tf.corpus.pipeline_run import finish, reporting
from anchornet_tf.corpus.progress import watched

_PAIRS, _RECORD = "pairs.jsonl", "matches.json"


class MatchResult(NamedTuple):
    """What a run did.

    Attributes:
        pairs: int. Pairs that are matched.
        groups: int. Files that hold them.
        skipped: int. Files that an earlier run had finished.
    """

    pairs: int
    groups: int
    skipped: int


class MatchGroup(beam.DoFn):
    """Matches a group of pairs and writes its file; the matcher is made once per process.

    Args:
        corpus: Where the features are.
        output: Folder of the results.
        model: The model of the corpus, whose confidence is used.
        matcher: Its name.
        carries_points: bool. As in `PairGroups`.
    """

    def __init__(
        self, corpus: CorpusFolder, output: str, model: str, matcher: str, carries_points: bool
    ):
        self._corpus, self._output = corpus, output
        self._model, self._matcher = model, matcher
        self._carries_points = carries_points

    def setup(self):
        from anchornet_tf.command_line import start

        beam_options.one_thread()
        start.prepare()
        with reporting():
            self._made = _matcher(self._model, self._matcher)
            self._directions = self._corpus.directions()

    def process(self, group: Shard) -> Iterator[tuple[int, int]]:
        from anchornet_tf.corpus.pair_work import match_group

        with reporting():
            count = match_group(
                self._corpus,
                self._directions,
                self._made,
                storage.join(self._output, _PAIRS),
                group,
                self._carries_points,
                _file(self._output, group.number),
            )
        yield group.number, count


@functools.cache
def _matcher(model: str, name: str):
    from anchornet_tf.matchers.matcher import Matcher

    confidence = ModelFolder.find(model).confidence()

    def describe(images):
        raise RuntimeError("the features come from the shards")

    return Matcher(describe, name, confidence=confidence)


def run(
    config: MatchConfig,
    arguments: Sequence[str] = (),
    workers: int | None = None,
    progress: bool = True,
) -> MatchResult:
    """Matches all pairs that no finished file has.

    Args:
        config: What to match.
        arguments: Beam's own options.
        workers: int. As in `beam_options.pipeline_options`.
        progress: bool. Whether to show a progress bar.

    Raises:
        ValueError: If the pairs are not of the corpus, it has no dense descriptors, or the folder
            holds results of something else.
    """
    options = beam_options.pipeline_options(arguments, workers)
    corpus = CorpusFolder(os.fspath(config.corpus))
    record = corpus.record()
    if not record["dense"]:
        raise ValueError(
            "Expected a corpus with dense descriptors: corpus.describe --dense writes one. "
            f"Received: {config.corpus} without them"
        )
    pairs = read_pairs(config.pairs, corpus)
    if ModelFolder.find(record["model"]).digest() != record["model_digest"]:
        raise ValueError(
            "Expected the model that the corpus was described with. "
            f"Received: {record['model']}, changed"
        )
    output = os.fspath(config.output)
    _start(output, config, record, pairs.contents)
    finished = _finished(output)
    waiting = [group for group in pairs.groups if group.number not in finished]
    if waiting:
        with watched("Matching", lambda: len(_finished(output)), len(pairs.groups), progress):
            pipeline = beam.Pipeline(options=options)
            _ = (
                pipeline
                | "Groups" >> beam.Create(waiting)
                | "Spread" >> beam.Reshuffle()
                | "Match"
                >> beam.ParDo(
                    MatchGroup(
                        corpus, output, record["model"], config.matcher, pairs.carries_points
                    )
                )
            )
            finish(pipeline)
    return MatchResult(pairs.count, len(pairs.groups), len(pairs.groups) - len(waiting))


def _start(output: str, config: MatchConfig, record: dict, pairs: bytes) -> None:
    """Begins a folder of results, or checks that it holds results of the same."""
    about = {"matcher": config.matcher, "listing": record["listing"], "model": record["model"]}
    text = json.dumps(about, indent=1).encode() + b"\n"
    for name, contents in ((_PAIRS, pairs), (_RECORD, text)):
        path = storage.join(output, name)
        if not storage.exists(path):
            storage.write_bytes(path, contents)
        elif storage.read_bytes(path) != contents:
            raise ValueError(
                "Expected results of the same pairs, corpus and matcher in --output; choose "
                f"another folder for anything else. Received: {path}, which differs"
            )


def _finished(output: str) -> set[int]:
    found = storage.names(output, ".parquet")
    return {int(name.removesuffix(".parquet").rpartition("-")[2]) for name in found}


def _file(output: str, number: int) -> str:
    return storage.join(output, f"matches-{number:05d}.parquet")
