"""Tests of the command that learns HOG statistics."""

import subprocess
import sys

import numpy as np
import PIL.Image

from anchornet_tf.features.hog_background import HogBackground, learn_background


def _run(*flags):
    command = [sys.executable, "-m", "anchornet_tf.features.learn_hog_background", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command_writes_what_the_function_returns(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (2, 48, 56, 3)).astype(np.uint8)
    for index, image in enumerate(images):
        PIL.Image.fromarray(image).save(tmp_path / f"{index}.png")
    output = tmp_path / "statistics.npz"
    result = _run(f"--images={tmp_path}/*.png", f"--output={output}")
    assert result.returncode == 0, result.stderr
    expected = learn_background(images)
    np.testing.assert_allclose(HogBackground.load(output).mean, expected.mean, rtol=1e-6)


def test_command_says_when_no_file_matches(tmp_path):
    result = _run(f"--images={tmp_path}/*.png", f"--output={tmp_path}/statistics.npz")
    assert result.returncode != 0
    assert "must match at least one file" in result.stdout + result.stderr
