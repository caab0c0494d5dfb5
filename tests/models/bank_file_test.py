"""A bank survives being written to a file and read back; other files are refused."""

import numpy as np
import pytest

from anchornet_tf.layers.anchor_bank import AnchorBank
from anchornet_tf.models import folding
from anchornet_tf.models.bank_file import BankFile


def _bank():
    bank = AnchorBank(3)
    bank.build([(None, None, None, 4)] * 3)
    bank.built = True
    bank.running_mean.assign([1, 2, 3])
    return bank


def _descriptor(file):
    return folding.bank_function(file.bank(), file.equalizer_layer())


def test_round_trip(tmp_path):
    bank = _bank()
    BankFile.of(bank, "bird", "digest", {"steps": 3}).save(tmp_path / "bird.npz")
    file = BankFile.load(tmp_path / "bird.npz")
    assert (file.class_name, file.pca_digest, file.record) == ("bird", "digest", {"steps": 3})
    taps = [
        np.random.default_rng(0).normal(size=(1, s, s, 4)).astype(np.float32) for s in (8, 2, 1)
    ]
    np.testing.assert_array_equal(file.bank("linear")(taps), bank(taps))
    np.testing.assert_array_equal(file.bank().running_mean, [1, 2, 3])
    assert file.bank().response == "whitened"


def test_the_descriptor_is_whitened_and_evened_out(tmp_path):
    bank = _bank()
    plain = BankFile.of(bank, "bird", "digest", {})
    taps = [np.ones((1, s, s, 4), np.float32) for s in (8, 2, 1)]
    linear = bank(taps).numpy()
    whitened = bank.whiten(linear).numpy()
    scale = np.abs(whitened).max()
    np.testing.assert_allclose(_descriptor(plain)(taps), whitened, rtol=0, atol=1e-5 * scale)

    mean, deviation = np.array([0.5, -1.0, 2.0]), np.array([2.0, 1.0, 0.5])
    correlation = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]])
    plain.calibrated(mean, correlation * np.outer(deviation, deviation)).save(tmp_path / "bird.npz")
    file = BankFile.load(tmp_path / "bird.npz")
    # The first two vary together: 1.6 along their sum, 0.4 along their difference.
    directions = np.array([[1, 1, 0], [1, -1, 0], [0, 0, np.sqrt(2)]]) / np.sqrt(2)
    matrix = directions.T @ np.diag(np.array([1.6, 0.4, 1.0]) ** -0.25) @ directions
    expected = ((linear - mean) / deviation) @ matrix
    np.testing.assert_allclose(_descriptor(file)(taps), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(file.arrays["kernel"], plain.arrays["kernel"])


def test_a_filter_that_never_varies_stays_finite():
    file = BankFile.of(_bank(), "bird", "digest", {})
    file = file.calibrated(np.ones(3), np.diag([1.0, 0.0, 2.0]))
    taps = [np.ones((1, s, s, 4), np.float32) for s in (8, 2, 1)]
    assert np.isfinite(_descriptor(file)(taps)).all()


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="Received: .*none.npz"):
        BankFile.load(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", a=1)
    with pytest.raises(ValueError, match="Received: .*other.npz"):
        BankFile.load(tmp_path / "other.npz")
