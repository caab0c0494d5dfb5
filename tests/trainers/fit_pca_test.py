"""The PCA program on a folder of drawn images, with the real trunk."""

import pytest

import anchornet_tf
from anchornet_tf.training import fit_pca
from anchornet_tf.training.pca_config import PCAConfig
from anchornet_tf.trunks import pca
from anchornet_tf.utils.image_io import read_image
from tests.trainers.running import run, write_folder


def test_too_few_images_are_found_before_the_trunk_runs(tmp_path, monkeypatch):
    def refuse(weights):
        raise AssertionError("the trunk must not be made")

    monkeypatch.setattr(fit_pca, "Backbone", refuse)
    data = f"folder:{write_folder(tmp_path / 'images', ['bird', 'background'], count=10)}"
    with pytest.raises(ValueError, match="1024 channels of res4c.*Received: 600 samples"):
        fit_pca.fit_pca(PCAConfig(data=data, num_images=10))
    # However many positions are asked for, res5c has 49 cells per image at this size.
    with pytest.raises(ValueError, match="2048 channels of res5c.*Received: 490 samples"):
        fit_pca.fit_pca(PCAConfig(data=data, num_images=10, positions=110))


@pytest.mark.slow
def test_fits(tmp_path):
    data = write_folder(tmp_path / "images", ["bird", "background"], count=30, size=224)
    output = tmp_path / "pca.npz"
    result = run(f"--data=folder:{data}", f"--output={output}", program="fit_pca")
    assert result.returncode == 0, result.stderr[-3000:]
    assert "Variance kept: res2c 1.000" in result.stdout and "Next:" in result.stdout
    fitted = pca.HypercolumnPCA.load(output)
    assert fitted.taps[0].variance_kept == pytest.approx(1, abs=1e-3)
    assert all(0.5 < tap.variance_kept < 1 for tap in fitted.taps[1:])


@pytest.mark.slow
def test_a_smaller_pca_goes_through_both_stages(tmp_path):
    data = write_folder(tmp_path / "images", ["bird", "cow", "background"], count=30)
    common = [f"--data=folder:{data}"]
    fitted = tmp_path / "pca.npz"
    result = run(*common, f"--output={fitted}", "--dimensions=32", program="fit_pca")
    assert result.returncode == 0, result.stderr[-3000:]
    common += [f"--cache_dir={tmp_path / 'cache'}", "--batch_size=4", "--steps=2", "--views=1"]
    common += ["--image_size=96"]
    stage1 = ["--class=bird,cow", "--num_filters=6", f"--pca={fitted}"]
    result = run(*common, *stage1, f"--workdir={tmp_path / 'one'}")
    assert result.returncode == 0, result.stderr[-3000:]
    stage2 = ["--freeze_trunk", "--latent_filters=4", "--calibration_images=8"]
    stage2 += [f"--banks={tmp_path / 'one'}", f"--workdir={tmp_path / 'two'}"]
    result = run(*common, *stage2, program="stage2")
    assert result.returncode == 0, result.stderr[-3000:]
    model = anchornet_tf.load(tmp_path / "two" / "model")
    assert model.banks[0].kernel.shape[2] == 3 * 32
    bank = tmp_path / "one" / "banks" / "bird.npz"
    describe = anchornet_tf.get_descriptor("anchornet-class", bank=bank, image_size=96)
    assert describe([read_image(data / "bird" / "0.png")])[0].values.shape[-1] == 6


def test_help_reads():
    result = run("--help", program="fit_pca")
    assert "--num_images" in result.stdout and "python -m trainers.fit_pca" in result.stdout
