"""What was found about the parts of a class: measures, a picture, and what to do next."""

import os
import pathlib
import shlex

import numpy as np

from anchornet_tf.datasets.image_source import ImageSource
from anchornet_tf.models.constellation_file import ConstellationFile
from anchornet_tf.training import augmentation
from anchornet_tf.training.config import EMBEDDED
from anchornet_tf.training.constellation import picture
from anchornet_tf.training.constellation.config import ConstellationConfig
from anchornet_tf.training.constellation.fit import Constellation
from anchornet_tf.training.constellation.input import ClassImages
from anchornet_tf.trunks.pca import TAP_NAMES
from anchornet_tf.utils.safe_names import safe_name

_IMAGES_SHOWN = 6


def summarise(found: Constellation, channels: list, locations: np.ndarray) -> dict:
    """Returns measures of one class.

    Args:
        found: the fit.
        channels: the tap and the channel of each candidate.
        locations: float `(images, candidates, 2)`, NaN where a channel does not respond.

    Returns:
        dict of the numbers of images, candidates, aspects and distinct channels, the channels of
        each tap, and two deviations as shares of the image's side: that of visible parts from
        their places, and that of the candidates' locations in the image.
    """
    own = np.unique(found.parts)
    taps = [channels[index][0] for index in own]
    everywhere = np.nanvar(locations, axis=0).mean(axis=-1)  # (candidates,)
    count = found.weights[:, np.newaxis] * found.visibility
    return {
        "images": len(found.aspect),
        "candidates": len(channels),
        "aspects": len(found.parts),
        "channels": len(own),
        "channels_of_tap": {name: taps.count(tap) for tap, name in enumerate(TAP_NAMES)},
        "part_deviation": float(np.sqrt((found.variances * count).sum() / count.sum())),
        "candidate_deviation": float(np.sqrt(np.nanmean(everywhere))),
    }


def draw(
    config: ConstellationConfig,
    source: ImageSource,
    images: ClassImages,
    found: Constellation,
    locations: np.ndarray,
    path: str | os.PathLike,
) -> pathlib.Path:
    """Draws the parts of each aspect on the images that fit it, the most frequent aspect first."""
    rows = []
    for aspect in np.argsort(-found.weights, kind="stable"):
        members = np.flatnonzero(found.aspect == aspect)
        offsets = locations[members][:, found.parts[aspect]] - found.anchors[members, np.newaxis]
        errors = np.square(offsets - found.shifts[aspect]).sum(axis=-1)
        errors = np.where(found.visible[members], errors, 0).sum(axis=1)
        cells = []
        for index in members[np.argsort(errors, kind="stable")][:_IMAGES_SHOWN]:
            image = source.read(images.positives[index])
            image = augmentation.evaluation_resize(image, config.image_size).numpy()
            cells.append(
                (
                    image.round().clip(0, 255).astype(np.uint8),
                    locations[index, found.parts[aspect]],
                    found.anchors[index],
                    found.visible[index],
                )
            )
        rows.append((f"aspect of {len(members)} images", cells))
    title = f"{images.name}: visible parts (rings) and anchor (cross)"
    return picture.draw(rows, title, path)


def print_summary(summary: dict, folder: pathlib.Path, config: ConstellationConfig) -> None:
    """Says what was found in each class, and which commands come next."""
    width = max(12, *(len(name) for name in config.classes))
    print(f"\n{'class':<{width}} {'images':>7} {'aspects':>8} {'channels':>9} "
          f"{'part deviation':>15} {'of candidates':>14}")  # fmt: skip
    for name in config.classes:
        values = summary["classes"][name]
        print(
            f"{name:<{width}} {values['images']:>7} {values['aspects']:>8} "
            f"{values['channels']:>9} {values['part_deviation']:>15.3f} "
            f"{values['candidate_deviation']:>14.3f}"
        )
    print(
        "Deviations are shares of the image's side: of visible parts from where their aspect has "
        "them, and of all candidates within the image."
    )
    file = file_of(folder, config.classes[0])
    print(f"\nParts:     {file.parent}")
    print(f"Pictures:  {folder / 'pictures'}")
    match = ["--features=constellation-hc", f"--option=constellation={file}"]
    if config.weights != "imagenet":
        match.append(f"--option=weights={config.weights}")
    print(f"Next:      python -m anchornet_tf.match A.jpg B.jpg {shlex.join(match)}")
    if config.data == EMBEDDED:
        measured = [f"--class={','.join(config.classes)}", "--features=hc,constellation-hc"]
        measured += [f"--option=constellation={file.parent}", *match[2:], "--matcher=nearest,hough"]
        print(f"Then:      python -m anchornet_tf.evaluate {shlex.join(measured)}")


def file_of(folder: str | os.PathLike, class_name: str) -> pathlib.Path:
    """Returns where the parts of a class are in the folder of a run."""
    return pathlib.Path(folder) / "constellations" / f"{safe_name(class_name)}.npz"


def as_file(
    found: Constellation, channels: list, class_name: str, trunk_digest: str, record: dict
) -> ConstellationFile:
    """Returns what is written of a fit: its channels by tap and number."""
    return ConstellationFile(
        class_name=class_name,
        channels=np.asarray(channels)[found.parts],
        shifts=found.shifts,
        variances=found.variances,
        visibility=found.visibility,
        weights=found.weights,
        trunk_digest=trunk_digest,
        record=record,
    )
