"""Thin-plate splines: the smoothest map of the plane that carries points onto points."""

import numpy as np


class ThinPlateSpline:
    """The map of least bending energy through pairs of points.

    Args:
        source_points: array `(n, 2)` of `(x, y)`, at least three that are not on one line.
        target_points: array `(n, 2)` of `(x, y)`, where they go.

    Raises:
        ValueError: If shapes disagree, points are not finite, or the source points are too few,
            repeat or lie on one line.

    Example:

    ```python
    import numpy as np
    from anchornet_tf.metrics.thin_plate_spline import ThinPlateSpline

    keypoints = np.array([[0, 0], [30, 0], [0, 30], [30, 40]])
    spline = ThinPlateSpline(keypoints, keypoints + 5)
    np.testing.assert_allclose(spline(np.array([[10, 20]])), [[15, 25]])
    ```
    """

    def __init__(self, source_points: np.ndarray, target_points: np.ndarray):
        source_points = _check_points(source_points, "source_points")
        target_points = _check_points(target_points, "target_points")
        if source_points.shape != target_points.shape:
            raise ValueError(
                "Each source point needs one target point. Received: "
                f"source_points.shape={source_points.shape}, "
                f"target_points.shape={target_points.shape}"
            )
        affine = _with_one(source_points)  # (n, 3)
        count = len(source_points)
        repeated = len(np.unique(source_points, axis=0)) < count
        if repeated or np.linalg.matrix_rank(affine) < 3:
            raise ValueError(
                "`source_points` must be at least three distinct points that are not on one line. "
                f"Received: {source_points.tolist()}"
            )
        # The bending part interpolates; the last three rows keep it free of affine maps.
        system = np.zeros((count + 3, count + 3))
        system[:count, :count] = _bending(source_points, source_points)
        system[:count, count:] = affine
        system[count:, :count] = affine.T
        values = np.concatenate([target_points, np.zeros((3, 2))])
        self._source_points = source_points
        self._coefficients = np.linalg.solve(system, values)  # (n + 3, 2)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Returns where `(m, 2)` points of `(x, y)` go, `(m, 2)` float64.

        Raises:
            ValueError: If `points` has another shape or is not finite.
        """
        points = _check_points(points, "points")
        basis = [_bending(points, self._source_points), _with_one(points)]
        return np.concatenate(basis, axis=1) @ self._coefficients


def _bending(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Returns U(r) = r^2 log r of all distances, `(points, centers)`."""
    squares = np.square(points[:, np.newaxis] - centers).sum(axis=-1)
    # Half r^2 log r^2; the limit at no distance is 0.
    return 0.5 * squares * np.log(np.where(squares > 0, squares, 1))


def _with_one(points: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((len(points), 1)), points], axis=1)


def _check_points(points: np.ndarray, name: str) -> np.ndarray:
    points = np.asarray(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError(
            f"`{name}` must be finite (x, y) pairs of shape (n, 2). "
            f"Received: {name}.shape={points.shape}, finite={bool(np.isfinite(points).all())}"
        )
    return points
