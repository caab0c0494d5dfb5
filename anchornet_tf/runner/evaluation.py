"""A whole evaluation in one call: from a benchmark to tables, plots and pictures."""

import dataclasses
import os
import pathlib
import platform
import sys

import numpy as np

import anchornet_tf
from anchornet_tf.datasets.annotated.annotation import Benchmark
from anchornet_tf.datasets.annotated.registry import open_benchmark
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.runner import pictures, plots, report, results
from anchornet_tf.runner.bootstrap import Resampling
from anchornet_tf.runner.config import Evaluation
from anchornet_tf.runner.descriptors import Descriptors
from anchornet_tf.runner.grid import Grid, GridOptions
from anchornet_tf.runner.proposal_store import ProposalStore
from anchornet_tf.utils import files
from anchornet_tf.utils.named_options import split_options


def evaluate(evaluation: Evaluation, progress: bool = True) -> results.Results:
    """Runs an evaluation, or the rest of one that was stopped.

    Args:
        evaluation: Evaluation.
        progress: bool. Whether to show a progress bar.

    Returns:
        The results, as written to the output folder.

    Raises:
        FileNotFoundError: If data, a model or a bank is missing.
        ValueError: If something is unknown or malformed, or the output folder holds results of
            another configuration.
    """
    features, matchers = evaluation.features, evaluation.matchers
    options = split_options(
        evaluation.options,
        {name: DESCRIPTORS.options(name) for name in features},
        {name: MATCHERS.options(name) for name in matchers},
    )
    benchmark = read_benchmark(evaluation)
    resampling = Resampling(
        benchmark, evaluation.num_resamples, evaluation.seed, evaluation.resampled
    )
    output = files.make_folder(evaluation.output_folder)
    waiting = f"Another process works in {output}; waiting until it has ended."
    with files.locked(output / "evaluation", waiting):
        grid = Grid(
            benchmark,
            Descriptors(
                {name: options[name] for name in features},
                evaluation.model,
                evaluation.banks,
                evaluation.image_size,
                evaluation.trunk,
                evaluation.weights,
            ),
            GridOptions(
                features=features,
                matchers=matchers,
                measures=evaluation.measures,
                num_boxes=evaluation.num_boxes,
                matcher_options={name: options[name] for name in matchers},
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
        if progress:
            print("Drawing plots and pictures ...", file=sys.stderr)
        plots.write_plots(found, output / "plots")
        if evaluation.with_pictures:
            pictures.write_pictures(found, grid, output / "pictures")
    return found


def read_benchmark(evaluation: Evaluation) -> Benchmark:
    """Reads the pairs of an evaluation."""
    options = evaluation.benchmark_options
    benchmark = open_benchmark(evaluation.benchmark, evaluation.data_dir, **options)
    if evaluation.classes is not None:
        benchmark = benchmark.of_classes(evaluation.classes)
    if evaluation.limit is not None:
        benchmark = benchmark.limited(evaluation.limit, evaluation.seed)
    return benchmark


def configuration(evaluation: Evaluation) -> dict:
    """Returns everything that the results depend on, to be stored with them."""
    values = dataclasses.asdict(evaluation) | {"output": str(evaluation.output_folder)}
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
