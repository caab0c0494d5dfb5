"""Inputs and checks that the tests of several matchers share."""

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.flow import Flow


def random_map(grid=(9, 12), depth=8, image_size=None, seed=0) -> FeatureMap:
    """Returns a map of independent random cells, of 4 x 4 pixels unless told otherwise."""
    values = np.random.default_rng(seed).normal(size=(*grid, depth))
    return FeatureMap(values, image_size or (4 * grid[0], 4 * grid[1]))


def shifted_maps(shift=(2, -3), grid=(12, 14), depth=8, cell=4):
    """Returns two windows of one random field; the content of the first moves by `shift` cells."""
    rng = np.random.default_rng(5)
    field = rng.normal(size=(grid[0] + 10, grid[1] + 10, depth))
    windows = []
    for row, column in ((5, 5), (5 - shift[0], 5 - shift[1])):
        values = field[row : row + grid[0], column : column + grid[1]]
        windows.append(FeatureMap(values, (grid[0] * cell, grid[1] * cell)))
    return windows


def flipped(feature_map: FeatureMap) -> FeatureMap:
    """Returns the map of the image mirrored left to right."""
    return FeatureMap(feature_map.values[:, ::-1], feature_map.image_size)


def flipped_flow(flow: Flow) -> np.ndarray:
    """Returns the displacement that the mirrored pair should have, for targets of equal width."""
    return flow.displacement[:, ::-1] * [1, -1]


def assert_inside_target(flow: Flow) -> None:
    """Asserts that every vector is finite and ends on a pixel of the target."""
    assert np.isfinite(flow.displacement).all() and np.isfinite(flow.confidence).all()
    positions = flow.target_positions()
    assert (positions >= -1e-3).all()
    assert (positions <= np.subtract(flow.target_size, 1) + 1e-3).all()
