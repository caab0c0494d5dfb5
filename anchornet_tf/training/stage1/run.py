"""A whole run of stage 1: data, trunk, training, summary, pictures."""

import dataclasses
import os
import pathlib
import shlex

import numpy as np

from anchornet_tf.datasets.splits import open_splits
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training import augmentation, config_file, loop, strategies
from anchornet_tf.training.cached_views import CachedViews
from anchornet_tf.training.config import ALL
from anchornet_tf.training.run_folder import RunFolder, check_not_further
from anchornet_tf.training.stage1 import input as stage1_input
from anchornet_tf.training.stage1 import overview
from anchornet_tf.training.stage1 import report as stage1_report
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage1.step import BankTraining
from anchornet_tf.trunks import pca, registry
from anchornet_tf.trunks.backbone import Backbone
from anchornet_tf.utils.safe_names import safe_name


def train(
    config: Stage1Config,
    workdir: str | os.PathLike,
    *,
    strategy: str = "one",
    cache_dir: str | os.PathLike | None = None,
    checkpoint_every: int = 50,
    dry_run: bool = False,
) -> dict:
    """Trains the banks of `config` in `workdir`, or goes on with them, and reports.

    Args:
        config: what to train.
        workdir: folder of the run. Several workers must see the same one.
        strategy: name as in `anchornet_tf.training.strategies.make`.
        cache_dir: folder of the cached taps, or None for the one in the cache folder.
        checkpoint_every: int. Steps between checkpoints.
        dry_run: bool. Only say what was found and what would be done, and write nothing.

    Returns:
        The summary: measures of every class on held-out images; empty for a dry run.

    Raises:
        ValueError: where the data, the classes, the PCA or the folder do not fit, or the run in the
            folder is further than `config.steps`, before anything is written.
        BrokenLoss: where a loss becomes NaN.
    """
    where = strategies.make(strategy)
    splits = open_splits(
        config.data,
        background=config.background,
        classes=None if config.classes == (ALL,) else config.classes,
        label_map=config.label_map,
        heldout_fraction=config.heldout_fraction,
        seed=config.seed,
    )
    source = splits.train
    config = config.of_data(source.images_per_class())
    source.require_classes(config.classes)
    _check_folder(config, workdir)
    projections = pca.HypercolumnPCA.load(config.pca) if config.pca else None

    def prepare():
        with where.scope():
            backbone = Backbone(config.trunk, config.weights)
            fitted = projections or pca.of_trunk(backbone.trunk, backbone.digest)
            extractor = TapExtractor(backbone, fitted)
        cached = None
        if config.cache_features:
            cached = CachedViews.of_run(config, source, cache_dir, fitted, backbone.trunk)
        if strategies.is_chief(where):
            print("\n".join(_overview(config, splits, extractor, cached, workdir)), flush=True)
        return fitted, extractor, cached

    if dry_run:
        prepare()
        print("Nothing was trained: this was a dry run.")
        return {}
    folder = RunFolder(workdir, writes=strategies.is_chief(where))
    # A finished folder may be one that nobody can write to, so it is not locked.
    if (summary := _finished(config, folder)) is not None:
        return summary
    with folder.alone():
        # Another process may have worked here while this one waited.
        _check_folder(config, workdir)
        if (summary := _finished(config, folder)) is not None:
            return summary
        return _train(config, where, splits, *prepare(), folder, checkpoint_every)


def _finished(config, folder) -> dict | None:
    summary = folder.finished_summary(config.steps)
    if summary is not None:
        _print_summary(summary, folder.path, config)
    return summary


def _check_folder(config, workdir) -> None:
    config_file.check_same(config, workdir)
    check_not_further(workdir, config.steps)


def _train(config, where, splits, projections, extractor, cached, folder, checkpoint_every) -> dict:
    """Trains, saves the banks and reports."""
    source, held_out = splits.train, splits.held_out
    columns = source.require_classes(config.classes)
    if cached:
        cached.fill(extractor, stage1_input.plan(config, source, 0))
    taps_of = (lambda taps: taps) if cached else extractor.taps
    training = BankTraining(
        config,
        where,
        taps_of,
        projections.depths,
        own_negatives=not source.is_background.any(),
    )

    def batches_from(start):
        def shard(shards, index):
            share = stage1_input.plan(config, source, start, shards, index)
            return stage1_input.batches(config, source, cached, share)

        return strategies.distribute(where, shard)

    shown = _shown_taps(config, held_out, columns, extractor) if folder.writes else {}
    if folder.writes:
        # After everything that a user may have to mend: what is mended is another configuration.
        config_file.save(config, folder.path)
        projections.save(folder.path / "pca.npz")
    start = loop.run(
        folder=folder,
        variables=training.state(),
        batches_from=batches_from,
        step=training.step,
        steps=config.steps,
        checkpoint_every=checkpoint_every,
        images=lambda: {
            f"responses/{name}": stage1_report.response_mosaic(training.banks[name], taps)
            for name, taps in shown.items()
        },
    )
    if start:
        print(f"Continued from step {start}.")
    if not folder.writes:
        return {}
    _save_banks(config, folder, training, source, cached, extractor)
    return _report(config, folder, training, extractor, held_out, columns)


