"""The report on the class-agnostic layer: bounds in the right order, known cases, the picture."""

import dataclasses

import numpy as np
import pytest
from PIL import Image

from anchornet_tf.losses.diversity import filter_diversity_loss
from anchornet_tf.training.stage1.report import HeldOut
from anchornet_tf.training.stage2 import report as stage2_report
from tests.training import synthetic_joint


@pytest.fixture
def model():
    return synthetic_joint.small_model(synthetic_joint.small_config())


@pytest.fixture(scope="module")
def held_out():
    rng = np.random.default_rng(0)
    taps = [rng.normal(size=(8, *shape)).astype(np.float32) for shape in synthetic_joint.SHAPES]
    labels = np.zeros((8, 20), bool)
    labels[[0, 1, 2, 3, 4, 5], [2, 2, 9, 9, 11, 11]] = True
    images = rng.integers(0, 256, (8, 32, 32, 3), dtype=np.uint8)
    return HeldOut(images, labels, ~labels, tuple(taps))


def _all_maps(model, held_out):
    maps = stage2_report.stacked_maps(model, [tap[:6] for tap in held_out.taps])
    return maps.reshape(-1, maps.shape[-1])


def test_stacked_maps_are_gamma_at_every_other_cell(model, held_out):
    maps = stage2_report.stacked_maps(model, held_out.taps)
    whole = model.gamma_maps(model.linear_responses(held_out.taps)).numpy()
    np.testing.assert_allclose(maps, whole[:, ::2, ::2], rtol=1e-6)


def test_an_encoder_of_the_principal_directions_is_the_best(model, held_out):
    before = stage2_report.summarise(model, held_out)
    assert before["images"] == 6, "background does not count"
    assert before["encoder_cosine"] == pytest.approx(
        float(filter_diversity_loss(model.autoencoder.kernel))
    )
    model.fit_encoder([_all_maps(model, held_out)])
    after = stage2_report.summarise(model, held_out)
    assert after["reconstruction"] == pytest.approx(after["reconstruction_best"], rel=1e-4)
    assert after["encoder_cosine"] < 1e-5
    assert after["reconstruction_best"] < 0.8 * after["reconstruction_random"]
    assert before["reconstruction_best"] == pytest.approx(after["reconstruction_best"], rel=1e-4)
    assert before["reconstruction"] > before["reconstruction_best"]


def test_reconstruction_is_the_mean_of_two_minus_two_cosines(model, held_out):
    summary = stage2_report.summarise(model, held_out)
    kernel = model.autoencoder.kernel.numpy()[0, 0]
    losses = []
    for image in range(6):
        a = stage2_report.stacked_maps(model, [tap[[image]] for tap in held_out.taps])
        a = a - model.autoencoder.running_mean.numpy()
        b = a @ kernel @ kernel.T
        losses.append(2 - 2 * np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b))
    assert summary["reconstruction"] == pytest.approx(np.mean(losses), rel=1e-4)


def test_picture(model, held_out, tmp_path):
    path = stage2_report.draw_filters(
        model, held_out, [2, 9, 11], tmp_path / "picture.png", filters=2
    )
    with Image.open(path) as picture:
        assert picture.width > picture.height > 300, "three columns, two rows"
    nobody = dataclasses.replace(held_out, labels=np.zeros_like(held_out.labels))
    with pytest.raises(ValueError, match="Received: none"):
        stage2_report.draw_filters(model, nobody, [2, 9, 11], tmp_path / "none.png")
