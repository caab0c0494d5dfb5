"""Stage 2 with a model among the banks, on drawn images and a random trunk."""

import json

import numpy as np
import pytest

from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.training.stage2 import run as stage2_run
from anchornet_tf.training.stage2.banks import split_model
from anchornet_tf.training.stage2.config import Stage2Config
from anchornet_tf.trunks import pca
from anchornet_tf.trunks.backbone import TAP_CHANNELS, Backbone
from tests.trainers.running import write_folder

DIMENSIONS, FILTERS, LATENT = 4, 3, 4


def _projections(seed=0):
    rng = np.random.default_rng(seed)
    taps = []
    for channels in TAP_CHANNELS:
        components, _ = np.linalg.qr(rng.normal(size=(channels, DIMENSIONS)))
        taps.append(pca.TapPCA(np.zeros(channels), components, np.ones(DIMENSIONS), 1.0))
    return pca.HypercolumnPCA(tuple(taps), {})


def _bank(name, projections, filters=FILTERS):
    arrays = {part: np.zeros(filters, np.float32) for part in ("bias", "running_mean")}
    arrays["running_square"] = np.ones(filters, np.float32)
    shape = (3, 3, 3 * DIMENSIONS, filters)
    kernel = np.random.default_rng([*name.encode()]).normal(size=shape)
    return BankFile(name, arrays | {"kernel": np.float32(kernel)}, projections.digest(), {})


def _write_run(folder, names, seed=0, filters=FILTERS):
    projections = _projections(seed)
    projections.save(folder / "pca.npz")
    for name in names:
        _bank(name, projections, filters).save(folder / "banks" / f"{name}.npz")
    # Runs and models both have a configuration.
    (folder / "config.json").write_text("{}")
    return str(folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model of cow and car, stage 1 runs, and images of birds and background."""
    folder = tmp_path_factory.mktemp("extension")
    projections = _projections()
    model = AnchorNet.from_banks(
        [_bank(name, projections) for name in ("cow", "car")],
        projections,
        Backbone(weights=None),
        LATENT,
        gamma="whitened",
        image_size=64,
    )
    model.save_to_preset(folder / "model")
    _write_run(folder / "bird", ["bird"])
    _write_run(folder / "cow", ["cow"])
    _write_run(folder / "many", ["bird"], filters=FILTERS + 1)
    _write_run(folder / "other", ["bird"], seed=1)
    write_folder(folder / "images", ["bird", "background"], count=12)
    return folder


def _config(place, *banks):
    return Stage2Config(
        banks=[str(place / name) for name in banks],
        data=f"folder:{place / 'images'}",
        image_size=64,
        heldout_fraction=0.3,
        batch_size=4,
        calibration_images=8,
        added_filters=2,
    )


def test_a_class_is_added_without_a_step(place, tmp_path, capsys):
    config = _config(place, "model", "bird")
    summary = stage2_run.train(config, tmp_path / "run")
    printed = capsys.readouterr().out
    assert "Adds bird to the model among --banks. No gradient step is taken" in printed
    assert "3 classes, bird among them; descriptor 4 + 2." in printed
    assert f"--option=model={tmp_path / 'run' / 'model'}" in printed
    assert summary["classes"] == ["cow", "car", "bird"] and summary["steps"] == 0
    assert summary["told_by_old"] < 1 and 0 < summary["added_by_new"] < 1
    assert json.loads((tmp_path / "run" / "summary.json").read_text()) == summary

    old = AnchorNet.from_preset(place / "model")
    new = AnchorNet.from_preset(tmp_path / "run" / "model")
    images = np.random.default_rng(0).integers(0, 256, (1, 64, 64, 3), dtype=np.uint8)
    np.testing.assert_allclose(new(images)[..., :LATENT], old(images), rtol=1e-4, atol=1e-5)
    for moved, kept in zip(new.backbone.variables, old.backbone.variables, strict=True):
        np.testing.assert_array_equal(moved, kept)

    written = (tmp_path / "run" / "model" / "heads.npz").stat().st_mtime_ns
    assert stage2_run.train(config, tmp_path / "run") == summary
    again = capsys.readouterr().out
    assert f"This run is finished: {tmp_path / 'run'}." in again and "Next:" in again
    assert (tmp_path / "run" / "model" / "heads.npz").stat().st_mtime_ns == written


@pytest.mark.parametrize(
    "banks, message",
    [
        (("model", "cow"), "the model does not have. Received: cow"),
        (("model", "many"), "one number of filters for all classes. Received: 4 of depth 12"),
        (("model", "other"), "PCA of the model. Received: "),
        (("model",), "--banks=.*model,runs/stage1-bird. Received: .*model alone"),
        (("model", "bird", "model"), "at most one model .* Received: "),
        (("model", "nowhere"), "finished run .* or a model .* Received: .*nowhere"),
    ],
)
def test_what_does_not_fit_is_found_before_anything_is_written(place, tmp_path, banks, message):
    with pytest.raises(ValueError, match=message):
        stage2_run.train(_config(place, *banks), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_models_are_told_from_runs(place, tmp_path, monkeypatch):
    model, bird = str(place / "model"), str(place / "bird")
    assert split_model([bird, model]) == (model, [bird])
    assert split_model([bird]) == (None, [bird])
    assert split_model(["voc20", bird]) == ("voc20", [bird])
    # A run of the same name as a preset is a run.
    _write_run(tmp_path / "voc20", ["cow"])
    monkeypatch.chdir(tmp_path)
    assert split_model(["voc20", bird]) == (None, ["voc20", bird])
