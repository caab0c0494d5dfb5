"""A whole run of stage 2: banks, data, training, summary, pictures, the model's folder."""

import dataclasses
import os
import pathlib
import shutil

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets.splits import open_splits
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training import augmentation, config_file, filter_picture, loop, strategies
from anchornet_tf.training.cached_views import CachedViews
from anchornet_tf.training.run_folder import RunFolder, check_not_further
from anchornet_tf.training.stage1 import report as stage1_report
from anchornet_tf.training.stage2 import input as stage2_input
from anchornet_tf.training.stage2 import report as stage2_report
from anchornet_tf.training.stage2.banks import read_banks, split_model
from anchornet_tf.training.stage2.calibration import CalibrationImages, start_encoder
from anchornet_tf.training.stage2.config import Stage2Config
from anchornet_tf.training.stage2.energy_watch import EnergyWatch
from anchornet_tf.training.stage2.extension import add_classes, open_extension
from anchornet_tf.training.stage2.step import JointTraining

# Per class: the descriptors of a class are evened out over its own images.
_EQUALIZED_IMAGES = 48


def train(
    config: Stage2Config,
    workdir: str | os.PathLike,
    *,
    strategy: str = "one",
    cache_dir: str | os.PathLike | None = None,
    checkpoint_every: int = 25,
) -> dict:
    """Trains the class-agnostic layer on the banks of stage 1, or goes on with it, and reports.

    With a model among `config.banks`, nothing is trained: the classes of the others are added to
    it (see `extension`).

    Args:
        config: what to train.
        workdir: folder of the run. Several workers must see the same one.
        strategy: name as in `anchornet_tf.training.strategies.make`.
        cache_dir: folder of the cached taps, or None for the one in the cache folder.
        checkpoint_every: int. Steps between checkpoints.

    Returns:
        The summary: measures on held-out images.

    Raises:
        ValueError: where banks, data or folder do not fit, or the run in the folder is further than
            `config.steps`, before anything is written.
        BrokenLoss: where a loss becomes NaN.
    """
    where = strategies.make(strategy)
    check_not_further(workdir, config.steps)
    model_name, runs = split_model(config.banks)
    banks, projections = read_banks(runs)
    if model_name is None:
        filters = sum(bank.arrays["kernel"].shape[-1] for bank in banks)
        config = config.of_banks(filters, banks[0].trunk_description.strides[0])
    config_file.check_same(config, workdir)
    extension = None
    if model_name is not None:
        extension = open_extension(config, model_name, banks, projections)
    splits = open_splits(
        config.data,
        background=config.background,
        classes=[bank.class_name for bank in banks],
        label_map=config.label_map,
        heldout_fraction=config.heldout_fraction,
        seed=config.seed,
    )
    source, held_out = splits.train, splits.held_out
    columns = source.require_classes([bank.class_name for bank in banks])
    if not held_out.labels[:, columns].any():
        raise ValueError(
            "Expected held-out images of at least one class of the banks, for the summary; raise "
            f"--heldout_fraction. Received: none in {config.data}"
        )
    folder = RunFolder(workdir, writes=strategies.is_chief(where))
    # A finished folder may be one that nobody can write to, so it is not locked.
    if extension is None and (summary := _finished(config, folder)) is not None:
        return summary
    with folder.alone():
        # Another process may have worked here while this one waited.
        config_file.check_same(config, workdir)
        check_not_further(workdir, config.steps)
        if extension is not None:
            return add_classes(config, folder, extension, source, held_out, columns)
        if (summary := _finished(config, folder)) is not None:
            return summary
        return _train(
            config, where, splits, banks, projections, folder, cache_dir, checkpoint_every
        )


def _finished(config, folder) -> dict | None:
    summary = folder.finished_summary(config.steps)
    if summary is not None:
        _print_summary(summary, folder.path)
    return summary


