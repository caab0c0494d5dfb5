"""The banks of finished stage 1 runs, checked to fit together."""

import os
import pathlib
from collections.abc import Sequence

from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.trunks.pca import HypercolumnPCA


def read_banks(runs: Sequence[str | os.PathLike]) -> tuple[list[BankFile], HypercolumnPCA]:
    """Reads the banks of several runs and the PCA that they share.

    Args:
        runs: folders of stage 1 runs: one of all classes, or one per class.

    Returns:
        The banks in alphabetical order of their classes, and the projections.

    Raises:
        ValueError: where a folder holds no finished run, a class comes twice, or the runs differ in
            their PCA.
    """
    banks: dict[str, BankFile] = {}
    projections = None
    for run in map(pathlib.Path, runs):
        paths = sorted((run / "banks").glob("*.npz"))
        if not paths or not (run / "pca.npz").is_file():
            raise ValueError(
                "Expected the folder of a finished run of `python -m trainers.stage1`, with "
                f"banks/*.npz and pca.npz. Received: {run}"
            )
        own = HypercolumnPCA.load(run / "pca.npz")
        if projections is not None and own.digest() != projections.digest():
            raise ValueError(
                f"Expected runs on one PCA, {projections.digest()}. "
                f"Received: {own.digest()} in {run}"
            )
        projections = own
        for path in paths:
            bank = BankFile.load(path)
            if bank.class_name in banks:
                raise ValueError(
                    "Expected one bank per class. "
                    f"Received: a second one of {bank.class_name} in {run}"
                )
            banks[bank.class_name] = bank
    if projections is None:
        raise ValueError("Expected at least one stage 1 run. Received: none")
    return [banks[name] for name in sorted(banks)], projections
