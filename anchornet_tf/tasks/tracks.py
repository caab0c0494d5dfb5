"""Points of the frames of a video as tracks, smoothed along time."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from anchornet_tf.tasks.carrier import Carried
from anchornet_tf.tasks.references import Key, Reference
from anchornet_tf.tasks.smoothing import smooth_tracks


def smoothed(
    names: Sequence[str],
    carried: Mapping[str, Carried],
    references: Sequence[Reference],
    strength: float,
) -> dict[str, Carried]:
    """Smooths the points of all frames along time; those of references stay where they are.

    Args:
        names: The frames in their order.
        carried: What was found in the frames that are no references.
        references: The references, some of which are frames.
        strength: float, as in `anchornet_tf.tasks.smoothing.smooth_tracks`.
    """
    given = {reference.annotations.name: reference.points for reference in references}
    keys = list(dict.fromkeys(key for reference in references for key in reference.points))
    shape = len(names), len(keys)
    positions, scores = np.full((*shape, 2), np.nan), np.zeros(shape)
    fixed = np.zeros(shape, bool)
    for row, name in enumerate(names):
        for column, key in enumerate(keys):
            if key in given.get(name, {}):
                positions[row, column], scores[row, column] = given[name][key], 1
                fixed[row, column] = True
            elif name in carried and key in carried[name].points:
                *positions[row, column], scores[row, column] = carried[name].points[key]
    smooth = smooth_tracks(positions, scores, fixed, strength)
    return {
        name: dataclasses.replace(
            carried[name], points=_moved(carried[name].points, keys, smooth[row])
        )
        for row, name in enumerate(names)
        if name in carried
    }


def _moved(points: Mapping[Key, tuple], keys: list[Key], places: np.ndarray) -> dict[Key, tuple]:
    """Returns points at their new places, as probable as before."""
    new = dict(zip(keys, places, strict=True))
    # A point of probability 0 in all frames has no track.
    return {
        key: (*map(float, new[key] if np.isfinite(new[key]).all() else (x, y)), p)
        for key, (x, y, p) in points.items()
    }
