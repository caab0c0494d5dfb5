"""Runs what the tables need, or the rest of it, and writes the tables."""

import dataclasses
import os
import pathlib
from collections.abc import Iterator

from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.runner.bootstrap import Resampling
from anchornet_tf.runner.descriptors import Descriptors
from anchornet_tf.runner.grid import Grid, GridOptions
from anchornet_tf.runner.paper import methods, plan, writing
from anchornet_tf.runner.paper.config import PaperRun
from anchornet_tf.runner.paper.measured import MeasuredTable, Notes, measure_table
from anchornet_tf.runner.paper.pair_sets import SET_OF_TABLE, PairSet, read_pair_set
from anchornet_tf.runner.paper.progress import Progress, cost_of
from anchornet_tf.runner.paper.published import published_tables
from anchornet_tf.runner.paper.web import FlowWebRow
from anchornet_tf.runner.proposal_store import ProposalStore
from anchornet_tf.utils import files


@dataclasses.dataclass(frozen=True, eq=False)
class _Part:
    """What the tables of one set of pairs need."""

    pairs: PairSet
    numbers: list[int]
    rows: list[methods.Method]
    plan: plan.Plan

    @property
    def steps(self) -> list[plan.Step]:
        return self.plan.steps


def reproduce(run: PaperRun, progress: bool = True) -> list[MeasuredTable]:
    """Fills tables of the paper, or goes on with them.

    Args:
        run: PaperRun.
        progress: bool. Whether to say what is done and how long the rest takes.

    Returns:
        The tables, as written to the output folder.

    Raises:
        FileNotFoundError: If data is missing.
        ValueError: If something is unknown or malformed, or the output folder holds results of
            another configuration.
    """
    tables = published_tables()
    keys = [key for number in run.numbers for key in tables[number].rows]
    rows = methods.chosen(keys, run.rows)
    output = files.make_folder(run.output_folder)
    waiting = f"Another process works in {output}; waiting until it has ended."
    with files.locked(output / "paper", waiting):
        parts = [
            _part(name, [n for n in run.numbers if SET_OF_TABLE[n] == name], rows, run)
            for name in dict.fromkeys(SET_OF_TABLE[number] for number in run.numbers)
        ]
        # All work is made first: what cannot be done is found before hours of matching.
        works = [
            [_work(step, run, pathlib.Path(output) / "pairs" / step.folder) for step in part.steps]
            for part in parts
        ]
        steps = Progress([_cost(work) for own in works for work in own], progress)
        filled = []
        for part, own in zip(parts, works, strict=True):
            found = _run_steps(part, own, steps)
            # Tables are written as soon as their pairs are matched.
            filled += [writing.write_table(table, output) for table in _tables(part, found, run)]
        return sorted(filled, key=lambda table: table.published.number)


def _part(name: str, numbers, rows, run: PaperRun) -> _Part:
    pairs = read_pair_set(name, run)
    tables = published_tables()
    own = [row for row in rows if any(row.key in tables[number].rows for number in numbers)]
    return _Part(pairs, numbers, own, plan.make_plan(pairs, own, numbers, run))


def _run_steps(part: _Part, works, progress: Progress) -> dict[str, Notes]:
    """Returns the notes of each pair, by the key of the method."""
    found: dict[str, Notes] = {}
    for step, work in zip(part.steps, works, strict=True):
        with progress.step(step.title):
            for key, records in _run(step, work, progress.is_shown):
                found.setdefault(key, {}).update(records)
    return found


def _work(step: plan.Step, run: PaperRun, folder: pathlib.Path) -> Grid | FlowWebRow:
    if methods.FLOW_WEB in step.measures:
        measures = step.measures[methods.FLOW_WEB]
        return FlowWebRow(step.pairs, measures, folder, run.images_per_set)
    return Grid(
        step.benchmark,
        Descriptors({step.features: step.options}, None if "bank" in step.options else run.model),
        GridOptions(
            features=(step.features,) if step.features else (),
            matchers=tuple(step.measures),
            measures_of=step.measures,
            num_boxes=run.num_boxes,
            workers=os.cpu_count() or 1 if run.workers is None else run.workers,
        ),
        folder,
        ProposalStore(),
    )


def _run(step: plan.Step, work: Grid | FlowWebRow, progress) -> Iterator[tuple[str, Notes]]:
    """Yields the key of each method of a step and the notes of its pairs."""
    if isinstance(work, FlowWebRow):
        yield methods.FLOW_WEB, work.run(progress).records
        return
    cells = {cell.matcher: cell for cell in work.run(progress)}
    for method in step.rows:
        yield method.key, cells[method.matcher].journal.records


def _cost(work: Grid | FlowWebRow) -> float:
    if isinstance(work, FlowWebRow):
        return cost_of({methods.FLOW_WEB: work.lacking()})
    pairs = work.benchmark.pairs
    return cost_of({cell.matcher: sum(map(cell.lacks, pairs)) for cell in work.cells})


def _tables(part: _Part, found: dict[str, Notes], run: PaperRun) -> Iterator[MeasuredTable]:
    pairs = part.pairs
    resampling = None
    if pairs.benchmark is not None:
        resampling = Resampling(pairs.benchmark, run.num_resamples, run.seed, run.resampled)
    for number in part.numbers:
        table = published_tables()[number]
        chosen = {row.key: row for row in part.rows}
        own = [chosen[key] for key in table.rows if key in chosen]
        yield measure_table(
            table,
            pairs,
            {row: found.get(row.key, {}) for row in own},
            part.plan.reasons,
            resampling,
            _notes(pairs, own, run),
        )


def _notes(pairs: PairSet, rows, run: PaperRun) -> list[str]:
    """Returns what a reader of a table has to know."""
    notes = [*(pairs.benchmark.notes if pairs.benchmark else ())]
    if run.data == "parts_world":
        notes.insert(0, "ours are of drawings: compare the order of the rows, not the figures")
    if run.quick:
        notes.insert(0, "a quick look, of too few pairs to tell rows apart")
    boxes = [row.matcher for row in rows if row.matcher in plan.BOX_MATCHERS]
    if boxes:
        method, count = MATCHERS.create(boxes[0], num_proposals=run.num_boxes).proposal_options
        notes.append(f"Proposal Flow with at most {count} boxes per image ({method})")
    if run.num_resamples:
        notes.append(
            f"brackets: 95 % intervals from {run.num_resamples} resamples of {run.resampled}"
        )
    return notes
