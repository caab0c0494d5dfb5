"""Stage 2's step: its losses against a plain formula, rates, resuming, strategies."""

import csv

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.training.stage2.step import JointTraining, trained_variables
from tests.training import synthetic_joint
from tests.training.stage1_step_test import _assert_close, _finish, _program

CLASSES, FILTERS, SLOTS = (
    synthetic_joint.CLASSES,
    synthetic_joint.FILTERS,
    synthetic_joint.SLOTS,
)


def _training(config):
    model = synthetic_joint.small_model(config)
    return JointTraining(config, model, tf.distribute.get_strategy())


def _smooth(maps, sigma):
    place = np.arange(maps.shape[1])
    weights = np.exp(-((place[:, None] - place) ** 2) / (2 * sigma**2))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("ij,bjkc,lk->bilc", weights, maps, weights)


def _overlap(maps, sigma):
    """L_DivB of the maps of one image and bank, (height, width, filters)."""
    flat = _smooth(maps[None], sigma)[0].reshape(-1, maps.shape[-1])
    flat = flat / np.linalg.norm(flat, axis=0)
    squares = (flat.T @ flat) ** 2
    return (squares.sum() - np.trace(squares)) / (FILTERS * (FILTERS - 1))


def _alike(kernel):
    """L_DivA of a kernel (rows, columns, channels, filters)."""
    rows, columns, _, filters = kernel.shape
    unit = kernel / np.linalg.norm(kernel, axis=2, keepdims=True)
    cosines = np.abs(np.einsum("yxci,yxcj->ij", unit, unit)) / (rows * columns)
    return (cosines.sum() - np.trace(cosines)) / (filters * (filters - 1))


@pytest.mark.parametrize("negatives", ["background", "other classes"])
@pytest.mark.parametrize("gamma", ["softplus", "whitened"])
def test_the_parts_are_the_papers_losses(gamma, negatives):
    config = synthetic_joint.small_config(gamma=gamma, noise=0.0)
    training = _training(config)
    model = training.model
    batch = synthetic_joint.batch(0)
    if negatives == "other classes":
        batch["negative_of"] = np.array([1, 0, 2, 1])
    linear = model.linear_responses(batch["taps"]).numpy()
    kernels = [bank.kernel.numpy() for bank in model.banks]
    encoder = model.autoencoder.kernel.numpy()
    stacked = model.gamma_maps(linear).numpy() - model.autoencoder.running_mean.numpy()

    expected = dict.fromkeys(("discr", "aux", "div_b", "recon"), 0.0)
    for image in range(2 * SLOTS):
        by_class = linear[image].reshape(8, 8, len(CLASSES), FILTERS)
        positive = image < SLOTS
        classes = [batch["class_index"][image]] if positive else range(len(CLASSES))
        if not positive and "negative_of" in batch:
            classes = [batch["negative_of"][image - SLOTS]]
        for name in classes:
            maps = np.log1p(np.exp(by_class[:, :, name]))
            # A negative weighs 1/N for each of the N banks; a mean over the images of the batch.
            weight = 1 / len(classes) / (2 * SLOTS)
            sign = 1 if positive else -1
            expected["discr"] += weight * -sign * maps.max(axis=(0, 1)).mean()
            expected["div_b"] += weight * 100 * _overlap(maps, training.sigma)
            if not positive:
                expected["aux"] += 2 * weight * 10 * np.maximum(by_class[:, :, name], 0).mean()
        if positive:
            a = stacked[image]
            b = a @ encoder[0, 0] @ encoder[0, 0].T
            distance = np.sum((a / np.linalg.norm(a) - b / np.linalg.norm(b)) ** 2)
            expected["recon"] += 100 * distance / SLOTS
    expected["div_a"] = 100 * np.mean([_alike(kernel) for kernel in kernels])
    expected["div_enc"] = 100 * _alike(encoder)
    squares = np.mean([np.sum(kernel**2) for kernel in kernels]) + np.sum(encoder**2)
    expected["decay"] = 5e-4 * squares / 2
    energy = np.mean(stacked[:SLOTS] ** 2)

    shown = {name: float(value) for name, value in training.step(batch).items()}
    assert shown.pop("energy") == pytest.approx(energy, rel=1e-4)
    assert shown.pop("loss") == pytest.approx(sum(expected.values()), rel=1e-4)
    assert shown == pytest.approx(expected, rel=1e-4)
    assert float(training.first_energy) == pytest.approx(energy, rel=1e-4)


def test_every_variable_moves_at_its_rate():
    config = synthetic_joint.small_config(momentum=0.0, learning_rate=0.01, lower_rate=0.1)
    training = _training(config)
    batch = synthetic_joint.batch(0)
    before = {variable.path: variable.numpy() for variable in training.variables}
    with tf.GradientTape() as tape:
        parts, _ = training.losses(batch["taps"], batch["class_index"], batch["noise_seed"])
        total = tf.add_n(list(parts.values()))
    gradients = tape.gradient(total, [variable.value for variable in training.variables])
    # The losses move statistics too, which the step's own losses must not see moved.
    fresh = _training(config)
    fresh.step(batch)
    rates = set()
    for variable, gradient in zip(fresh.variables, gradients, strict=True):
        rate = 0.01 if variable.path.startswith("autoencoder/") else 0.001
        rates.add(rate)
        change = variable.numpy() - before[variable.path]
        np.testing.assert_allclose(
            change, -rate * gradient, rtol=1e-3, atol=2e-7, err_msg=variable.path
        )
    assert rates == {0.01, 0.001}


