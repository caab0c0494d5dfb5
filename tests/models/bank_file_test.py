"""A bank's file gives the bank back; other files are refused."""

import numpy as np
import pytest

from anchornet_tf.layers.anchor_bank import AnchorBank
from anchornet_tf.layers.equalizer import Equalizer
from anchornet_tf.models.bank_file import BankFile


def _bank():
    bank = AnchorBank(3)
    bank.build([(None, None, None, 4)] * 3)
    bank.built = True
    bank.running_mean.assign([1, 2, 3])
    return bank


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
    bank, equalizer = _bank(), Equalizer()
    equalizer.fit(np.diag([4.0, 1.0, 0.25]))
    BankFile.of(bank, "bird", "digest", {}, equalizer).save(tmp_path / "bird.npz")
    file = BankFile.load(tmp_path / "bird.npz")
    taps = [np.ones((1, s, s, 4), np.float32) for s in (8, 2, 1)]
    whitened = bank.whiten(bank(taps)).numpy()
    factors = (np.array([4.0, 1.0, 0.25]) / 1.75) ** -0.25
    np.testing.assert_allclose(file.descriptor()(taps), whitened * factors, rtol=1e-4)
    plain = BankFile.of(bank, "bird", "digest", {})
    np.testing.assert_allclose(plain.descriptor()(taps), whitened, rtol=1e-5)


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="Received: .*none.npz"):
        BankFile.load(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", a=1)
    with pytest.raises(ValueError, match="Received: .*other.npz"):
        BankFile.load(tmp_path / "other.npz")
