"""The program that finds part-like channels, with the real trunk, and what comes after it."""

import subprocess
import sys

import numpy as np
import pytest

from anchornet_tf.features.registry import get_descriptor
from anchornet_tf.models.constellation_file import ConstellationFile
from anchornet_tf.utils.image_io import read_image
from tests.repository.tree import ROOT
from tests.trainers.running import ENVIRONMENT, run, write_folder

FLAGS = ("--class=bird", "--image_size=96", "--candidates=4", "--parts=4", "--visible=3")


def test_mistakes_are_said_in_one_line():
    for flag, message in (
        ("--visible=20", "Error: `visible` must be at most `parts`, 10. Received: 20\n"),
        ("--taps=res9", "Error: `taps` must be some of res2c, res4c, res5c. Received: res9\n"),
    ):
        result = run(flag, program="constellation")
        assert (result.returncode, result.stderr, result.stdout) == (1, message, "")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run on six drawn birds."""
    folder = tmp_path_factory.mktemp("constellation")
    images = write_folder(folder / "images", ["bird", "background"], count=6, size=96)
    result = run(
        f"--data=folder:{images}", f"--workdir={folder / 'run'}", *FLAGS, program="constellation"
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return images, folder / "run", result


@pytest.mark.slow
def test_the_program_writes_parts_and_says_what_comes_next(finished):
    _, folder, result = finished
    file = folder / "constellations" / "bird.npz"
    assert f"Next:      python -m anchornet_tf.match A.jpg B.jpg --features=constellation-hc "\
        f"--option=constellation={file}" in result.stdout  # fmt: skip
    parts = ConstellationFile.load(file)
    assert parts.channels.shape[1:] == (4, 2) and parts.class_name == "bird"
    assert (folder / "pictures" / "bird.png").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["constellation-hc", "constellation-bp"])
def test_the_program_match_takes_the_file(name, finished, tmp_path):
    images, folder, _ = finished
    file = folder / "constellations" / "bird.npz"
    pair = [str(images / "bird" / f"{number}.png") for number in (0, 1)]
    flags = [f"--features={name}", f"--option=constellation={file}", "--option=image_size=96"]
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "anchornet_tf.match",
            *pair,
            *flags,
            f"--output={tmp_path / 'o.png'}",
        ],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert (tmp_path / "o.png").is_file()


@pytest.mark.slow
def test_the_real_trunk_gives_batches_as_one_by_one(finished):
    images, folder, _ = finished
    file = folder / "constellations" / "bird.npz"
    pictures = [read_image(images / "bird" / f"{number}.png") for number in range(3)]
    describe = get_descriptor("constellation-bp", constellation=file, image_size=96, batch_size=3)
    together = describe(pictures)
    assert together[0].values.shape == (96, 96, len(ConstellationFile.load(file).union()))
    for picture, features in zip(pictures, together, strict=True):
        alone = describe([picture])[0].values
        scale = np.abs(alone).max()
        np.testing.assert_allclose(features.values, alone, atol=1e-3 * scale)
