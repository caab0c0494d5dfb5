"""Pictures of where filters fire: one row per filter, images in the columns (paper figure 2)."""

import os
import pathlib
import textwrap
import warnings

import numpy as np

from anchornet_tf.utils import files

_INCHES = 1.6  # Of an image with what is between it and the next.
_LETTERS_PER_INCH = 13  # Of the title.


def draw(
    rows: list[tuple[str, list[tuple[np.ndarray, np.ndarray]]]],
    title: str,
    path: str | os.PathLike,
    headings: list[str] | None = None,
) -> pathlib.Path:
    """Draws responses over their images; a ring marks each maximum.

    Args:
        rows: for each filter its label and its columns: an image `(size, size, 3)` with a response
            map `(h, w)`.
        title: str, above everything.
        path: of the picture.
        headings: str above each column, or None.

    Returns:
        the path.
    """
    from matplotlib.figure import Figure

    columns = max(len(cells) for _, cells in rows)
    # Figure rather than pyplot, whose backend is the user's: a notebook shows its own figures.
    # Two images wide at least, for the title.
    inches = _INCHES * max(columns, 2)
    figure = Figure(figsize=(inches, _INCHES * len(rows)))
    axes = figure.subplots(len(rows), columns, squeeze=False)
    for line, (label, cells) in zip(axes, rows, strict=True):
        for axis in line:
            axis.set_xticks([])
            axis.set_yticks([])
        line[0].set_ylabel(label, fontsize=8, parse_math=False)
        for axis, (image, response) in zip(line, cells, strict=False):
            height, width = image.shape[:2]
            y, x = np.unravel_index(response.argmax(), response.shape)
            axis.imshow(image)
            axis.imshow(
                response, cmap="jet", alpha=0.35, extent=(-0.5, width - 0.5, height - 0.5, -0.5)
            )
            axis.plot(
                (x + 0.5) * width / response.shape[1] - 0.5,
                (y + 0.5) * height / response.shape[0] - 0.5,
                "o",
                mfc="none",
                mec="white",
                ms=9,
                mew=2,
            )
    for axis, heading in zip(axes[0], headings or [], strict=False):
        axis.set_title(heading, fontsize=8, parse_math=False)
    # A class may be called anything, also `$` or words in letters that the font has not.
    # With few images it takes several lines.
    title = textwrap.fill(title, int(_LETTERS_PER_INCH * inches))
    figure.suptitle(title, fontsize=10, parse_math=False)
    with warnings.catch_warnings(), files.atomic_file(path) as temporary:
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.tight_layout()
        figure.savefig(temporary, dpi=110)
    return pathlib.Path(path)


def mosaic(maps: np.ndarray, columns: int = 4) -> np.ndarray:
    """Draws the first maps of one image side by side, for TensorBoard.

    Args:
        maps: `(height, width, filters)`.
        columns: int. Maps per row; as many rows where there are enough maps.

    Returns:
        `(1, height, width, 1)` float32 from 0 to 1, every map scaled to its own range.
    """
    maps = np.asarray(maps, np.float32)[..., : columns**2]
    low, high = maps.min(axis=(0, 1)), maps.max(axis=(0, 1))
    maps = (maps - low) / np.maximum(high - low, 1e-9)
    height, width, count = maps.shape
    rows = -(-count // columns)
    padded = np.zeros((height, width, rows * columns), np.float32)
    padded[..., :count] = maps
    tiles = padded.reshape(height, width, rows, columns).transpose(2, 0, 3, 1)
    return tiles.reshape(1, rows * height, columns * width, 1)
