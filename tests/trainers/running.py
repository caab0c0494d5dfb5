"""Runs the training programs as a user does, on small folders of drawn images."""

import os
import pathlib
import subprocess
import sys

from PIL import Image

from anchornet_tf.datasets import parts_world
from tests.repository.tree import ROOT

# Without the variables that make TensorFlow quiet: programs see to it themselves.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}


def command(*flags: str, program: str = "stage1") -> list[str]:
    """Returns the command of a training program."""
    return [sys.executable, "-m", f"trainers.{program}", *flags]


def run(*flags: str, program: str = "stage1") -> subprocess.CompletedProcess:
    """Runs a training program to its end."""
    return subprocess.run(
        command(*flags, program=program),
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )


def write_folder(
    folder: pathlib.Path, classes: list[str], count: int = 8, size: int = 64
) -> pathlib.Path:
    """Draws images into one sub-folder per class."""
    for name in classes:
        (folder / name).mkdir(parents=True)
        for index in range(count):
            image = parts_world.draw(name, index, size=size).image
            Image.fromarray(image).save(folder / name / f"{index}.png")
    return folder
