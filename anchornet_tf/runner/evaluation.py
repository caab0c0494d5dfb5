"""A whole evaluation in one call: reads a benchmark, runs the grid, writes tables, plots and pictures."""

import dataclasses
import os
import pathlib
import platform
from collections.abc import Mapping

import numpy as np

import anchornet_tf
from anchornet_tf.datasets.annotated.annotation import Benchmark
from anchornet_tf.datasets.annotated.registry import BENCHMARKS, open_benchmark
from anchornet_tf.runner import pictures, plots, report, results
from anchornet_tf.runner.bootstrap import Resampling
from anchornet_tf.runner.descriptors import Descriptors, unknown_options
from anchornet_tf.runner.grid import Grid, GridOptions
from anchornet_tf.runner.proposal_store import ProposalStore
from anchornet_tf.utils import files


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What to evaluate.

    Attributes:
        benchmark: name of a benchmark, see `open_benchmark`.
        data_dir: its folder.
        features: names of descriptors.
        matchers: names of matchers.
        output: folder for everything that is written; pairs that are finished there are not matched again.
        benchmark_options: e.g. `{"subset": "tune"}`; `seed` is added where the benchmark draws pairs.
        limit: int. At most so many pairs, spread over the groups; None for all.
        seed: int, of everything that is drawn.
        measures: of `"pck"`, `"parts"` and `"regions"`; None for those of the protocol.
        normalize_by: what PCK errors are divided by; None for the protocol's own.
        thresholds: of PCK; None for the protocol's own.
        num_boxes: int. Proposals an image, for box matchers.
        model: folder of an AnchorNet.
        banks: folder of banks.
        image_size: int. What networks resize images to; None for the images' own sizes.
        options: further options of descriptors and matchers, each for those that know it.
        workers: int. Processes for box matchers; None for one a core.
        num_resamples: int. Resampled benchmarks for the intervals; 0 for none.
        resampled: `"pairs"` or `"images"`, see `Resampling`.
        with_pictures: bool. Whether to draw the best, median and worst pairs.
    """

    benchmark: str
    data_dir: str | os.PathLike | None
    features: tuple[str, ...]
    matchers: tuple[str, ...]
    output: str | os.PathLike
    benchmark_options: Mapping = dataclasses.field(default_factory=dict)
    limit: int | None = None
    seed: int = 0
    measures: tuple[str, ...] | None = None
    normalize_by: str | None = None
    thresholds: tuple[float, ...] | None = None
    num_boxes: int = 1000
    model: str | os.PathLike | None = None
    banks: str | os.PathLike | None = None
    image_size: int | None = 224
    options: Mapping = dataclasses.field(default_factory=dict)
    workers: int | None = None
    num_resamples: int = 1000
    resampled: str = "pairs"
    with_pictures: bool = True


def evaluate(evaluation: Evaluation, progress: bool = True) -> results.Results:
    """Runs an evaluation, or what is left of it.

    Args:
        evaluation: Evaluation.
        progress: bool. Whether to show a bar with the time that is left.

    Returns:
        Results, as written to the output folder.

    Raises:
        FileNotFoundError: If data, a model or a bank is missing.
        ValueError: If something is unknown or malformed, or the output folder holds results made in another way.
    """
    unknown = unknown_options(evaluation.options, evaluation.features, evaluation.matchers)
    if unknown:
        raise ValueError(
            "Expected options of the descriptors and matchers that are evaluated. "
            f"Received: {', '.join(sorted(unknown))}"
        )
    benchmark = read_benchmark(evaluation)
    resampling = Resampling(
        benchmark, evaluation.num_resamples, evaluation.seed, evaluation.resampled
    )
    output = files.make_folder(evaluation.output)
    with files.locked(output / "evaluation"):
        grid = Grid(
            benchmark,
            Descriptors(
                evaluation.model, evaluation.banks, evaluation.image_size, evaluation.options
            ),
            GridOptions(
                features=evaluation.features,
                matchers=evaluation.matchers,
                measures=evaluation.measures,
                num_boxes=evaluation.num_boxes,
                matcher_options=evaluation.options,
                workers=os.cpu_count() or 1 if evaluation.workers is None else evaluation.workers,
            ),
            output / "pairs",
            ProposalStore(),
        )
        found = results.gather(
            benchmark,
            grid.run(progress),
            resampling,
            evaluation.normalize_by,
            evaluation.thresholds,
            configuration(evaluation),
        )
        report.write_tables(found, output)
        plots.write_plots(found, output / "plots")
        if evaluation.with_pictures:
            pictures.write_pictures(found, grid, output / "pictures")
    return found


def read_benchmark(evaluation: Evaluation) -> Benchmark:
    """Reads the pairs of an evaluation."""
    options = dict(evaluation.benchmark_options)
    if "seed" in BENCHMARKS.options(evaluation.benchmark):
        options.setdefault("seed", evaluation.seed)
    benchmark = open_benchmark(evaluation.benchmark, evaluation.data_dir, **options)
    if evaluation.limit is not None:
        benchmark = benchmark.limited(evaluation.limit, evaluation.seed)
    return benchmark


def configuration(evaluation: Evaluation) -> dict:
    """Returns what results depend on, for the record."""
    values = dataclasses.asdict(evaluation)
    for name, value in values.items():
        if isinstance(value, pathlib.PurePath):
            values[name] = str(value)
    values["options"] = {name: repr(value) for name, value in evaluation.options.items()}
    values["versions"] = {
        "anchornet_tf": anchornet_tf.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    if evaluation.num_resamples:
        values["intervals"] = (
            f"95 % intervals from {evaluation.num_resamples} resamples of {evaluation.resampled}"
        )
    return values
