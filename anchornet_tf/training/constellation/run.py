"""A whole search for part-like channels: data, trunk, locations, fit, file, picture."""

import dataclasses
import os

import numpy as np

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.training import config_file
from anchornet_tf.training.constellation import locate, report
from anchornet_tf.training.constellation.config import ConstellationConfig
from anchornet_tf.training.constellation.fit import fit_constellation
from anchornet_tf.training.constellation.input import (
    ClassImages,
    class_images,
    open_images,
)
from anchornet_tf.training.run_folder import RunFolder
from anchornet_tf.trunks.backbone import TAP_CHANNELS, TAP_NAMES, Backbone
from anchornet_tf.utils.journal import Journal
from anchornet_tf.utils.safe_names import safe_name

_CLASSES_SHOWN = 30


def train(
    config: ConstellationConfig,
    workdir: str | os.PathLike,
    backbone: Backbone | None = None,
) -> dict:
    """Finds the part-like channels of the classes of `config`, or goes on with that.

    Locations are kept image by image: the same call continues a run that was stopped.

    Args:
        config: what to find.
        workdir: folder of the run.
        backbone: the trunk, where it is there already; None to read `config.weights`.

    Returns:
        The summary, with measures of every class.

    Raises:
        ValueError: where the data, the classes or the folder do not fit.
    """
    source = open_images(config)
    config = config.of_data(source.images_per_class())
    drawn = class_images(config, source)
    config_file.check_same(config, workdir)
    folder = RunFolder(workdir)
    with folder.alone():
        summary = folder.finished_summary(0)
        if summary is not None:
            report.print_summary(summary, folder.path, config)
            return summary
        return _find(config, folder, source, drawn, backbone, workdir)


def _find(config, folder, source, drawn, backbone, workdir) -> dict:
    """Finds the channels of all classes and reports."""
    print("\n".join(_overview(config, source, drawn, workdir)), flush=True)
    backbone = backbone or Backbone(weights=config.weights)
    digest = backbone.digest()
    config_file.save(config, folder.path)
    peaks = locate.peak_function(backbone)
    summary = {"steps": 0, "classes": {}}
    for images in drawn:
        summary["classes"][images.name] = _one_class(
            config, folder, source, images, backbone, digest, peaks
        )
    folder.write_summary(summary)
    report.print_summary(summary, folder.path, config)
    return summary


def _one_class(config, folder, source, images, backbone, digest, peaks) -> dict:
    name = safe_name(images.name)
    work = folder.path / "locations"
    channels = locate.candidates_of(
        config, source, images, peaks, TAP_CHANNELS, work / f"{name}.candidates.json"
    )
    header = {
        "trunk": digest,
        "image_size": config.image_size,
        "channels": channels,
        "images": source.select(images.positives).fingerprint(),
    }
    journal = Journal(work / f"{name}.jsonl", header)
    places = locate.locate(config, source, images, channels, backbone, journal)
    locations, present = locate.as_shares(places, config.image_size)
    found = fit_constellation(
        locations,
        present,
        aspects=config.aspects,
        parts=config.parts,
        visible=config.visible,
        separation=config.separation,
        rounds=config.rounds,
        restarts=config.restarts,
        variant=config.variant,
        seed=config.seed,
    )
    record = dataclasses.asdict(config) | {"images": len(images.positives)}
    file = report.as_file(found, channels, images.name, digest, record)
    file.save(report.file_of(folder.path, images.name))
    report.draw(config, source, images, found, locations, folder.path / "pictures" / f"{name}.png")
    known = np.where(present[..., np.newaxis], locations, np.nan)
    return report.summarise(found, channels, known)


def _overview(
    config: ConstellationConfig, source: ImageSource, drawn: list[ClassImages], workdir
) -> list[str]:
    counts = ", ".join(
        f"{images.name} {len(images.positives):,}" for images in drawn[:_CLASSES_SHOWN]
    )
    if len(drawn) > _CLASSES_SHOWN:
        counts += f" and {len(drawn) - _CLASSES_SHOWN:,} more"
    depths = dict(zip(TAP_NAMES, TAP_CHANNELS, strict=True))
    each = sum(min(config.candidates or depths[name], depths[name]) for name in config.taps)
    passes = each * sum(len(images.positives) for images in drawn)
    return [
        f"Data:      {source.spec}: {len(source):,} training images",
        f"Classes:   {len(drawn):,} (images used): {counts}",
        f"Search:    {each:,} candidate channels; {passes:,} passes backward through the trunk",
        f"Result:    {workdir}",
    ]
