"""The banks of finished stage 1 runs, checked to fit together."""

import os
import pathlib
from collections.abc import Sequence

from anchornet_tf.models import presets
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.trunks.pca import HypercolumnPCA


def split_model(
    entries: Sequence[str | os.PathLike],
) -> tuple[str | os.PathLike | None, list[str | os.PathLike]]:
    """Tells a model among stage 1 runs: the name of a preset, or a model's folder.

    Returns:
        The model, or None where there is none, and the runs.

    Raises:
        ValueError: where there are several models, or a model and no run.
    """
    models = [entry for entry in entries if _is_model(entry)]
    runs = [entry for entry in entries if entry not in models]
    if len(models) > 1:
        raise ValueError(
            "Expected at most one model among the banks; the others are stage 1 runs. "
            f"Received: {', '.join(map(str, models))}"
        )
    if models and not runs:
        raise ValueError(
            "Expected the stage 1 runs of the classes to add beside the model, such as "
            f"--banks={models[0]},runs/stage1-bird. Received: {models[0]} alone"
        )
    return (models[0] if models else None), runs


def _is_model(entry: str | os.PathLike) -> bool:
    folder = pathlib.Path(entry)
    # Runs have a config.json too. As in `presets.find`, a folder goes before a preset of its name.
    if (folder / "banks").is_dir():
        return False
    return (folder / "heads.npz").is_file() or str(entry) in presets.preset_names()


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
                "banks/*.npz and pca.npz, or a model to add classes to: a preset, or a folder with "
                f"config.json and heads.npz. Received: {run}"
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