def _train(config, where, splits, banks, projections, folder, cache_dir, checkpoint_every) -> dict:
    """Trains, saves the model and reports."""
    source, held_out = splits.train, splits.held_out
    columns = source.require_classes([bank.class_name for bank in banks])
    with where.scope():
        model = AnchorNet.from_banks(
            banks,
            projections,
            config.weights,
            config.latent_filters,
            config.seed,
            gamma=config.gamma,
            noise=config.noise,
            image_size=config.image_size,
        )
        extractor = TapExtractor(model.backbone, model.hypercolumn_layer)
    cached = None
    if config.freeze_trunk:
        trunk = model.backbone.trunk
        cached = CachedViews.of_run(config, source, cache_dir, projections, trunk)
        cached.fill(extractor, stage2_input.plan(config, source, columns, 0))
    training = JointTraining(config, model, where)
    calibration = CalibrationImages(config, source, columns, extractor, cached)
    if not folder.has_checkpoint():
        responses = calibration.responses(model, config.calibration_images, "Start of the encoder")
        start_encoder(model, responses, config.encoder_start)

    def batches_from(start):
        def shard(shards, index):
            share = stage2_input.plan(config, source, columns, start, shards, index)
            return stage2_input.batches(config, source, cached, share)

        return strategies.distribute(where, shard)

    shown = _shown_images(config, held_out, columns, model) if folder.writes else {}
    if folder.writes:
        # After everything that a user may have to mend: what is mended is another configuration.
        config_file.save(config, folder.path)
    start = loop.run(
        folder=folder,
        variables=training.state(),
        batches_from=batches_from,
        step=EnergyWatch(training),
        steps=config.steps,
        checkpoint_every=checkpoint_every,
        images=lambda: {
            f"descriptor/{name}": filter_picture.mosaic(model(image)[0])
            for name, image in shown.items()
        },
    )
    if start:
        print(f"Continued from step {start}.")
    if not folder.writes:
        return {}
    images = max(config.calibration_images, _EQUALIZED_IMAGES * len(columns))
    model.fit_equalizers(calibration.responses(model, images, "Covariances"))
    return _report(config, folder, training, extractor, held_out, columns)


def _shown_images(config, source, columns, model, most: int = 4) -> dict:
    """Returns one held-out image of each of the first classes."""
    shown = {}
    for name, column in list(zip(model.classes, columns, strict=True))[:most]:
        images = np.flatnonzero(source.labels[:, column])
        if len(images):
            image = augmentation.evaluation_resize(source.read(images[0]), config.image_size)
            shown[name] = tf.convert_to_tensor(image)[None]
    return shown


def _report(config, folder, training, extractor, source, columns) -> dict:
    model = training.model
    held_out = stage1_report.held_out_taps(
        source, columns, extractor, config.image_size, positives=10, background=10
    )
    rows = folder.logged()
    energy = [float(row["energy"]) for row in rows]
    # Single steps scatter: ten at each end.
    kept = np.mean(energy[-10:]) / max(np.mean(energy[:10]), 1e-12)
    summary = {
        "steps": config.steps,
        "classes": list(model.classes),
        **stage2_report.summarise(model, held_out, config.seed),
        "energy_kept": float(kept),
    }
    stage2_report.draw_filters(
        model, held_out, columns, folder.path / "pictures" / "class_agnostic.png"
    )
    # A run that was continued replaces its model; until then the checkpoint holds everything.
    shutil.rmtree(folder.path / "model", ignore_errors=True)
    model.save_to_preset(folder.path / "model", record=dataclasses.asdict(config))
    folder.write_summary(summary)
    _print_summary(summary, folder.path)
    return summary


def _print_summary(summary: dict, path: pathlib.Path) -> None:
    best = summary["reconstruction_best"]
    print(f"\nOn {summary['images']} held-out images of {len(summary['classes'])} classes:")
    print(f"  L_R of the encoder           {summary['reconstruction']:.4f}")
    print(f"  L_R of the best linear one   {best:.4f}   (principal directions of these maps)")
    print(f"  L_R of a random encoder      {summary['reconstruction_random']:.4f}")
    print(f"  |cos| of encoder filters     {summary['encoder_cosine']:.4f}")
    print(f"  energy of the maps kept      {summary['energy_kept']:.1%}")
    print(f"\nModel:     {path / 'model'}")
    print(f"Picture:   {path / 'pictures' / 'class_agnostic.png'}")
    print(f"Curves:    tensorboard --logdir {path / 'tensorboard'}")
    print(
        "Next:      python -m anchornet_tf.match A.jpg B.jpg --features=anchornet "
        f"--option=model={path / 'model'}"
    )
