"""Streaming principal components against NumPy's, whatever the batches; their files."""

import numpy as np
import pytest

from anchornet_tf.trunks import pca


def _vectors(count=400, channels=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, channels)) @ rng.normal(size=(channels, channels)) + 50


def test_components_are_numpys():
    vectors = _vectors()
    moments = pca.StreamingMoments(12)
    moments.update(vectors)
    fitted = moments.fit(5)
    centred = vectors - vectors.mean(axis=0)
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(fitted.mean, vectors.mean(axis=0))
    np.testing.assert_allclose(fitted.variance, (singular**2 / len(vectors))[:5])
    np.testing.assert_allclose(np.abs((fitted.components * directions[:5].T).sum(axis=0)), 1)
    np.testing.assert_allclose(
        fitted.variance_kept, (singular[:5] ** 2).sum() / (singular**2).sum()
    )
    assert (fitted.components[np.abs(fitted.components).argmax(0), range(5)] > 0).all()


def _images(count=9):
    rng = np.random.default_rng(1)
    return [rng.normal(size=(count, size, size, 6)).astype(np.float32) for size in (7, 3, 2)]


def test_batch_size_and_order_do_not_matter():
    taps = _images(20)
    everything = pca.fit([(range(20), taps)], dimensions=3, positions=5)
    order = np.random.default_rng(2).permutation(20)
    pieces = [(chunk, [tap[chunk] for tap in taps]) for chunk in np.array_split(order, 7)]
    in_pieces = pca.fit(pieces, dimensions=3, positions=5)
    for left, right in zip(everything, in_pieces, strict=True):
        np.testing.assert_allclose(left.components, right.components, atol=1e-10)
        np.testing.assert_allclose(left.mean, right.mean, atol=1e-12)
    other_seed = pca.fit([(range(20), taps)], dimensions=3, positions=5, seed=1)
    assert np.abs(other_seed[0].components - everything[0].components).max() > 1e-3


def test_a_tap_with_fewer_positions_gives_all_of_them():
    taps = _images(9)
    fitted = pca.fit([(range(9), taps)], dimensions=2, positions=1000)
    np.testing.assert_allclose(fitted[2].mean, taps[2].reshape(-1, 6).mean(axis=0), atol=1e-7)


def test_too_few_samples_are_refused():
    moments = pca.StreamingMoments(12)
    moments.update(_vectors(12))
    with pytest.raises(ValueError, match="more than 12 samples.*Received: 12 samples"):
        moments.fit(5)
    with pytest.raises(ValueError, match="at least one batch"):
        pca.fit([])


def test_bad_vectors_are_refused():
    moments = pca.StreamingMoments(12)
    with pytest.raises(ValueError, match=r"Received: \(3, 11\)"):
        moments.update(np.zeros((3, 11)))
    with pytest.raises(ValueError, match="Received: NaN"):
        moments.update(np.full((3, 12), np.nan))
    with pytest.raises(ValueError, match="Received: 13"):
        moments.fit(13)


def test_save_and_load(tmp_path):
    fitted = pca.HypercolumnPCA(pca.fit([(range(9), _images())], dimensions=2), {"data": "random"})
    fitted.save(tmp_path / "pca.npz")
    again = pca.HypercolumnPCA.load(tmp_path / "pca.npz")
    assert again.record == {"data": "random"}
    for left, right in zip(fitted.taps, again.taps, strict=True):
        np.testing.assert_allclose(left.components, right.components, rtol=1e-6)
        assert left.variance_kept == pytest.approx(right.variance_kept, rel=1e-5)


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="Received: .*none.npz"):
        pca.HypercolumnPCA.load(tmp_path / "none.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK but not really")
    with pytest.raises(ValueError, match="Received: .*broken.npz"):
        pca.HypercolumnPCA.load(tmp_path / "broken.npz")


def test_the_shipped_projections_are_orthonormal():
    for channels, tap in zip((256, 1024, 2048), pca.shipped().taps, strict=True):
        assert tap.components.shape == (channels, 256)
        np.testing.assert_allclose(tap.components.T @ tap.components, np.eye(256), atol=1e-4)
