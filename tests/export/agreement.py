"""Compares two flows of one pair that were computed by kernels that round differently.

If two cells of the target are nearly alike, rounding decides between them and the match jumps. With
the random descriptors of these tests that happens in a few places.
"""

import importlib
import importlib.util

import numpy as np
import pytest

_PIXELS = 1e-2
_PROBABILITY = 1e-3
_SHARE = 0.98


def assert_flows_agree(left, right) -> None:
    """Asserts that nearly all values agree to a hundredth of a pixel."""
    _assert_near(left, right, _PIXELS)


def assert_confidences_agree(left, right) -> None:
    """Asserts that nearly all probabilities agree to a thousandth."""
    _assert_near(left, right, _PROBABILITY)


def _assert_near(left, right, tolerance):
    left, right = np.asarray(left), np.asarray(right)
    assert left.shape == right.shape
    near = np.abs(left - right) <= tolerance
    assert near.mean() >= _SHARE, f"{near.mean():.4f} of the values agree"


def need_hub() -> None:
    """Skips where the extra `hub` is not installed; where it is, it must work."""
    if importlib.util.find_spec("tensorflow_hub") is None:
        pytest.skip("needs the extra `hub`")
    importlib.import_module("tensorflow_hub")
