"""Stage 1's step: the sum of its losses, several classes, resuming, every strategy alike."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.losses.discriminability import auxiliary_loss, discriminability_loss
from anchornet_tf.losses.diversity import filter_diversity_loss, response_diversity_loss
from anchornet_tf.training import loop
from anchornet_tf.training.stage1.step import BankTraining
from benchmarks.workers import free_ports
from tests.repository.tree import ROOT
from tests.training import synthetic


def _assert_close(left, right, tolerance):
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_allclose(
            left[name], right[name], rtol=tolerance, atol=tolerance, err_msg=name
        )


def test_one_step_is_gradient_descent_on_the_weighted_sum(tmp_path):
    config = synthetic.small_config(("bird",), steps=1, momentum=0.0)
    training = BankTraining(config, tf.distribute.get_strategy(), lambda taps: taps)
    (batch,) = synthetic.shard(config, 0, 1, 0)
    bank = training.banks["bird"]
    is_positive = np.arange(8) < 4
    before = [variable.numpy() for variable in bank.trainable_variables]
    with tf.GradientTape() as tape:
        linear = bank.linear(batch)
        maps = tf.nn.softplus(linear)
        parts = {
            "discr": 1.0 * discriminability_loss(maps, is_positive),
            "aux": 10.0 * auxiliary_loss(linear, is_positive),
            "decay": 5e-4 * tf.reduce_sum(bank.kernel.value**2) / 2,
            "div_a": 100.0 * filter_diversity_loss(bank.kernel),
            "div_b": 100.0 * response_diversity_loss(maps, 3.0),
        }
        loss = tf.add_n(list(parts.values()))
    gradients = tape.gradient(loss, [variable.value for variable in bank.trainable_variables])
    shown = training.step(batch)
    _assert_close(
        {name: float(shown[name]) for name in parts}, {n: float(v) for n, v in parts.items()}, 1e-4
    )
    assert float(shown["loss"]) == pytest.approx(float(loss), rel=1e-5)
    for variable, old, gradient in zip(bank.trainable_variables, before, gradients, strict=True):
        np.testing.assert_allclose(variable, old - 0.05 * gradient, rtol=1e-3, atol=1e-5)


def test_classes_with_negatives_of_their_own_are_the_same_as_one_at_a_time():
    config = synthetic.small_config(("bird", "cow"), steps=1)
    rng = np.random.default_rng(0)
    # Positives of both classes, then negatives of both.
    taps = [rng.normal(size=(4 * synthetic.SLOTS, *shape)) for shape in synthetic.SHAPES]
    taps = [np.float32(tap / np.linalg.norm(tap, axis=-1, keepdims=True)) for tap in taps]
    strategy = tf.distribute.get_strategy()
    both = BankTraining(config, strategy, lambda taps: taps, own_negatives=True)
    both.step(taps)
    for place, name in enumerate(config.classes):
        alone = BankTraining(synthetic.small_config((name,), steps=1), strategy, lambda taps: taps)
        rows = np.arange(synthetic.SLOTS) + synthetic.SLOTS * np.array([[place], [place + 2]])
        alone.step([tap[rows.ravel()] for tap in taps])
        for left, right in zip(
            both.banks[name].variables, alone.banks[name].variables, strict=True
        ):
            np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6, err_msg=left.path)


def test_several_classes_at_once_are_the_same_as_one_at_a_time(tmp_path):
    together = synthetic.arrays(
        synthetic.train(synthetic.small_config(("bird", "cow")), tmp_path / "both")
    )
    for name in ("bird", "cow"):
        alone = synthetic.arrays(synthetic.train(synthetic.small_config((name,)), tmp_path / name))
        for part in ("kernel", "bias", "running_mean", "running_square"):
            key = f"{name}/{part}"
            np.testing.assert_allclose(together[key], alone[key], rtol=1e-4, atol=1e-6, err_msg=key)


def test_banks_of_different_classes_start_differently(tmp_path):
    training = BankTraining(
        synthetic.small_config(), tf.distribute.get_strategy(), lambda taps: taps
    )
    kernels = [bank.kernel.numpy() for bank in training.banks.values()]
    assert np.abs(kernels[0] - kernels[1]).max() > 0.01


def test_moments_come_from_the_classs_own_images():
    config = synthetic.small_config(steps=3)
    training = BankTraining(config, tf.distribute.get_strategy(), lambda taps: taps)
    slots, count = 4, len(training.banks)
    batches = [[tap[: slots * count] for tap in taps] for taps in synthetic.shard(config, 0, 1, 0)]
    moments = training.response_moments(batches)
    for index, (name, bank) in enumerate(training.banks.items()):
        place = slice(slots * index, slots * (index + 1))
        own = [bank.linear([tap[place] for tap in taps]) for taps in batches]
        cells = np.concatenate(own)[:, ::2, ::2].reshape(-1, 3)
        mean, covariance = moments[name].statistics()
        np.testing.assert_allclose(mean, cells.mean(0), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(covariance, np.cov(cells.T, bias=True), rtol=1e-4, atol=1e-6)


def test_without_diversity_its_parts_are_absent(tmp_path):
    synthetic.train(synthetic.small_config(steps=1, weight_div_a=0.0, weight_div_b=0.0), tmp_path)
    with open(tmp_path / "metrics.csv") as handle:
        assert set(next(csv.reader(handle))) == {"step", "loss", "discr", "aux", "decay"}


def test_a_resumed_run_ends_with_the_same_weights(tmp_path):
    whole = synthetic.arrays(synthetic.train(synthetic.small_config(), tmp_path / "whole"))
    synthetic.train(synthetic.small_config(steps=4), tmp_path / "parts")
    # What a killed run leaves: rows after its last checkpoint, the last of them cut off.
    with open(tmp_path / "parts" / "metrics.csv", "a") as handle:
        handle.write("5,1,1,1,1,1,1\n6,1,")
    in_parts = synthetic.arrays(synthetic.train(synthetic.small_config(), tmp_path / "parts"))
    _assert_close(whole, in_parts, 0)
    logs = [(tmp_path / name / "metrics.csv").read_text() for name in ("whole", "parts")]
    assert logs[0] == logs[1] and logs[0].count("\n") == 7


def test_filters_find_what_only_the_class_has(tmp_path):
    changes = {"weight_div_a": 0.0, "weight_div_b": 0.0, "weight_aux": 1.0, "learning_rate": 0.5}
    config = synthetic.small_config(steps=60, **changes)
    training = synthetic.train(config, tmp_path)
    with open(tmp_path / "metrics.csv") as handle:
        rows = list(csv.DictReader(handle))
    assert float(rows[-1]["discr"]) < -1 < float(rows[0]["discr"])
    (batch,) = synthetic.shard(synthetic.small_config(("bird",), steps=100), 99, 1, 0)
    maps = training.banks["bird"].linear(batch).numpy()[:4]
    y, x = np.divmod(maps.reshape(4, 64, 3).argmax(axis=1), 8)
    # A 3x3 filter may look at the cell with any of its nine taps.
    assert ((abs(y - 2) <= 1) & (abs(x - 3) <= 1)).all()


def test_a_broken_loss_names_its_part_and_keeps_the_checkpoint(tmp_path):
    synthetic.train(synthetic.small_config(steps=2), tmp_path)
    before = (tmp_path / "checkpoint.npz").read_bytes()
    config = synthetic.small_config(steps=6)
    training = BankTraining(config, tf.distribute.get_strategy(), lambda taps: taps)

    def poisoned(batch):
        parts = training.step(batch)
        return {**parts, "aux": tf.constant(float("nan"))}

    from anchornet_tf.training.run_folder import RunFolder

    with pytest.raises(loop.BrokenLoss, match="step 2 is kept(.|\n)*Received: aux=nan at step 3"):
        loop.run(
            folder=RunFolder(tmp_path),
            variables=training.state(),
            batches_from=lambda start: synthetic.shard(config, start, 1, 0),
            step=poisoned,
            steps=6,
        )
    assert (tmp_path / "checkpoint.npz").read_bytes() == before


def _program(strategy, output, extra=None):
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
        **(extra or {}),
    }
    command = [sys.executable, "-m", "tests.training.distributed_program", strategy, str(output)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def _finish(*processes):
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors[-2000:]


@pytest.mark.slow
def test_every_strategy_gives_the_same_weights_and_losses(tmp_path):
    folders = {name: tmp_path / name for name in ("one", "mirrored", "multiworker")}
    for folder in folders.values():
        folder.mkdir()
    _finish(_program("one", folders["one"]))
    _finish(_program("mirrored", folders["mirrored"]))
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    workers = [
        _program(
            "multiworker",
            folders["multiworker"],
            {
                "TF_CONFIG": json.dumps(
                    {"cluster": cluster, "task": {"type": "worker", "index": index}}
                )
            },
        )
        for index in range(2)
    ]
    _finish(*workers)
    reference = dict(np.load(folders["one"] / "worker0.npz"))
    for path in (
        folders["mirrored"] / "worker0.npz",
        folders["multiworker"] / "worker0.npz",
        folders["multiworker"] / "worker1.npz",
    ):
        _assert_close(dict(np.load(path)), reference, 1e-4)
    logs = [
        np.genfromtxt(folder / "run" / "metrics.csv", delimiter=",", names=True)
        for folder in folders.values()
    ]
    for log in logs[1:]:
        for name in log.dtype.names:
            np.testing.assert_allclose(log[name], logs[0][name], rtol=1e-4, atol=1e-5, err_msg=name)
