"""Joining the banks of several runs, and what does not fit together."""

import numpy as np
import pytest

from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.training.stage2.banks import read_banks
from anchornet_tf.trunks import pca
from anchornet_tf.trunks.backbone import TAP_CHANNELS


def _write_run(folder, names, seed=0):
    rng = np.random.default_rng(seed)
    taps = []
    for channels in TAP_CHANNELS:
        components, _ = np.linalg.qr(rng.normal(size=(channels, 4)))
        taps.append(pca.TapPCA(rng.normal(size=channels), components, np.ones(4), 1.0))
    projections = pca.HypercolumnPCA(tuple(taps), {})
    (folder / "banks").mkdir(parents=True)
    projections.save(folder / "pca.npz")
    for name in names:
        arrays = {part: np.zeros(3, np.float32) for part in ("bias", "running_mean")}
        arrays["running_square"] = np.ones(3, np.float32)
        arrays["kernel"] = np.zeros((3, 3, 12, 3), np.float32)
        BankFile(name, arrays, projections.digest(), {}).save(folder / "banks" / f"{name}.npz")
    return folder


def test_banks_come_in_the_order_of_the_classes(tmp_path):
    runs = [
        _write_run(tmp_path / "a", ["train", "bird"]),
        _write_run(tmp_path / "b", ["aeroplane"]),
    ]
    banks, projections = read_banks(runs)
    assert [bank.class_name for bank in banks] == ["aeroplane", "bird", "train"]
    assert all(bank.pca_digest == projections.digest() for bank in banks)


def test_what_does_not_fit(tmp_path):
    first = _write_run(tmp_path / "a", ["bird"])
    with pytest.raises(ValueError, match="second one of bird"):
        read_banks([first, _write_run(tmp_path / "b", ["bird"])])
    with pytest.raises(ValueError, match="Expected runs on one PCA(.|\n)*Received: "):
        read_banks([first, _write_run(tmp_path / "c", ["cow"], seed=1)])
    with pytest.raises(ValueError, match="finished run(.|\n)*Received: .*nowhere"):
        read_banks([tmp_path / "nowhere"])
    with pytest.raises(ValueError, match="Received: none"):
        read_banks([])
