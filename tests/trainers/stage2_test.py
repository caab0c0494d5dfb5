"""The stage 2 program as a user meets it: help, wrong input, a collapse, both kinds of run."""

import json
import subprocess
import sys

import numpy as np
import pytest

import anchornet_tf
from anchornet_tf.training.stage2 import run as stage2_run
from anchornet_tf.training.stage2.config import Stage2Config
from anchornet_tf.training.stage2.energy_watch import EnergyWatch
from tests.repository.tree import ROOT
from tests.trainers.running import run, write_folder


def test_help_reads_without_tensorflow():
    result = run("--help", program="stage2")
    for part in ("--banks", "--[no]freeze_trunk", "--lower_rate", "--gamma", "--strategy"):
        assert part in result.stdout
    check = "import sys, trainers.stage2; assert 'tensorflow' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", check], cwd=ROOT).returncode == 0


@pytest.mark.parametrize(
    "flags, message",
    [
        ([], "--banks"),
        (
            ["--banks=a", "--gamma=cubes"],
            "--gamma must be one of softplus, whitened. Received: cubes",
        ),
        (["--banks=a", "--steps=0"], "`steps` must be a positive integer. Received: 0"),
        (["--banks=a", "--freeze_trunk", "--train_pca"], "freeze_trunk and train_pca"),
    ],
)
def test_wrong_flags(flags, message):
    result = run(*flags, program="stage2")
    assert result.returncode != 0
    assert message in result.stdout + result.stderr


def test_a_missing_run_is_found_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="finished run(.|\n)*Received: "):
        stage2_run.train(Stage2Config(banks=(str(tmp_path / "none"),)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_maps_that_lose_their_energy_are_reported_once(caplog):
    class Training:
        first_energy = 2.0

        def step(self, batch):
            return {"loss": 1.0, "energy": batch}

    watch = EnergyWatch(Training())
    with caplog.at_level("WARNING"):
        watch(0.3)
        assert not caplog.records
        assert watch(0.1)["energy"] == 0.1
        watch(0.1)
    assert len(caplog.records) == 1
    assert "fallen to 0.1, from 2" in caplog.records[0].getMessage()


@pytest.mark.slow
def test_both_stages_on_images(tmp_path):
    data = write_folder(tmp_path / "images", ["bird", "cow", "background"], count=12)
    common = [f"--data=folder:{data}", "--image_size=64", "--heldout_fraction=0.3"]
    common += [f"--cache_dir={tmp_path / 'cache'}", "--batch_size=4"]
    stage1 = ["--class=bird,cow", "--num_filters=6", "--steps=10", "--views=1"]
    first = run(*common, *stage1, f"--workdir={tmp_path / 'one'}")
    assert first.returncode == 0, first.stderr[-3000:]
    assert "python -m trainers.stage2" in first.stdout, "the next command is printed"
    joint = [*common, f"--banks={tmp_path / 'one'}", "--latent_filters=4"]
    joint += ["--calibration_images=8", "--checkpoint_every=2"]

    frozen = run(
        *joint, "--steps=8", "--freeze_trunk", f"--workdir={tmp_path / 'frozen'}", program="stage2"
    )
    assert frozen.returncode == 0, frozen.stderr[-3000:]
    for part in ("L_R of the best linear one", "energy of the maps kept", "Next:"):
        assert part in frozen.stdout
    assert (tmp_path / "frozen" / "pictures" / "class_agnostic.png").stat().st_size > 10_000
    assert not (tmp_path / "frozen" / "model" / "trunk.npz").exists()
    summary = json.loads((tmp_path / "frozen" / "summary.json").read_text())
    assert summary["reconstruction"] < summary["reconstruction_random"]

    whole = [*joint, f"--workdir={tmp_path / 'whole'}", "--encoder_start=random"]
    # In two parts: the second call goes on where the first one stopped, trunk included.
    for steps in (2, 4):
        result = run(*whole, f"--steps={steps}", program="stage2")
        assert result.returncode == 0, result.stderr[-3000:]
    assert "Continued from step 2" in result.stdout
    again = run(*whole, "--steps=4", program="stage2")
    assert "This run is finished: 4 steps" in again.stdout
    moved = anchornet_tf.AnchorNet.from_preset(tmp_path / "whole" / "model")
    kept = anchornet_tf.AnchorNet.from_preset(tmp_path / "frozen" / "model")
    assert moved.classes == kept.classes == ("bird", "cow")
    changes = [
        np.abs(new.numpy() - old.numpy()).max()
        for new, old in zip(
            moved.backbone.trainable_variables, kept.backbone.trainable_variables, strict=True
        )
    ]
    assert 0 < max(changes) < 1e-3
