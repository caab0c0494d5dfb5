"""Flows on disk: NumPy archives of all pixels, or of the cells of a grid."""

import os

import numpy as np

from anchornet_tf.features.feature_map import check_size
from anchornet_tf.matchers.flow_values import DenseValues, GridValues
from anchornet_tf.utils.array_archive import reading
from anchornet_tf.utils.files import atomic_file

_FIELDS = ("displacement", "target_size", "valid", "confidence")
# Other names for cells: nobody shall take them for pixels.
_CELL_FIELDS = ("cell_displacement", "target_size", "cell_valid", "cell_confidence")
_GRID_FIELDS = ("source_size", "interpolation", "clamped")
# Not in the files of earlier versions, whose confidence are the scores.
_SCORES, _CELL_SCORES = "scores", "cell_scores"


def write(
    path: str | os.PathLike, values: DenseValues | GridValues, scores: np.ndarray | None
) -> None:
    """Writes the values of a flow, and its scores where it has any, to a compressed archive."""
    if isinstance(values, DenseValues):
        arrays = {name: getattr(values, name) for name in _FIELDS}
    else:
        cells = [getattr(values.cells, name) for name in _FIELDS]
        grid = values.size, values.interpolation, values.clamped
        arrays = dict(zip(_CELL_FIELDS + _GRID_FIELDS, [*cells, *grid], strict=True))
    if scores is not None:
        arrays[_SCORES if isinstance(values, DenseValues) else _CELL_SCORES] = scores
    with atomic_file(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, **arrays)


def read(path: str | os.PathLike) -> tuple[DenseValues | GridValues, np.ndarray | None]:
    """Reads what `write` wrote: the values and the scores, or None where there are no scores.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file does not hold a flow.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"Expected the file of a flow. Received: {os.fspath(path)!r}")
    with reading(path, f"A flow is a .npz archive of {', '.join(_FIELDS)}") as archive:
        on_grid = _CELL_FIELDS[0] in archive
        values = [archive[name] for name in (_CELL_FIELDS if on_grid else _FIELDS)]
        grid = [archive[name] for name in _GRID_FIELDS if on_grid]
        scores = archive.get(_CELL_SCORES if on_grid else _SCORES)
        if any(array.dtype.kind not in "fiub" for array in values):
            raise ValueError("its arrays hold something else than numbers")
        values = DenseValues.checked(*values)
        if scores is not None:
            # The same checks as for the confidence.
            scores = DenseValues.checked(
                values.displacement, values.target_size, values.valid, scores
            ).confidence
        if not on_grid:
            return values, scores
        size, interpolation, clamped = grid
        values = GridValues(
            values, check_size(size, "source_size"), str(interpolation), clamped=bool(clamped)
        )
        return values, scores
