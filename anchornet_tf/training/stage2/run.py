"""A whole run of stage 2: banks, data, start of the encoder, training, summary, pictures, the model's folder."""

import dataclasses
import functools
import os
import pathlib
import shutil

import numpy as np
import tensorflow as tf
from absl import logging
from tqdm import tqdm

from anchornet_tf.datasets import sources
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.training import augmentation, filter_picture, loop, weak_labels
from anchornet_tf.training import config as configs
from anchornet_tf.training import strategy as strategies
from anchornet_tf.training.cached_views import CachedViews
from anchornet_tf.training.run_folder import RunFolder
from anchornet_tf.training.stage1 import report as bank_report
from anchornet_tf.training.stage2 import banks as stage1_banks
from anchornet_tf.training.stage2 import input as joint_input
from anchornet_tf.training.stage2 import report as joint_report
from anchornet_tf.training.stage2.config import Stage2Config
from anchornet_tf.training.stage2.step import JointTraining

# L_R sees directions only: maps that fade away, or shrink to a few directions, please it.
_COLLAPSED = 0.1
_CALIBRATION_STRIDE = 3
_EQUALIZED_IMAGES = (
    48  # Of each class: the descriptors of a class are evened out over its own images.
)


def train(
    config: Stage2Config,
    workdir: str | os.PathLike,
    *,
    strategy: str = "one",
    cache_dir: str | os.PathLike | None = None,
    checkpoint_every: int = 25,
) -> dict:
    """Trains the class-agnostic layer on the banks of `config.banks` in `workdir`, or goes on, and reports.

    Args:
        config: what to train.
        workdir: folder of the run. Several workers must see the same one.
        strategy: name as in `anchornet_tf.training.strategy.make`.
        cache_dir: folder of the cached taps, or None for the one in the cache folder.
        checkpoint_every: int. Steps between checkpoints.

    Returns:
        the summary: measures on held-out images.

    Raises:
        ValueError: where banks, data or folder do not fit, before anything is trained.
        loop.BrokenLoss: where a loss becomes NaN.
    """
    where = strategies.make(strategy)
    configs.check_same(config, workdir)
    banks, projections = stage1_banks.read(config.banks)
    channels = sum(bank.arrays["kernel"].shape[-1] for bank in banks)
    if config.latent_filters > channels:
        raise ValueError(
            f"`latent_filters` must be at most the filters of all banks, {channels}. Received: {config.latent_filters}"
        )
    source = sources.open_source(
        config.data, "train", heldout_fraction=config.heldout_fraction, seed=config.seed
    )
    columns = source.require_classes([bank.class_name for bank in banks])
    folder = RunFolder(workdir, writes=strategies.is_chief(where))
    summary = folder.finished_summary(config.steps)
    if summary is not None:
        _print_summary(summary, folder.path)
        return summary
    if folder.writes:
        configs.save(config, folder.path)

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
        cached = CachedViews.of_run(config, source, cache_dir, projections.digest())
        cached.fill(extractor, joint_input.plan(config, source, columns, 0))
    training = JointTraining(config, model, where)
    calibration_responses = functools.partial(
        _calibration_responses, config, model, source, columns, cached, extractor
    )
    if not folder.has_checkpoint():
        responses = calibration_responses(config.calibration_images, "Start of the encoder")
        _start_encoder(config, model, responses)

    def batches_from(start):
        def shard(shards, index):
            share = joint_input.plan(config, source, columns, start, shards, index)
            return joint_input.batches(config, source, cached, share)

        return strategies.distribute(where, shard)

    held_out = sources.open_source(
        config.data, "heldout", heldout_fraction=config.heldout_fraction, seed=config.seed
    )
    shown = _shown_images(config, held_out, columns, model) if folder.writes else {}
    start = loop.run(
        folder=folder,
        variables=training.state(),
        batches_from=batches_from,
        step=_EnergyWatch(training),
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
    model.fit_equalizers(calibration_responses(images, "Covariances"))
    return _report(config, folder, training, extractor, held_out, columns)


class _EnergyWatch:
    """Takes a step and says once when the maps lose their energy."""

    def __init__(self, training: JointTraining):
        self._training = training
        self._warned = False

    def __call__(self, batch) -> dict:
        parts = self._training.step(batch)
        first, energy = float(self._training.first_energy), float(parts["energy"])
        if energy < _COLLAPSED * first and not self._warned:
            self._warned = True
            logging.warning(
                "The maps' energy has fallen to %.3g, from %.3g at the start: L_R is easiest to please with maps that "
                "say little. A smaller --weight_reconstruction or --lower_rate helps.",
                energy,
                first,
            )
        return parts


def _calibration_responses(
    config, model, source, columns, cached, extractor, images: int, purpose: str
):
    """Yields linear responses, at some cells, of training images of all classes, with the class of each."""
    plan = joint_input.calibration_plan(config, source, columns, images)
    if cached is not None:
        cached.fill(extractor, plan)
        batches = cached.batches(plan)
    else:
        images = weak_labels.planned_images(
            source, plan, config.image_size, augment=False, fixed_views=True
        )
        batches = images.map(lambda batch: extractor.taps(batch["image"]))
    bar = tqdm(batches, total=len(plan.image_index), desc=purpose, unit=" batches", leave=False)
    for taps, class_index in zip(bar, plan.class_index, strict=True):
        linear = model.linear_responses([tf.cast(tap, tf.float32) for tap in taps])
        yield linear[:, ::_CALIBRATION_STRIDE, ::_CALIBRATION_STRIDE].numpy(), class_index


def _start_encoder(config, model, responses) -> None:
    """Sets the running mean, and the encoder unless it starts from chance, from maps of training images."""
    kernel = model.autoencoder.kernel.numpy()
    fitted = model.fit_encoder(model.gamma_maps(linear).numpy() for linear, _ in responses)
    if config.encoder_start == "random":
        model.autoencoder.kernel.assign(kernel)
    else:
        print(
            f"The encoder starts at the {config.latent_filters} strongest principal directions of the maps, which hold "
            f"{fitted.variance_kept:.1%} of their variance."
        )


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
    held_out = bank_report.held_out_taps(
        source, columns, extractor, config.image_size, positives=10, background=10
    )
    rows = folder.logged()
    energy = [float(row["energy"]) for row in rows]
    # Single steps scatter: ten at each end.
    kept = np.mean(energy[-10:]) / max(np.mean(energy[:10]), 1e-12)
    summary = {
        "steps": config.steps,
        "classes": list(model.classes),
        **joint_report.summarise(model, held_out, config.seed),
        "energy_kept": float(kept),
    }
    joint_report.draw_filters(
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
    print(f"  L_R of an encoder of chance  {summary['reconstruction_random']:.4f}")
    print(f"  |cos| of encoder filters     {summary['encoder_cosine']:.4f}")
    print(f"  energy of the maps kept      {summary['energy_kept']:.1%}")
    print(f"\nModel:     {path / 'model'}")
    print(f"Picture:   {path / 'pictures' / 'class_agnostic.png'}")
    print(f"Curves:    tensorboard --logdir {path / 'tensorboard'}")
    print(
        "Next:      python -m anchornet_tf.match A.jpg B.jpg --features=anchornet "
        f"--option=model={path / 'model'}"
    )
