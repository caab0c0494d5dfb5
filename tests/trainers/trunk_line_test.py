"""Trunks with random weights through the whole line: PCA, both stages, export, matching."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import anchornet_tf
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.training.fit_pca import fit_pca
from anchornet_tf.training.pca_config import PCAConfig
from anchornet_tf.training.stage1 import run as stage1_run
from anchornet_tf.training.stage1.config import Stage1Config
from anchornet_tf.training.stage2 import run as stage2_run
from anchornet_tf.training.stage2.config import Stage2Config
from anchornet_tf.trunks.backbone import Backbone
from anchornet_tf.utils.image_io import read_image
from export import archive
from tests.trainers.running import write_folder

_SIZE = 64


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("line") / "images"
    return write_folder(folder, ["bird", "cow", "background"], count=50)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, depths, grid",
    [("resnet101", (256, 256, 256), 16), ("convnext_tiny", (96, 256, 256), 16)],
)
def test_the_whole_line(name, depths, grid, images, tmp_path):
    keras.utils.set_random_seed(0)
    backbone = Backbone(name, weights=None)
    backbone.save_to_folder(tmp_path / "trunk")
    weights = str(tmp_path / "trunk")
    data = f"folder:{images}"
    # Of the coarsest tap, 2048 channels need more samples than that.
    fitting = PCAConfig(data=data, image_size=128, trunk=name, positions=16, batch_size=46)
    projections = fit_pca(fitting, backbone)
    assert projections.depths == depths
    projections.save(tmp_path / "pca.npz")

    common = {"data": data, "image_size": _SIZE, "batch_size": 4, "steps": 2, "views": 1}
    common |= {"weights": weights, "heldout_fraction": 0.1}
    first = Stage1Config(
        ("bird", "cow"), trunk=name, pca=str(tmp_path / "pca.npz"), num_filters=6, **common
    )
    stage1_run.train(first, tmp_path / "one", cache_dir=tmp_path / "cache")
    bank = BankFile.load(tmp_path / "one" / "banks" / "bird.npz")
    assert bank.arrays["kernel"].shape == (3, 3, sum(depths), 6)
    assert bank.trunk == {"name": name, "digest": backbone.digest()}

    second = Stage2Config(
        banks=(str(tmp_path / "one"),),
        latent_filters=5,
        freeze_trunk=True,
        calibration_images=8,
        **common,
    )
    stage2_run.train(second, tmp_path / "two", cache_dir=tmp_path / "cache")
    model = anchornet_tf.load(tmp_path / "two" / "model")
    assert model.backbone.trunk.name == name and model.backbone.digest() == backbone.digest()

    pair = [read_image(images / "bird" / f"{index}.png") for index in (0, 1)]
    batch = [image[None].astype(np.uint8) for image in pair]
    exported = archive.save(model, tmp_path / "exported", matcher="nearest", record={})
    loaded = tf.saved_model.load(str(exported))
    features = loaded.signatures["features"](image=tf.constant(batch[0]))["features"]
    assert features.shape == (1, grid, grid, 5)
    expected = model(batch[0])
    np.testing.assert_allclose(features, expected, atol=1e-3 * np.abs(expected).max())
    answer = loaded.signatures["match"](source=tf.constant(batch[0]), target=tf.constant(batch[1]))

    matcher = anchornet_tf.Matcher("anchornet", "nearest", model=model, image_size=_SIZE)
    flow = matcher(*pair)
    assert flow.shape == pair[0].shape[:2] == answer["flow"].shape[1:3]
    # Ties of random features may fall either way.
    same = np.abs(flow.displacement - answer["flow"][0]).max(axis=-1) < 0.5
    assert same.mean() > 0.9
    own = anchornet_tf.get_descriptor(
        "anchornet-class", bank=tmp_path / "one" / "banks" / "bird.npz", image_size=_SIZE
    )
    assert own(pair)[0].values.shape == (grid, grid, 6)
    _wrong_weights(name, tmp_path, second)


def _wrong_weights(name, folder, config):
    other = Backbone(name, weights=None)
    with pytest.raises(ValueError, match=f"weights .* of {name}, which the bank .*Received: "):
        anchornet_tf.AnchorNet.from_banks(
            [BankFile.load(folder / "one" / "banks" / "bird.npz")],
            anchornet_tf.HypercolumnPCA.load(folder / "pca.npz"),
            other,
        )
    trunk = folder / "two" / "model" / "trunk.npz"
    np.savez(trunk, **{key: np.asarray(value) for key, value in other.named_variables().items()})
    with pytest.raises(ValueError, match=f"of {name}, which the model was .*Received: "):
        anchornet_tf.load(folder / "two" / "model")
