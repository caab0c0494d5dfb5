"""The directions of new maps that an old code does not tell, against plain NumPy on the samples."""

import numpy as np
import pytest

from anchornet_tf.models import added_directions
from anchornet_tf.models.added_directions import Directions

OLD, NEW, ADDED = 5, 4, 2


@pytest.fixture(scope="module")
def samples():
    """Codes and maps that follow them in part; the last map follows them entirely."""
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(400, OLD)) * [3, 2, 1, 1, 0.5] + 1
    maps = codes @ rng.normal(size=(OLD, NEW)) + rng.normal(size=(400, NEW)) * [2, 1, 0.5, 0] - 3
    return codes, maps


def _fit(codes, maps):
    both = np.concatenate([codes, maps], axis=1)
    covariance = np.cov(both.T, bias=True)
    return Directions.of(both.mean(axis=0), covariance, OLD, ADDED), covariance


def test_the_regression_is_that_of_the_samples(samples, monkeypatch):
    monkeypatch.setattr(added_directions, "_RIDGE", 0.0)
    codes, maps = samples
    fitted, _ = _fit(codes, maps)
    design = np.concatenate([codes, np.ones((len(codes), 1))], axis=1)
    expected, *_ = np.linalg.lstsq(design, maps, rcond=None)
    np.testing.assert_allclose(fitted.factors.T, expected[:OLD], atol=1e-9)
    np.testing.assert_allclose(fitted.offset, expected[OLD], atol=1e-9)

    residuals = maps - design @ expected
    _, values, vectors = np.linalg.svd(residuals, full_matrices=False)
    np.testing.assert_allclose(fitted.variance, values[:ADDED] ** 2 / len(maps))
    overlap = np.abs(np.sum(fitted.components * vectors[:ADDED].T, axis=0))
    np.testing.assert_allclose(overlap, 1)
    added = residuals @ fitted.components
    np.testing.assert_allclose(added.T @ (codes - codes.mean(axis=0)), 0, atol=1e-8)


def test_the_ridge_is_relative_to_the_code(samples):
    codes, maps = samples
    fitted, covariance = _fit(codes, maps)
    scale = np.var(codes, axis=0).mean()
    assert fitted.scale == pytest.approx(scale)
    ridge = added_directions._RIDGE * scale * np.eye(OLD)
    factors = covariance[OLD:, :OLD] @ np.linalg.inv(covariance[:OLD, :OLD] + ridge)
    np.testing.assert_allclose(fitted.factors, factors)
    # Codes in other units are the same codes.
    other, _ = _fit(10 * codes, maps)
    np.testing.assert_allclose(other.factors * 10, fitted.factors)
    np.testing.assert_allclose(other.components, fitted.components)


def test_shares_of_the_variance(samples):
    codes, maps = samples
    fitted, covariance = _fit(codes, maps)
    residuals = maps - codes @ fitted.factors.T - fitted.offset
    total = np.var(maps, axis=0).sum()
    told, added = fitted.shares(covariance)
    assert told == pytest.approx(1 - np.var(residuals, axis=0).sum() / total)
    assert added == pytest.approx(np.var(residuals @ fitted.components, axis=0).sum() / total)
    assert 0 < told < 1 and 0 < added < 1 - told
