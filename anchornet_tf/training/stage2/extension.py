"""Stage 2 with a model among the banks: classes are added to it, and nothing is trained."""

import dataclasses
import os
import pathlib
import shutil
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.models.added_classes import Extension
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training import config_file
from anchornet_tf.training.run_folder import RunFolder
from anchornet_tf.training.stage1 import report as stage1_report
from anchornet_tf.training.stage2.calibration import CalibrationImages
from anchornet_tf.training.stage2.config import Stage2Config
from anchornet_tf.trunks.pca import HypercolumnPCA

_STRIDE = 3
_BATCH = 8


def open_extension(
    config: Stage2Config,
    model: str | os.PathLike,
    banks: Sequence[BankFile],
    projections: HypercolumnPCA,
) -> Extension:
    """Loads a model and checks that the classes of banks can be added to it.

    Args:
        config: of the run.
        model: name of a preset, or a model's folder.
        banks: of the classes to add.
        projections: the PCA that they were trained on.

    Raises:
        ValueError: where they do not fit to the model.
    """
    loaded = AnchorNet.from_preset(model, weights=config.weights)
    return Extension(loaded, banks, projections, config.added_filters)


def add_classes(
    config: Stage2Config,
    folder: RunFolder,
    extension: Extension,
    source: ImageSource,
    held_out: ImageSource,
    columns: Sequence[int],
) -> dict:
    """Fits the new directions of the code, writes the model and reports.

    Args:
        config: of the run.
        folder: of the run.
        extension: the model and the banks to add.
        source: training images of the new classes.
        held_out: images for the summary.
        columns: of their labels, for each new class.

    Returns:
        The summary.
    """
    # What takes minutes on one machine is not worth dividing.
    if not folder.writes:
        return {}
    summary = folder.finished_summary(0)
    if summary is not None:
        _print_summary(summary, folder.path)
        return summary
    model = extension.model
    names = model.classes[-len(columns) :]
    print(
        f"Adds {', '.join(names)} to the model among --banks. No gradient step is taken: its "
        "trunk, banks and code stay as they are."
    )
    extractor = TapExtractor(model.backbone, model.hypercolumn_layer)
    images = CalibrationImages(config, source, list(columns), extractor, None)
    # More draws than images would be the same images again.
    most = len(columns) * int(source.labels[:, columns].sum(axis=0).max())
    count = min(config.calibration_images, most)
    responses = images.responses(model, count, "New directions")
    fitted = extension.fit(linear for linear, _ in responses)
    shown = stage1_report.held_out_taps(
        held_out, columns, extractor, config.image_size, background=0
    )
    _, covariance = extension.moments(_responses(model, shown.taps))
    told, added = fitted.shares(covariance)
    new_filters = fitted.components.shape[1]
    summary = {
        "steps": 0,
        "classes": list(model.classes),
        "added_classes": list(names),
        "old_filters": model.latent_filters - new_filters,
        "new_filters": new_filters,
        "told_by_old": told,
        "added_by_new": added,
        "images": len(shown.images),
    }
    config_file.save(config, folder.path)
    # A run that was killed between the model and its summary.
    shutil.rmtree(folder.path / "model", ignore_errors=True)
    model.save_to_preset(folder.path / "model", record=dataclasses.asdict(config))
    folder.write_summary(summary)
    _print_summary(summary, folder.path)
    return summary


def _responses(model: AnchorNet, taps) -> Iterator[np.ndarray]:
    for start in range(0, len(taps[0]), _BATCH):
        part = [tf.convert_to_tensor(tap[start : start + _BATCH]) for tap in taps]
        yield model.linear_responses(part)[:, ::_STRIDE, ::_STRIDE].numpy()


def _print_summary(summary: dict, path: pathlib.Path) -> None:
    old, new = summary["old_filters"], summary["new_filters"]
    names = ", ".join(summary["added_classes"])
    print(f"\n{len(summary['classes'])} classes, {names} among them; descriptor {old} + {new}.")
    print(f"Variance of the new banks' responses on {summary['images']} held-out images:")
    print(f"  told by the old descriptor   {summary['told_by_old']:.1%}")
    print(f"  added by the new directions  {summary['added_by_new']:.1%}")
    print(f"\nModel:     {path / 'model'}")
    print(
        "Next:      python -m anchornet_tf.match A.jpg B.jpg --features=anchornet "
        f"--option=model={path / 'model'}"
    )
