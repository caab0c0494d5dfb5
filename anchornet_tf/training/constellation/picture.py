"""A picture of the parts: a row per aspect, images that have it, a ring for each visible part."""

import os
import pathlib
import warnings
from collections.abc import Sequence

import numpy as np

from anchornet_tf.utils import files

_INCHES = 2.0


def draw(
    rows: Sequence[tuple[str, Sequence[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]]],
    title: str,
    path: str | os.PathLike,
) -> pathlib.Path:
    """Draws parts over images. A part has one colour and one number within its row.

    Args:
        rows: for each aspect its label and its images: the image `(height, width, 3)` uint8, the
            place (y, x) of each of its parts `(parts, 2)` and of the anchor `(2,)` as shares of
            the sides, and which parts are visible `(parts,)`.
        title: str, above everything.
        path: of the picture.

    Returns:
        the path.
    """
    from matplotlib import colormaps, patheffects
    from matplotlib.figure import Figure

    outlined = [patheffects.withStroke(linewidth=2, foreground="black")]
    columns = max(len(cells) for _, cells in rows)
    # Figure rather than pyplot, whose backend is the user's: a notebook shows its own figures.
    figure = Figure(figsize=(_INCHES * max(columns, 3), _INCHES * len(rows) + 0.5))
    axes = figure.subplots(len(rows), columns, squeeze=False)
    colors = colormaps["tab10"]
    for line, (label, cells) in zip(axes, rows, strict=True):
        for axis in line:
            axis.set_axis_off()
        line[0].set_title(label, fontsize=8, loc="left", parse_math=False)
        for axis, (image, places, anchor, visible) in zip(line, cells, strict=False):
            height, width = image.shape[:2]
            axis.imshow(image)
            for part in np.flatnonzero(visible):
                y, x = places[part] * (height, width) - 0.5
                color = colors(part % 10)
                axis.plot(x, y, "o", mfc="none", mec="white", ms=11, mew=3.5)
                axis.plot(x, y, "o", mfc="none", mec=color, ms=11, mew=2)
                text = axis.text(x, y, str(part), color="white", fontsize=7)
                text.set(ha="center", va="center", path_effects=outlined)
            y, x = anchor * (height, width) - 0.5
            axis.plot(x, y, "+", color="white", ms=12, mew=3)
            axis.plot(x, y, "+", color="black", ms=11, mew=1.2)
            axis.set_xlim(-0.5, width - 0.5)
            axis.set_ylim(height - 0.5, -0.5)
    figure.suptitle(title, fontsize=10, parse_math=False)
    with warnings.catch_warnings(), files.atomic_file(path) as temporary:
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.tight_layout()
        figure.savefig(temporary, dpi=100)
    return pathlib.Path(path)
