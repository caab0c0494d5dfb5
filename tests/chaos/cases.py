"""The programs that are stopped, with arguments that make each a run of seconds.

To add a program, add a `Case`: its arguments name files below the folder that it is started in, so
that two runs in different folders write the same bytes.
"""

import csv
import dataclasses
import pathlib

import PIL.Image

from anchornet_tf.datasets import parts_world
from tests.datasets.annotated import folders
from tests.tasks import colored

_CLASSES = ("bird", "cow", "background")
_STAGE1 = ("--image_size=64", "--heldout_fraction=0.3", "--batch_size=4", "--checkpoint_every=2")
_DESCRIBE = (
    "--images={inputs}/broken",
    "--model={export}/out",
    "--output=out",
    "--image_size=64",
    "--shard_size=2",
    "--peaks=6",
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A program and what it is given.

    Attributes:
        name: In the table.
        module: Run as `python -m module`.
        arguments: `{inputs}` stands for the folder of `write_inputs`, `{NAME}` for the folder in
            which the case NAME was run undisturbed.
        free: Patterns of files in `out` that may differ from run to run.
        already: What a second run may say, with exit code 1, where the first had finished.
        versions: bool. Whether every run that finishes adds a version: then the newest counts.
    """

    name: str
    module: str
    arguments: tuple[str, ...]
    free: tuple[str, ...] = ()
    already: str = ""
    versions: bool = False


CASES = (
    Case(
        "fit_pca",
        "trainers.fit_pca",
        (
            "--data=folder:{inputs}/images",
            "--output=out/pca.npz",
            "--image_size=288",
            "--positions=81",
            "--dimensions=32",
            "--batch_size=4",
        ),
    ),
    Case(
        "stage1",
        "trainers.stage1",
        (
            "--data=folder:{inputs}/images",
            "--workdir=out",
            "--class=bird,cow",
            "--num_filters=6",
            "--steps=12",
            *_STAGE1,
        ),
        free=("tensorboard/*",),
    ),
    Case(
        "stage2",
        "trainers.stage2",
        (
            "--data=folder:{inputs}/images",
            "--banks={stage1}/out",
            "--workdir=out",
            "--latent_filters=8",
            "--steps=8",
            "--calibration_images=8",
            *_STAGE1,
        ),
        free=("tensorboard/*",),
    ),
    Case(
        "reproduce",
        "trainers.reproduce",
        ("--data=folder:{inputs}/images", "--workdir=out", "--noablation", "--image_size=64"),
        free=("*/tensorboard/*",),
    ),
    Case(
        "evaluate",
        "anchornet_tf.evaluate",
        (
            "--features=anchornet",
            "--matcher=none,nearest",
            "--model={stage2}/out/model",
            "--benchmark=pascal_parts",
            "--data_dir={inputs}/flowweb",
            "--image_size=64",
            "--limit=6",
            "--bootstrap=20",
            "--nopictures",
            "--output=out",
        ),
    ),
    Case(
        "boxes",
        "anchornet_tf.evaluate",
        (
            "--features=hog",
            "--matcher=nam,phm",
            "--num_boxes=40",
            "--benchmark=pascal_parts",
            "--data_dir={inputs}/flowweb",
            "--limit=6",
            "--bootstrap=20",
            "--workers=2",
            "--nopictures",
            "--output=out",
        ),
    ),
    Case(
        "transfer",
        "anchornet_tf.transfer",
        (
            "--references={inputs}/points.csv",
            "--images={inputs}/photos",
            "--model={stage2}/out/model",
            "--output=out/points.csv",
        ),
    ),
    Case(
        "align",
        "anchornet_tf.align",
        ("{inputs}/photos", "--features=sift", "--option=step=8", "--output=out"),
    ),
    Case(
        "export",
        "export.saved_model",
        ("--model={stage2}/out/model", "--output=out"),
        # TensorFlow draws a number for each export; what else is in there are digests of the rest.
        free=("fingerprint.pb",),
        versions=True,
    ),
    Case(
        "bundle",
        "export.serving",
        ("--model={export}/out", "--output=out/bundle"),
        already="Expected a folder that does not exist yet",
    ),
    Case("describe", "anchornet_tf.corpus.describe", _DESCRIBE),
    # Beam's workers are new processes, which load an export: the small trunk is in its graph.
    Case("describe_two", "anchornet_tf.corpus.describe", (*_DESCRIBE, "--workers=2")),
)
BY_NAME = {case.name: case for case in CASES}


def write_inputs(folder: pathlib.Path) -> pathlib.Path:
    """Draws the images that all cases work on, and marks points in one of them."""
    for name in _CLASSES:
        (folder / "images" / name).mkdir(parents=True)
        for index in range(12):
            image = parts_world.draw(name, index, size=64).image
            PIL.Image.fromarray(image).save(folder / "images" / name / f"{index}.png")
    folders.flowweb(folder / "flowweb")
    for name in ("photos", "broken"):
        (folder / name).mkdir()
    for number in range(6):
        points = colored.save(folder / "photos", f"{number}.png", 6 + 7 * number, 40 - 6 * number)
        raw = (folder / "photos" / f"{number}.png").read_bytes()
        (folder / "broken" / f"{number}.png").write_bytes(raw[: 200 if number == 3 else None])
        if number == 0:
            with open(folder / "points.csv", "w", newline="") as file:
                rows = [["0.png", name, *place] for name, place in points.items()]
                csv.writer(file).writerows([["image", "name", "x", "y"], *rows])
    return folder
