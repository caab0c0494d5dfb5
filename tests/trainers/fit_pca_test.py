"""The PCA program on a folder of drawn images, with the real trunk."""

import os
import subprocess
import sys

import pytest
from PIL import Image

from anchornet_tf.datasets import parts_world
from anchornet_tf.trunks import pca
from tests.repository.tree import ROOT


def _fit(*flags):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-m", "trainers.fit_pca", *flags]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_fits_and_refuses_too_few_images(tmp_path):
    for name in ("bird", "background"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for index in range(30):
            image = parts_world.draw(name, index).image
            Image.fromarray(image).save(tmp_path / "images" / name / f"{index}.png")
    data, output = f"--data=folder:{tmp_path / 'images'}", tmp_path / "pca.npz"
    few = _fit(data, f"--output={output}", "--num_images=10")
    assert few.returncode != 0 and "Received: 600 samples" in few.stderr
    assert not output.exists()
    result = _fit(data, f"--output={output}")
    assert result.returncode == 0, result.stderr[-3000:]
    assert "Variance kept: res2c 1.000" in result.stdout and "Next:" in result.stdout
    fitted = pca.HypercolumnPCA.load(output)
    assert fitted.taps[0].variance_kept == pytest.approx(1, abs=1e-3)
    assert all(0.5 < tap.variance_kept < 1 for tap in fitted.taps[1:])


def test_help_reads():
    result = _fit("--help")
    assert "--num_images" in result.stdout and "python -m trainers.fit_pca" in result.stdout
