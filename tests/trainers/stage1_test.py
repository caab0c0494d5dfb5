"""Stage 1 as a user meets it: help, wrong input, a run, a killed run, a finished run."""

import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.repository.tree import ROOT
from tests.trainers.running import ENVIRONMENT, command, run, write_folder


def test_help_reads_without_tensorflow():
    result = run("--help")
    for part in (
        "--class",
        "--background",
        "--label_map",
        "--[no]dry_run",
        "--num_filters",
        "--strategy",
        "--[no]cache_features",
    ):
        assert part in result.stdout
    check = "import sys, trainers.stage1; assert 'tensorflow' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", check], cwd=ROOT).returncode == 0


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--class=brid"], "did you mean 'bird'? Received: 'brid'"),
        (["--num_filters=0"], "`num_filters` must be a positive integer. Received: 0"),
        (["bird"], "Expected flags only; --help lists them. Received: bird"),
        (
            ["--strategy=cloud"],
            "--strategy must be one of auto, one, mirrored, multiworker. Received: cloud",
        ),
    ],
)
def test_wrong_flags(flags, message):
    result = run(*flags)
    assert result.returncode != 0
    assert message in result.stdout + result.stderr


@pytest.mark.parametrize("trouble", ["no folder", "no such class", "missing files", "wrong header"])
def test_wrong_data_is_found_before_training(trouble, tmp_path):
    from anchornet_tf.training.stage1 import run as stage1_run
    from anchornet_tf.training.stage1.config import Stage1Config

    data = f"folder:{tmp_path / 'images'}"
    if trouble == "no such class":
        write_folder(tmp_path / "images", ["cow", "background"])
    elif trouble in ("missing files", "wrong header"):
        header = "path,labels" if trouble == "missing files" else "file;label"
        (tmp_path / "labels.csv").write_text(f"{header}\nnone.jpg,bird\n")
        data = f"manifest:{tmp_path / 'labels.csv'}"
    with pytest.raises((ValueError, OSError), match="Received: "):
        stage1_run.train(Stage1Config(("bird",), data), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def _flags(data, workdir, cache):
    return [
        f"--data=folder:{data}",
        f"--workdir={workdir}",
        f"--cache_dir={cache}",
        "--class=bird,cow",
        "--image_size=64",
        "--num_filters=6",
        "--steps=60",
        "--batch_size=4",
        "--checkpoint_every=5",
        "--heldout_fraction=0.3",
    ]


@pytest.mark.slow
def test_a_killed_run_continues_and_ends_with_the_same_weights(tmp_path):
    data = write_folder(tmp_path / "images", ["bird", "cow", "background"], count=12)
    whole = run(*_flags(data, tmp_path / "whole", tmp_path / "cache"))
    assert whole.returncode == 0, whole.stderr[-3000:]
    noise = [
        line for line in re.split("[\r\n]+", whole.stderr) if line.strip() and "%|" not in line
    ]
    assert not noise, "progress bars and nothing else"
    for part in ("average precision", "Next:", "banks", "pictures"):
        assert part in whole.stdout
    for name in ("bird", "cow"):
        assert (tmp_path / "whole" / "pictures" / f"{name}.png").stat().st_size > 10_000

    flags = _flags(data, tmp_path / "killed", tmp_path / "cache")
    process = subprocess.Popen(
        command(*flags), cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.DEVNULL
    )
    checkpoint = tmp_path / "killed" / "checkpoint.npz"
    while not checkpoint.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed" / "banks").exists(), (
        "the run was killed too late to tell anything"
    )
    resumed = run(*flags)
    assert resumed.returncode == 0, resumed.stderr[-3000:]
    assert "Continued from step" in resumed.stdout
    for name in ("bird", "cow"):
        left, right = (
            np.load(tmp_path / run / "banks" / f"{name}.npz") for run in ("whole", "killed")
        )
        for array in ("kernel", "bias", "running_mean", "running_square", "equalizer"):
            np.testing.assert_array_equal(left[array], right[array])
        # The bank that is kept has measured statistics, near the running ones and not the same.
        running = np.load(tmp_path / "whole" / "checkpoint.npz")[f"{name}/running_mean"]
        distance = np.abs(left["running_mean"] - running)
        assert 0 < distance.max() < 0.5 * np.sqrt(left["running_square"].max())
        assert np.abs(left["equalizer"] - np.eye(6)).max() > 0.01
    logs = [(tmp_path / run / "metrics.csv").read_text() for run in ("whole", "killed")]
    assert logs[0] == logs[1]

    finished = run(*flags)
    assert finished.returncode == 0 and "This run is finished: 60 steps" in finished.stdout
    other = run(*flags, "--num_filters=7")
    assert other.returncode != 0 and "num_filters 6 there, 7 here" in other.stderr


@pytest.mark.slow
def test_a_run_with_the_live_trunk_ends_with_calibrated_banks(tmp_path):
    data = write_folder(tmp_path / "images", ["bird", "cow", "background"], count=4)
    flags = _flags(data, tmp_path / "run", tmp_path / "cache")
    result = run(*flags, "--nocache_features", "--steps=3")
    assert result.returncode == 0, result.stderr[-3000:]
    assert not (tmp_path / "cache").exists()
    for name in ("bird", "cow"):
        bank = np.load(tmp_path / "run" / "banks" / f"{name}.npz")
        # After three steps the running average is still near where it starts, at one.
        running = np.load(tmp_path / "run" / "checkpoint.npz")[f"{name}/running_square"]
        assert np.abs(bank["running_square"] - running).min() > 0.1
        assert np.abs(bank["equalizer"] - np.eye(6)).max() > 0.01
