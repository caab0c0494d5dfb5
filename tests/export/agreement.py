"""Compares two flows of one pair that were computed by kernels that round differently."""

import numpy as np

_PIXELS = 1e-2
_SHARE = 0.98


def assert_flows_agree(left, right) -> None:
    """Asserts that nearly all values agree to a hundredth of a pixel.

    If two cells of the target are nearly alike, rounding decides between them and the match jumps.
    With the random descriptors of these tests that happens in a few places.
    """
    left, right = np.asarray(left), np.asarray(right)
    assert left.shape == right.shape
    near = np.abs(left - right) <= _PIXELS
    assert near.mean() >= _SHARE, f"{near.mean():.4f} of the values agree"
