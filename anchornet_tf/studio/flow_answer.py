"""A flow as the page takes it: where each cell of the source goes, and how sure that is."""

import numpy as np

from anchornet_tf.features.feature_map import cell_centers
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.studio.packing import pack

MOST_CELLS = 64


def cells(flow: Flow) -> np.ndarray:
    """Reads a flow on its own grid, or on one of 64 cells along the long side if that is finer.

    Returns:
        float32 `(rows, columns, 3)`: x and y in the target, NaN where the flow is not valid, and
        the confidence.
    """
    if max(flow.grid_size) <= MOST_CELLS:
        positions, valid, confidence = flow.cells(MOST_CELLS)
        positions = np.where(valid[..., np.newaxis], positions[..., ::-1], np.nan)
    else:
        scale = MOST_CELLS / max(flow.shape)
        grid = [min(side, max(1, round(side * scale))) for side in flow.shape]
        y, x = (cell_centers(*sides) for sides in zip(grid, flow.shape, strict=True))
        places = np.stack(np.meshgrid(x, y), axis=-1)  # (rows, columns, 2) of (x, y)
        read = flow.transfer_with_confidence(places.reshape(-1, 2), outside="nearest")
        positions, confidence = read[0].reshape(*grid, 2), read[1].reshape(grid)
    return np.concatenate([positions, confidence[..., np.newaxis]], axis=-1).astype(np.float32)


def packed(flow: Flow, source: str, target: str) -> bytes:
    """Returns the flow between two images, given their ids, as bytes."""
    values = cells(flow)
    header = {
        "rows": values.shape[0],
        "columns": values.shape[1],
        "source": source,
        "target": target,
        "has_probabilities": flow.has_probabilities,
    }
    return pack(header, values)
