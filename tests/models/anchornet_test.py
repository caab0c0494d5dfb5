"""The whole network: outputs against the layers it is made of, saving, loading, joining banks."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.layers.anchor_bank import AnchorBank
from anchornet_tf.layers.hypercolumn import Hypercolumn, stack
from anchornet_tf.models import anchornet_folder
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.trunks import pca
from anchornet_tf.trunks.backbone import TAP_CHANNELS, Backbone

DIMENSIONS, FILTERS, LATENT = 8, 3, 4
CLASSES = ("bird", "cow")


@pytest.fixture(scope="module")
def backbone():
    return Backbone(weights=None)


@pytest.fixture(scope="module")
def projections():
    rng = np.random.default_rng(0)
    taps = []
    for channels in TAP_CHANNELS:
        components, _ = np.linalg.qr(rng.normal(size=(channels, DIMENSIONS)))
        taps.append(pca.TapPCA(rng.normal(size=channels), components, np.ones(DIMENSIONS), 1.0))
    return pca.HypercolumnPCA(tuple(taps), {})


def _bank_file(class_name, digest, *, filters=FILTERS, seed=0):
    rng = np.random.default_rng((seed, len(class_name)))
    mean = rng.normal(size=filters)
    arrays = {
        "kernel": rng.normal(size=(3, 3, 3 * DIMENSIONS, filters)),
        "bias": rng.normal(size=filters),
        "running_mean": mean,
        "running_square": mean**2 + rng.uniform(0.5, 2, size=filters),
    }
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    return BankFile(class_name, arrays, digest, {})


@pytest.fixture(scope="module")
def files(projections):
    return [_bank_file(name, projections.digest()) for name in CLASSES]


def _model(files, projections, backbone, **options):
    model = AnchorNet.from_banks(files, projections, backbone, LATENT, **options)
    model.autoencoder.running_mean.assign(np.linspace(-1, 1, FILTERS * len(files)))
    return model


@pytest.fixture(scope="module")
def model(files, projections, backbone):
    return _model(files, projections, backbone, image_size=(64, 48))


def _images(height=64, width=48, batch=2):
    rng = np.random.default_rng(1)
    return rng.integers(0, 256, (batch, height, width, 3), dtype=np.uint8)


def _close(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)


def test_outputs_are_those_of_the_composed_layers(model, files, projections, backbone):
    images = _images(45, 71, batch=1)
    hypercolumn = Hypercolumn(DIMENSIONS, fitted=projections)
    taps = hypercolumn.project(backbone(images))
    for tap, expected in zip(model.taps(images), taps, strict=True):
        _close(tap, expected)
    _close(model.hypercolumn(images), stack(taps))
    maps = np.concatenate([file.bank("softplus")(taps) for file in files], axis=-1)
    _close(model.stacked_maps(images), maps)
    kernel = model.autoencoder.kernel.numpy()[0, 0]
    descriptor = (maps - np.linspace(-1, 1, 6)) @ kernel
    _close(model.features(images), descriptor)
    _close(model(images), descriptor)


def test_responses_of_one_class(model, files):
    images = _images(32, 32, batch=1)
    taps = model.taps(images)
    for response in ("linear", "softplus", "whitened"):
        _close(model.class_responses(images, "cow", response), files[1].bank(response)(taps))
    # Nothing has been evened out yet.
    _close(model.class_responses(images, "bird"), files[0].bank("whitened")(taps))


def test_equalizers_even_out_what_the_descriptors_do_on_training_images(
    files, projections, backbone
):
    model = _model(files, projections, backbone, gamma="whitened")
    images = _images(96, 96, batch=4)
    linear = model.linear_responses(model.taps(images)).numpy()
    whitened = [
        bank.whiten(linear[..., 3 * i : 3 * i + 3]).numpy() for i, bank in enumerate(model.banks)
    ]
    code = model(images).numpy()
    classes = np.array([0, 1, 1, 0])
    model.fit_equalizers([(linear[:2], classes[:2]), (linear[2:], classes[2:])])

    def expected(values, seen):
        cells = seen.reshape(-1, seen.shape[-1])
        covariance = np.cov(cells.T, bias=True)
        covariance /= np.trace(covariance) / len(covariance)
        variance, directions = np.linalg.eigh(covariance)
        return values @ (directions * np.maximum(variance, 1e-3) ** -0.25) @ directions.T

    _close(model(images), expected(code, code))
    for index, name in enumerate(CLASSES):
        seen = whitened[index][classes == index]
        _close(model.class_responses(images, name), expected(whitened[index], seen))
        _close(model.class_responses(images, name, "whitened"), whitened[index])
    with pytest.raises(ValueError, match="every class. Received: none of \\['cow'\\]"):
        model.fit_equalizers([(linear, np.zeros(4, int))])


@pytest.mark.parametrize("size", [(32, 32), (33, 70)])
def test_any_size(model, size):
    shape = (2, -(-size[0] // 4), -(-size[1] // 4), LATENT)
    assert model(_images(*size)).shape == shape
    assert model.compute_output_shape((2, *size, 3)) == shape


def test_whitened_maps_can_be_stacked(files, projections, backbone):
    model = _model(files, projections, backbone, gamma="whitened")
    taps = model.taps(_images())
    maps = np.concatenate([file.bank("whitened")(taps) for file in files], axis=-1)
    _close(model.stacked_maps(_images()), maps)
    _close(model(_images()), model.autoencoder.encode(maps))


def test_float_images_in_a_graph_of_unknown_size(model):
    signature = [tf.TensorSpec((None, None, None, 3), tf.float32)]
    compute = tf.function(model.features, input_signature=signature)
    for size in ((64, 48), (40, 33)):
        images = _images(*size)
        _close(compute(images.astype(np.float32)), model(images))


def test_fits_into_a_functional_model(model):
    inputs = keras.Input((None, None, 3), dtype="uint8")
    outputs = model(inputs)
    assert outputs.shape == (None, None, None, LATENT)
    _close(keras.Model(inputs, outputs)(_images()), model(_images()))


def test_gradients_reach_every_trainable_variable(model):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(model(_images())))
    variables = [variable.value for variable in model.trainable_variables]
    missing = [
        variable.path
        for variable, gradient in zip(
            model.trainable_variables, tape.gradient(loss, variables), strict=True
        )
        if gradient is None
    ]
    assert missing == []
    assert {"bank_bird/kernel", "autoencoder/kernel"} <= {
        variable.path for variable in model.trainable_variables
    }


def test_keras_file_round_trip(model, tmp_path, monkeypatch):
    model.save(tmp_path / "model.keras")
    monkeypatch.setattr(
        "anchornet_tf.trunks.pretrained.load_imagenet", lambda: pytest.fail("fetched")
    )
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(_images()), model(_images()), rtol=1e-5, atol=1e-6)
    assert loaded.get_config() == model.get_config()
    assert (loaded.classes, loaded.image_size) == (CLASSES, (64, 48))
    np.testing.assert_array_equal(
        loaded.autoencoder.running_mean, model.autoencoder.running_mean.numpy()
    )


def test_folder_round_trip_with_its_trunk(model, tmp_path):
    model.save_to_preset(tmp_path / "model", record={"steps": 7})
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "config.json",
        "heads.npz",
        "trunk.npz",
    }
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["trunk"] == "stored" and config["record"] == {"steps": 7}
    loaded = AnchorNet.from_preset(tmp_path / "model")
    np.testing.assert_allclose(loaded(_images()), model(_images()), rtol=1e-5, atol=1e-6)
    assert loaded.options() == model.options()
    with pytest.raises(FileExistsError, match="Received: .*model"):
        model.save_to_preset(tmp_path / "model")


@pytest.fixture
def known_trunk(backbone, monkeypatch):
    """Makes the random trunk pass for the ImageNet one."""
    digest = anchornet_folder.digest(anchornet_folder.trunk_arrays(backbone))
    monkeypatch.setattr(anchornet_folder, "IMAGENET_DIGEST", digest)


def test_classes_of_any_name(projections, backbone, tmp_path):
    names = ["French horn", "a/b", "キリン", "a b", "a_b", "$"]
    files = [_bank_file(name, projections.digest()) for name in names]
    model = _model(files, projections, backbone)
    model.save_to_preset(tmp_path / "model", include_trunk=True)
    model.save(tmp_path / "model.keras")
    images = _images()
    others = (
        AnchorNet.from_preset(tmp_path / "model"),
        keras.models.load_model(tmp_path / "model.keras"),
    )
    for other in others:
        assert list(other.classes) == names
        _close(model(images), other(images))
        for name in names:
            _close(model.class_responses(images, name), other.class_responses(images, name))
    bank = files[2]
    bank.save(tmp_path / "bank.npz")
    assert BankFile.load(tmp_path / "bank.npz").class_name == "キリン"
    assert bank.bank().name.isascii()


def test_folder_without_the_known_trunk(model, backbone, known_trunk, tmp_path, monkeypatch):
    model.save_to_preset(tmp_path / "small")
    assert not (tmp_path / "small" / "trunk.npz").exists()
    assert json.loads((tmp_path / "small" / "config.json").read_text())["trunk"] == "imagenet"
    loaded = AnchorNet.from_preset(tmp_path / "small", weights=backbone)
    np.testing.assert_array_equal(loaded(_images()), model(_images()))
    model.save_to_preset(tmp_path / "whole", include_trunk=True)
    assert (tmp_path / "whole" / "trunk.npz").exists()
    # From here on the random trunk does not pass for the ImageNet one.
    monkeypatch.setattr(anchornet_folder, "IMAGENET_DIGEST", "other")
    with pytest.raises(ValueError, match="Expected Keras' ImageNet weights.*Received: other"):
        AnchorNet.from_preset(tmp_path / "small", weights=backbone)
    with pytest.raises(ValueError, match="include_trunk=False with other weights"):
        model.save_to_preset(tmp_path / "lost", include_trunk=False)
    assert not (tmp_path / "lost").exists()


def test_half_precision_is_for_kernels_only(model, backbone, known_trunk, tmp_path):
    model.save_to_preset(tmp_path / "half", dtype="float16")
    with np.load(tmp_path / "half" / "heads.npz") as archive:
        dtypes = {name: archive[name].dtype for name in archive.files}
    assert len(dtypes) == 3 * 2 + 2 * 4 + 2 + 3, "PCA, banks, autoencoder, equalizers"
    for name, dtype in dtypes.items():
        assert dtype == (np.float16 if name.endswith("kernel") else np.float32), name
    loaded = AnchorNet.from_preset(tmp_path / "half", weights=backbone)
    descriptor, expected = np.asarray(loaded(_images())), np.asarray(model(_images()))
    assert np.abs(descriptor - expected).max() < 1e-2 * np.abs(expected).max()
    with pytest.raises(ValueError, match="Received: 'float8'"):
        model.save_to_preset(tmp_path / "other", dtype="float8")


def test_bad_folders(model, backbone, known_trunk, tmp_path):
    with pytest.raises(ValueError, match="Received: .*none"):
        AnchorNet.from_preset(tmp_path / "none")
    folder = tmp_path / "model"
    model.save_to_preset(folder)
    config = json.loads((folder / "config.json").read_text())
    with np.load(folder / "heads.npz") as archive:
        heads = {name: archive[name] for name in archive.files}
    heads["bank/cow/bias"] = np.zeros(5, np.float32)
    np.savez(folder / "heads.npz", **heads)
    with pytest.raises(ValueError, match=r"\('bank/cow/bias', \(3,\)\).*Received: .*\(5,\)"):
        AnchorNet.from_preset(folder, weights=backbone)
    (folder / "heads.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="Expected a folder .*Received: .*model"):
        AnchorNet.from_preset(folder, weights=backbone)
    (folder / "config.json").write_text(json.dumps({**config, "format": "other"}))
    with pytest.raises(ValueError, match="its format is 'other'"):
        AnchorNet.from_preset(folder, weights=backbone)


def test_encoder_from_banks_starts_orthogonal_by_its_seed(files, projections, backbone):
    kernels = [
        AnchorNet.from_banks(files, projections, backbone, LATENT, seed).autoencoder.kernel.numpy()
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(kernels[0], kernels[1])
    assert np.abs(kernels[0] - kernels[2]).max() > 0.1
    np.testing.assert_allclose(kernels[0][0, 0].T @ kernels[0][0, 0], np.eye(LATENT), atol=1e-5)


def test_fit_encoder_is_the_pca_of_the_maps(files, projections, backbone):
    model = _model(files, projections, backbone)
    rng = np.random.default_rng(3)
    maps = (rng.normal(size=(4, 5, 6, 6)) @ rng.normal(size=(6, 6)) + 2).astype(np.float32)
    fitted = model.fit_encoder([maps[:1], tf.constant(maps[1:])])
    cells = maps.reshape(-1, 6).astype(np.float64)
    np.testing.assert_allclose(model.autoencoder.running_mean, cells.mean(axis=0), rtol=1e-5)
    centred = cells - cells.mean(axis=0)
    _, strengths, directions = np.linalg.svd(centred, full_matrices=False)
    best = centred @ directions[:LATENT].T @ directions[:LATENT]
    reconstructed = model.autoencoder.reconstruct(model.autoencoder.centre(maps))
    np.testing.assert_allclose(np.reshape(reconstructed, (-1, 6)), best, atol=1e-4)
    share = (strengths[:LATENT] ** 2).sum() / (strengths**2).sum()
    assert fitted.variance_kept == pytest.approx(share, rel=1e-6)
    with pytest.raises(ValueError, match="Expected more than 6 samples"):
        model.fit_encoder([maps[0, 0]])


def test_mismatched_banks(files, projections, backbone):
    digest = projections.digest()
    cases = {
        r"Received: several of bird": [files[0], files[0]],
        r"shape and number. Received: .*'dog'": [
            files[0],
            _bank_file("dog", digest, filters=FILTERS + 1),
        ],
        r"Received: \{'dog': 'other'\}": [files[0], _bank_file("dog", "other")],
        r"at least one class. Received: none": [],
    }
    for message, banks in cases.items():
        with pytest.raises(ValueError, match=message):
            AnchorNet.from_banks(banks, projections, backbone)
    with pytest.raises(
        ValueError, match=f"Expected banks trained on the PCA {pca.shipped().digest()}"
    ):
        AnchorNet.from_banks(files, weights=backbone)


def test_bad_input(model, backbone):
    for classes in ((), ("bird", "bird"), "bird"):
        with pytest.raises(ValueError, match="class names, all different. Received"):
            AnchorNet(classes, weights=backbone)
    with pytest.raises(ValueError, match="Received: 'linear'"):
        AnchorNet(CLASSES, gamma="linear", weights=backbone)
    with pytest.raises(ValueError, match="class must be one of bird, cow. Received: 'dog'"):
        model.class_responses(_images(), "dog")
    with pytest.raises(ValueError, match="Received: 'relu'"):
        model.class_responses(_images(), "bird", "relu")
    with pytest.raises(ValueError, match="at least 32 pixels"):
        model(_images(31, 64))


def test_one_convolution_serves_all_banks(model):
    taps = model.taps(_images())
    together = model.linear_responses(taps)
    assert isinstance(model.bank("cow"), AnchorBank)
    for index, name in enumerate(CLASSES):
        own = together[..., index * FILTERS : (index + 1) * FILTERS]
        _close(own, model.bank(name).linear(taps))
