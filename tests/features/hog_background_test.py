"""Tests of HOG background statistics: whitening, files and learning."""

import functools

import numpy as np
import pytest
import scipy.linalg

from anchornet_tf.features import hog_background
from anchornet_tf.features.hog import hog
from anchornet_tf.features.hog_background import HogBackground, learn_background
from tests.shared_data import shared_path


def _golden():
    return np.load(shared_path("golden/feat__tiny_hog.npz"))


@functools.cache
def _golden_background():
    golden = _golden()
    covariance = np.zeros((15, 15, 31, 31))
    for index, (dx, dy) in enumerate(golden["bg_dxy"].astype(int)):
        matrix = golden["bg_cov"][:, :, index]
        covariance[7 + dy, 7 + dx] = matrix
        covariance[7 - dy, 7 - dx] = matrix.T
    return HogBackground(golden["bg_neg"][:, 0], covariance)


def _golden_cells(golden):
    """The program's order is row fastest, then column, then channel."""
    return golden["box_hog"].reshape(4, 31, 8, 8).transpose(0, 3, 2, 1).astype(np.float64)


def _images(count=2, size=(60, 70)):
    return np.random.default_rng(0).integers(0, 256, (count, *size, 3)).astype(np.uint8)


def test_scores_equal_the_golden_file():
    golden = _golden()
    whitened = _golden_background().whiten(_golden_cells(golden))
    scores = np.maximum(whitened @ whitened.T, 0)
    np.testing.assert_allclose(scores, golden["score"], rtol=1e-6, atol=1e-6)


def test_whitened_vectors_equal_the_golden_file():
    golden = _golden()
    background = _golden_background()
    whitened = background.whiten(_golden_cells(golden))
    # The program multiplies by the inverse covariance, which is the factor's inverse twice.
    twice = scipy.linalg.solve_triangular(background._factor, whitened.T, lower=True, trans="T").T
    twice = twice.reshape(4, 8, 8, 31).transpose(0, 3, 2, 1).reshape(4, -1)
    np.testing.assert_allclose(twice.T, golden["white"], rtol=1e-6, atol=1e-6)


def test_learned_statistics_are_means_over_pairs_of_cells(monkeypatch):
    monkeypatch.setattr(hog_background, "_LEVELS_PER_OCTAVE", 1)
    images = _images()
    background = learn_background(images)
    maps = []
    for image in images:  # 60 x 70 pixels have one level only: half of it is below 40.
        maps += list(hog(np.stack([image, image[:, ::-1]]).astype(np.float64)))
    cells = np.concatenate([m.reshape(-1, 31) for m in maps])
    np.testing.assert_allclose(background.mean, cells.mean(axis=0), rtol=1e-5)
    for dy, dx in ((0, 0), (1, 0), (-2, 1), (3, 2), (-1, -3)):
        products = [
            np.outer(m[y, x] - background.mean, m[y + dy, x + dx] - background.mean)
            for m in maps
            for y in range(m.shape[0])
            for x in range(m.shape[1])
            if 0 <= y + dy < m.shape[0] and 0 <= x + dx < m.shape[1]
        ]
        np.testing.assert_allclose(
            background.covariance[7 + dy, 7 + dx], np.mean(products, axis=0), atol=1e-6
        )


def test_offsets_larger_than_the_images_have_no_covariance():
    background = learn_background(_images(1, (45, 45)))
    assert (background.covariance[0] == 0).all() and (background.covariance[:, 14] == 0).all()


def test_save_and_load(tmp_path):
    background = learn_background(_images())
    path = tmp_path / "statistics.npz"
    background.save(path)
    loaded = HogBackground.load(path)
    np.testing.assert_allclose(loaded.mean, background.mean, rtol=1e-6)
    np.testing.assert_allclose(loaded.covariance, background.covariance, rtol=1e-5, atol=1e-9)


def test_shipped_statistics_are_symmetric_and_whiten():
    background = hog_background.shipped_background()
    covariance = background.covariance
    np.testing.assert_allclose(covariance, covariance[::-1, ::-1].swapaxes(-1, -2), atol=1e-6)
    assert np.linalg.eigvalsh(covariance[7, 7]).min() > -1e-6
    assert (background.mean > 0).all()
    whitened = background.whiten(np.tile(background.mean, (1, 8, 8, 1)))
    np.testing.assert_allclose(whitened, 0, atol=1e-9)


def test_bad_input_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must have shapes"):
        HogBackground(np.zeros(30), np.zeros((15, 15, 31, 31)))
    with pytest.raises(ValueError, match="At least one image"):
        learn_background(_images(1, (30, 100)))
    with pytest.raises(FileNotFoundError):
        HogBackground.load(tmp_path / "absent.npz")
    np.savez(tmp_path / "other.npz", mean=np.zeros(31))
    with pytest.raises(ValueError, match="HOG statistics are"):
        HogBackground.load(tmp_path / "other.npz")
    (tmp_path / "text.npz").write_text("not an archive")
    with pytest.raises(ValueError, match="HOG statistics are"):
        HogBackground.load(tmp_path / "text.npz")
    hopeless = HogBackground(np.zeros(31), np.full((15, 15, 31, 31), -1.0))
    with pytest.raises(ValueError, match="positive definite"):
        hopeless.whiten(np.zeros((1, 8, 8, 31)))