def _overview(config, splits, extractor, cached, workdir) -> list[str]:
    views = len(cached.missing(stage1_input.plan(config, splits.train, 0))) if cached else 0
    trunk_seconds = overview.seconds_per_image(extractor, config.image_size)
    return overview.lines(config, splits, views, trunk_seconds, workdir)


def _save_banks(config, folder, training, source, cached, extractor) -> None:
    """Writes the banks with measured statistics.

    The running ones lag behind the filters, and know nothing of how responses vary together.
    """
    calibration = stage1_input.calibration_plan(config, source)
    moments = training.response_moments(stage1_input.batches(config, source, cached, calibration))
    record = dataclasses.asdict(config)
    backbone = extractor.backbone
    trunk = {"name": registry.short_form(backbone.trunk), "digest": backbone.digest()}
    for name, bank in training.banks.items():
        file = BankFile.of(bank, name, extractor.pca_digest, record, trunk)
        file = file.calibrated(*moments[name].statistics())
        file.save(folder.path / "banks" / f"{safe_name(name)}.npz")


def _shown_taps(config, source, columns, extractor, most: int = 4) -> dict:
    """Returns the taps of one held-out image of each of the first classes."""
    taps = {}
    for name, column in list(zip(config.classes, columns, strict=True))[:most]:
        images = np.flatnonzero(source.labels[:, column])
        if len(images):
            image = augmentation.evaluation_resize(source.read(images[0]), config.image_size)
            taps[name] = extractor(image[None])
    return taps


def _report(config, folder, training, extractor, source, columns) -> dict:
    held_out = stage1_report.held_out_taps(source, columns, extractor, config.image_size)
    summary = {"steps": config.steps, "classes": {}}
    for (name, bank), column in zip(training.banks.items(), columns, strict=True):
        if not held_out.labels[:, column].any():
            # Too few images to hold one out.
            continue
        summary["classes"][name] = stage1_report.summarise(bank, held_out, column, config.sigma)
        title = f"{name}: filters that stand out, of {config.num_filters}, on held-out images"
        stage1_report.draw_filters(
            bank, held_out, column, title, folder.path / "pictures" / f"{safe_name(name)}.png"
        )
    folder.write_summary(summary)
    _print_summary(summary, folder.path, config)
    return summary


def _print_summary(summary: dict, path: pathlib.Path, config: Stage1Config) -> None:
    measured = summary["classes"]
    width = max(12, *(len(name) for name in config.classes))
    print(
        f"\n{'class':<{width}} {'filter |cos|':>12} {'map overlap':>12} {'average precision':>18}"
    )
    for name in config.classes:
        if name not in measured:
            print(f"{name:<{width}} no held-out image to measure on")
            continue
        values = measured[name]
        print(
            f"{name:<{width}} {values['filter_cosine']:>12.4f} {values['map_overlap']:>12.4f} "
            f"{values['average_precision']:>18.3f}"
        )
    bank = path / "banks" / f"{safe_name(config.classes[0])}.npz"
    images = [f"--data={config.data}"]
    images += [f"--background={config.background}"] if config.background else []
    images += [f"--label_map={config.label_map}"] if config.label_map else []
    images += [f"--weights={config.weights}"] if config.weights != "imagenet" else []
    images += [f"--image_size={config.image_size}"] if config.image_size != 224 else []
    print(f"\nBanks:     {path / 'banks'}")
    print(f"Pictures:  {path / 'pictures'}")
    print(f"Curves:    tensorboard --logdir {path / 'tensorboard'}")
    match = ["--features=anchornet-class", f"--option=bank={bank}"]
    match += [f"--option=image_size={config.image_size}"] if config.image_size != 224 else []
    print(f"Next:      python -m anchornet_tf.match A.jpg B.jpg {shlex.join(match)}")
    join = [f"--banks={path}", *images]
    print(f"Then:      python -m trainers.stage2 {shlex.join(join)}")
