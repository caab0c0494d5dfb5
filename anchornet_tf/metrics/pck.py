"""Percentage of correct keypoints (PCK): the share of points that land close to the true ones."""

import numpy as np

NORMALIZE_BY = ("image", "bbox", "bbox_kp", "bbox_kp_padded")
# Some published programs fill up their lists of keypoints with this value before they take the box.
_PADDING = -1.0


def reference_length(normalize_by: str, *, image_size=None, box=None, points=None) -> float:
    """Returns the length that errors are divided by.

    It is the longer side of the image, of the object or of the box of the points. Published figures
    differ in this, and differ much: say which one was used.

    Args:
        normalize_by: `"image"` (the image's size), `"bbox"` (the object's box), `"bbox_kp"` (the
            tight box of the target's keypoints, as Proposal Flow's authors do) or
            `"bbox_kp_padded"` (that box stretched to the image's corner by a mistake in later
            programs; PCK comes out about ten points higher. Only to compare with figures made that
            way).
        image_size: (height, width), for `"image"`.
        box: (left, top, right, bottom), for `"bbox"`.
        points: `(n, 2)` true points (x, y), for `"bbox_kp"` and `"bbox_kp_padded"`.

    Returns:
        float.

    Raises:
        ValueError: If the name is unknown, the value that it needs is missing, or the length is
            zero.
    """
    if normalize_by not in NORMALIZE_BY:
        raise ValueError(f"Expected one of {', '.join(NORMALIZE_BY)}. Received: {normalize_by!r}")
    given = {"image": image_size, "bbox": box}.get(normalize_by, points)
    if given is None:
        raise ValueError(f"Expected what {normalize_by!r} is measured on. Received: None")
    values = np.asarray(given, np.float64)
    if normalize_by == "image":
        length = values.max()
    elif normalize_by == "bbox":
        length = (values[2:] - values[:2]).max()
    else:
        if normalize_by == "bbox_kp_padded":
            values = np.concatenate([values, np.full((1, 2), _PADDING)])
        length = np.ptp(values, axis=0).max()
    if not length > 0:
        raise ValueError(f"Expected a positive size to normalise by. Received: {given!r}")
    return float(length)


def pck(predicted, true, length: float, thresholds, inclusive: bool = False) -> np.ndarray:
    """Returns the share of points whose error is below each threshold times `length`.

    Args:
        predicted: `(n, 2)` points.
        true: `(n, 2)` points.
        length: float, see `reference_length`.
        thresholds: `(t,)`, such as `(0.05, 0.1)`.
        inclusive: bool. Whether an error equal to the threshold is correct.

    Returns:
        `(t,)` shares.

    Raises:
        ValueError: If there are no points, or two different numbers of them.
    """
    predicted, true = np.asarray(predicted, np.float64), np.asarray(true, np.float64)
    if predicted.shape != true.shape or predicted.ndim != 2 or len(true) == 0:
        raise ValueError(
            "Expected two arrays of points (n, 2), n at least 1. "
            f"Received: {predicted.shape}, {true.shape}"
        )
    errors = np.linalg.norm(predicted - true, axis=1)
    return correct_points(errors, length, thresholds, inclusive).mean(axis=0)


def correct_points(errors, length: float, thresholds, inclusive: bool = False) -> np.ndarray:
    """Tells for each error and threshold whether the point is correct.

    Args:
        errors: `(n,)` distances in pixels; infinite for points without a match.
        length: float, see `reference_length`.
        thresholds: `(t,)`.
        inclusive: bool. Whether an error equal to the threshold is correct.

    Returns:
        `(n, t)` bool.
    """
    relative = np.asarray(errors, np.float64)[:, np.newaxis] / length
    thresholds = np.asarray(thresholds, np.float64)
    return relative <= thresholds if inclusive else relative < thresholds
