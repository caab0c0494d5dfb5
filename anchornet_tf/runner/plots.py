"""Plots of an evaluation: curves over thresholds, bars by group, matrices of class pairs."""

import os
import pathlib
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from anchornet_tf.metrics import region_matching
from anchornet_tf.runner.results import Results
from anchornet_tf.runner.scores import PER_POINT, pck_curve
from anchornet_tf.utils import files

_PCK_THRESHOLDS = np.arange(1, 61) / 200  # Up to 0.3.
_MAX_GROUPS = 40


def write_plots(results: Results, folder: str | os.PathLike) -> list[pathlib.Path]:
    """Writes an image for each plot that applies.

    Returns:
        The paths of the images.
    """
    folder = pathlib.Path(folder)
    figures = {
        "pcr": plot_pcr(results),
        "miou": plot_mean_iou(results),
        "pck": plot_pck(results),
        **{f"groups_{_slug(name)}": plot_groups(results, name) for name in _main_scores(results)},
    }
    if results.benchmark.protocol.matrix:
        for row in results.rows:
            for name in _main_scores(results):
                if name in row.figures:
                    figures[f"matrix_{_slug(row.name)}_{_slug(name)}"] = plot_matrix(
                        results, row.name, name
                    )
    written = []
    for name, figure in figures.items():
        if figure is not None:
            path = folder / f"{name}.png"
            with files.atomic_file(path) as temporary:
                figure.savefig(temporary, dpi=120)
            written.append(path)
    return written


def plot_pcr(results: Results) -> Figure | None:
    """Draws PCR over the threshold on 1 - IoU; None if no row has regions."""
    thresholds = np.arange(100) / 100
    return _curves(
        results,
        "distances",
        thresholds,
        lambda records: region_matching.pcr_curve([record["distances"] for record in records]),
        "threshold on 1 - IoU",
        "PCR",
    )


def plot_mean_iou(results: Results) -> Figure | None:
    """Draws mIoU@k over k; None if no row has regions."""

    def curve(records):
        distances = [record["distances"] for record in records]
        ranks = [-np.arange(len(pair)) for pair in distances]  # They are in order of confidence.
        return region_matching.mean_iou_curve(distances, ranks)

    return _curves(results, "distances", np.arange(1, 101), curve, "k", "mIoU@k")


def plot_pck(results: Results) -> Figure | None:
    """Draws PCK over its threshold; None if no row has keypoints."""
    inclusive = results.benchmark.protocol.inclusive
    return _curves(
        results,
        "errors",
        _PCK_THRESHOLDS,
        lambda records: pck_curve(records, results.normalize_by, _PCK_THRESHOLDS, inclusive),
        f"threshold, relative to {results.normalize_by}",
        "PCK",
    )


def plot_groups(results: Results, score: str) -> Figure | None:
    """Draws a score of every row and group as bars; None if there is one group or over 40."""
    groups = results.group_names
    rows = [row for row in results.rows if score in row.figures]
    if not rows or not 1 < len(groups) <= _MAX_GROUPS:
        return None
    figure = Figure(
        figsize=(2 + 0.45 * len(groups) + 0.1 * len(rows) * len(groups), 4), layout="constrained"
    )
    axes = figure.subplots()
    width = 0.8 / len(rows)
    for index, row in enumerate(rows):
        heights = [row.figures[score].groups[group] for group in groups]
        places = np.arange(len(groups)) + (index - (len(rows) - 1) / 2) * width
        axes.bar(places, np.nan_to_num(heights), width, label=row.name)
    axes.set_xticks(np.arange(len(groups)), groups, rotation=45, ha="right")
    axes.set_ylabel(score)
    axes.legend(fontsize=8)
    return figure


def plot_matrix(results: Results, row_name: str, score: str) -> Figure:
    """Draws the mean score for each target class (rows) and source class (columns)."""
    row = next(row for row in results.rows if row.name == row_name)
    pairs = results.benchmark.pairs
    names = sorted({side.class_name for pair in pairs for side in (pair.source, pair.target)})
    sums, counts = np.zeros((2, len(names), len(names)))
    for pair, value in zip(pairs, row.figures[score].score.of_pairs(), strict=True):
        if np.isfinite(value):
            place = names.index(pair.target.class_name), names.index(pair.source.class_name)
            sums[place] += value
            counts[place] += 1
    values = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    figure = Figure(figsize=(2.5 + 0.5 * len(names), 2 + 0.5 * len(names)), layout="constrained")
    axes = figure.subplots()
    drawn = axes.imshow(values, cmap="viridis", vmin=0)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("source")
    axes.set_ylabel("target")
    for (down, across), value in np.ndenumerate(values):
        if np.isfinite(value):
            axes.text(across, down, f"{value:.2f}", ha="center", va="center", fontsize=7, color="w")
    axes.set_title(f"{row.name}: {score}")
    figure.colorbar(drawn, ax=axes, fraction=0.046)
    return figure


def _curves(
    results: Results,
    note: str,
    abscissae: np.ndarray,
    curve: Callable[[Sequence[dict]], np.ndarray],
    label: str,
    title: str,
) -> Figure | None:
    """Draws one curve per row: the mean of the groups' curves, or the curve over all pairs."""
    rows = [row for row in results.rows if note in row.records[0]]
    if not rows:
        return None
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    for row in rows:
        parts = [row.records]
        if results.benchmark.protocol.average == "groups":
            groups: dict[str, list] = {}
            for pair, record in zip(results.benchmark.pairs, row.records, strict=True):
                groups.setdefault(pair.group, []).append(record)
            parts = list(groups.values())
        values = np.array([curve(part) for part in parts])
        known = np.isfinite(values).all(axis=1)
        if known.any():
            axes.plot(abscissae, values[known].mean(axis=0), label=row.name)
    axes.set_xlabel(label)
    axes.set_ylabel(title)
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure


def _main_scores(results: Results) -> list[str]:
    return [name for name in results.score_names if not name.endswith(PER_POINT)]


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in ".+-" else "_" for letter in name)
