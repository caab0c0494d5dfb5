"""Pictures of the best, the median and the worst pair of each row, with transferred keypoints."""

import os
import pathlib

import numpy as np
from matplotlib.figure import Figure

from anchornet_tf import viz
from anchornet_tf.datasets.annotated.annotation import Pair
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.runner.grid import Grid
from anchornet_tf.runner.results import Results, Row
from anchornet_tf.utils import files
from anchornet_tf.utils.safe_names import path_part


def write_pictures(results: Results, grid: Grid, folder: str | os.PathLike) -> list[pathlib.Path]:
    """Matches three pairs of each row again and draws them.

    Args:
        results: Results.
        grid: The Grid that the results come from.
        folder: Where to write the pictures.

    Returns:
        The paths of the pictures.
    """
    folder = pathlib.Path(folder)
    written = []
    for row, cell in zip(results.rows, grid.cells, strict=True):
        for kind, index, value in examples(row):
            pair = results.benchmark.pairs[index]
            figure = draw_pair(pair, grid.flow(cell, pair))
            score = next(iter(row.figures))
            figure.suptitle(f"{row.name}, {kind}: {pair.name}, {score} {value:.3f}", fontsize=9)
            path = folder / path_part(f"{row.name}_{kind}.png")
            with files.atomic_file(path) as temporary:
                figure.savefig(temporary, dpi=110)
            written.append(path)
    return written


def examples(row: Row) -> list[tuple[str, int, float]]:
    """Chooses pairs by the row's first score.

    Returns:
        A list of distinct pairs, each as (`"best"`, `"median"` or `"worst"`, index of the pair,
        score); empty if no pair has a score.
    """
    values = next(iter(row.figures.values())).score.of_pairs()
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(-values[known], kind="stable")]
    if not len(order):
        return []
    chosen: dict[int, str] = {}
    for kind, place in (("best", 0), ("worst", len(order) - 1), ("median", len(order) // 2)):
        chosen.setdefault(int(order[place]), kind)
    return [(kind, index, float(values[index])) for index, kind in chosen.items()]


def draw_pair(pair: Pair, flow: Flow) -> Figure:
    """Draws both images and the matches of the source's keypoints, or confident matches if none."""
    points, _ = pair.shared_points()
    height, width = flow.shape
    inside = ((points >= 0) & (points <= [width - 1, height - 1])).all(axis=1)
    return viz.plot_matches(
        pair.source.read_image(),
        pair.target.read_image(),
        flow,
        points[inside] if inside.any() else None,
    )