def test_end_to_end_moves_the_trunk_by_the_small_rate_and_keeps_its_statistics():
    config = synthetic_joint.small_config(
        freeze_trunk=False, momentum=0.0, learning_rate=1.0, lower_rate=1e-4
    )
    training = _training(config)
    resnet, hypercolumn = training.model.backbone, training.model.hypercolumn_layer
    images = np.random.default_rng(1).uniform(0, 255, (2 * SLOTS, 32, 32, 3)).astype(np.float32)
    batch = {**synthetic_joint.batch(0), "images": images}
    del batch["taps"]
    before = {variable.path: variable.numpy() for variable in training.model.variables}
    with tf.GradientTape() as tape:
        taps = training.model.taps(images)
        parts, _ = training.losses(taps, batch["class_index"], batch["noise_seed"])
        total = tf.add_n(list(parts.values()))
    kernel = next(v for v in resnet.trainable_variables if v.path == "conv1_conv/kernel")
    gradient = tape.gradient(total, kernel.value).numpy()
    for bank in training.model.banks:
        bank.running_mean.assign(before[bank.running_mean.path])
        bank.running_square.assign(before[bank.running_square.path])
    training.model.autoencoder.running_mean.assign(before["autoencoder/running_mean"])
    training.step(batch)
    change = kernel.numpy() - before["conv1_conv/kernel"]
    assert np.abs(change).max() > 0
    np.testing.assert_allclose(change, -1e-4 * gradient, atol=2e-2 * 1e-4 * np.abs(gradient).max())
    for variable in resnet.non_trainable_variables + hypercolumn.variables:
        np.testing.assert_array_equal(variable.numpy(), before[variable.path])


def test_what_is_trained():
    def paths(**changes):
        config = synthetic_joint.small_config(**changes)
        return {v.path for v in trained_variables(model, config)}

    model = synthetic_joint.small_model(synthetic_joint.small_config())
    frozen = paths()
    assert frozen == {"autoencoder/kernel"} | {
        f"bank_{name}/{part}" for name in CLASSES for part in ("kernel", "bias")
    }
    whole = paths(freeze_trunk=False)
    assert {"conv1_conv/kernel", "conv5_block3_3_bn/gamma"} <= whole - frozen
    assert not any("pca" in path or "moving" in path for path in whole)
    pca = paths(freeze_trunk=False, train_pca=True) - whole
    assert len(pca) == 6 and all("pca" in path for path in pca)


def test_statistics_follow_the_banks_that_have_positives():
    training = _training(synthetic_joint.small_config())
    batch = {**synthetic_joint.batch(0), "class_index": np.int64([0, 0, 2, 0])}
    banks = training.model.banks
    before = [bank.running_mean.numpy() for bank in banks]
    linear = training.model.linear_responses(batch["taps"]).numpy()
    training.step(batch)
    own = linear[[0, 1, 3], :, :, :FILTERS].mean(axis=(0, 1, 2))
    np.testing.assert_allclose(
        banks[0].running_mean, before[0] + 0.02 * (own - before[0]), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_array_equal(banks[1].running_mean, before[1])
    third = linear[2, :, :, 2 * FILTERS :].mean(axis=(0, 1))
    np.testing.assert_allclose(
        banks[2].running_mean, before[2] + 0.02 * (third - before[2]), rtol=1e-4, atol=1e-6
    )


def test_a_resumed_run_ends_with_the_same_weights(tmp_path):
    def arrays(training):
        # The random trunk is frozen and no part of the state.
        return {name: np.asarray(value) for name, value in training.state().items()}

    whole = arrays(synthetic_joint.train(synthetic_joint.small_config(), tmp_path / "whole"))
    synthetic_joint.train(synthetic_joint.small_config(steps=4), tmp_path / "parts")
    in_parts = arrays(synthetic_joint.train(synthetic_joint.small_config(), tmp_path / "parts"))
    _assert_close(whole, in_parts, 0)
    logs = [(tmp_path / name / "metrics.csv").read_text() for name in ("whole", "parts")]
    assert logs[0] == logs[1] and logs[0].count("\n") == 7


def test_without_weight_a_part_is_absent(tmp_path):
    config = synthetic_joint.small_config(
        steps=1, weight_div_a=0.0, weight_div_b=0.0, weight_div_encoder=0.0
    )
    synthetic_joint.train(config, tmp_path)
    with open(tmp_path / "metrics.csv") as handle:
        header = set(next(csv.reader(handle)))
    assert header == {"step", "loss", "discr", "aux", "decay", "recon", "energy"}


@pytest.mark.slow
def test_two_devices_give_the_weights_and_losses_of_one(tmp_path):
    for name in ("one", "mirrored"):
        (tmp_path / name).mkdir()
        _finish(_program(name, tmp_path / name, {"ANCHORNET_TEST_STAGE": "2"}))
    left, right = (dict(np.load(tmp_path / name / "worker0.npz")) for name in ("one", "mirrored"))
    _assert_close(left, right, 1e-4)
    logs = [
        np.genfromtxt(tmp_path / name / "run" / "metrics.csv", delimiter=",", names=True)
        for name in ("one", "mirrored")
    ]
    for column in logs[0].dtype.names:
        np.testing.assert_allclose(logs[0][column], logs[1][column], rtol=1e-3, atol=1e-4)
