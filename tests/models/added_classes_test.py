"""Classes added to a model: what it had stays, what is new is the plain formula."""

import numpy as np
import pytest

from anchornet_tf.layers.equalizer import Equalizer
from anchornet_tf.models import folding
from anchornet_tf.models.added_classes import ADDED_FILTERS, Extension
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.training.stage2 import config as stage2_config
from anchornet_tf.trunks import pca
from anchornet_tf.trunks.backbone import TAP_CHANNELS, Backbone

DIMENSIONS, FILTERS, LATENT, ADDED = 8, 5, 6, 3
OLD, NEW = ("bird", "cow", "car"), ("dog", "cat")


def _pca(seed=0):
    rng = np.random.default_rng(seed)
    taps = []
    for channels in TAP_CHANNELS:
        components, _ = np.linalg.qr(rng.normal(size=(channels, DIMENSIONS)))
        taps.append(pca.TapPCA(rng.normal(size=channels), components, np.ones(DIMENSIONS), 1.0))
    return pca.HypercolumnPCA(tuple(taps), {})


PCA = _pca()


def _file(name, filters=FILTERS, digest=None):
    rng = np.random.default_rng([*name.encode()])
    mean = rng.normal(size=filters)
    arrays = {
        "kernel": rng.normal(size=(3, 3, 3 * DIMENSIONS, filters)),
        "bias": rng.normal(size=filters),
        "running_mean": mean,
        "running_square": mean**2 + rng.uniform(0.5, 2, size=filters),
    }
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    equalizer = Equalizer()
    equalizer.fit(np.cov(rng.normal(size=(filters, 40))))
    digest = digest or PCA.digest()
    return BankFile(name, arrays, digest, {}, np.asarray(equalizer.matrix))


@pytest.fixture(scope="module")
def backbone():
    return Backbone(weights=None)


def _model(backbone, gamma="whitened"):
    model = AnchorNet.from_banks(
        [_file(name) for name in OLD], PCA, backbone, LATENT, gamma=gamma, image_size=64
    )
    rng = np.random.default_rng(1)
    model.autoencoder.running_mean.assign(rng.normal(size=FILTERS * len(OLD)))
    model.code_equalizer.fit(np.cov(rng.normal(size=(LATENT, 40))))
    return model


@pytest.fixture(scope="module")
def model(backbone):
    return _model(backbone)


def _images(seed=1, batch=3, size=(64, 48)):
    return np.random.default_rng(seed).integers(0, 256, (batch, *size, 3), dtype=np.uint8)


def _grown(model):
    return model.with_classes([_file(name) for name in NEW], [_images(2), _images(3)], PCA, ADDED)


@pytest.fixture(scope="module")
def grown(model):
    return _grown(model)


def _close(received, expected):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(received, expected, atol=1e-4 * scale, rtol=0)


def test_what_the_model_had_stays(model, grown):
    assert grown.classes == (*OLD, *NEW)
    assert grown.latent_filters == LATENT + ADDED * len(NEW)
    assert grown.backbone is model.backbone and grown.image_size == 64
    pairs = [(grown.hypercolumn_layer, model.hypercolumn_layer)]
    pairs += [(grown.bank(name), model.bank(name)) for name in OLD]
    pairs += list(zip(grown.bank_equalizers[:3], model.bank_equalizers, strict=True))
    for new, old in pairs:
        for variable, value in zip(new.variables, old.variables, strict=True):
            np.testing.assert_array_equal(variable, value)
    channels = FILTERS * len(OLD)
    kernel = np.asarray(grown.autoencoder.kernel)[0, 0]
    np.testing.assert_array_equal(kernel[:channels, :LATENT], model.autoencoder.kernel[0, 0])
    assert not kernel[channels:, :LATENT].any()
    matrix = np.asarray(grown.code_equalizer.matrix)
    np.testing.assert_array_equal(matrix[:LATENT, :LATENT], model.code_equalizer.matrix)
    assert not matrix[:LATENT, LATENT:].any() and not matrix[LATENT:, :LATENT].any()
    images = _images()
    np.testing.assert_allclose(grown(images)[..., :LATENT], model(images), rtol=1e-5, atol=1e-5)
    for name in OLD:
        np.testing.assert_array_equal(
            grown.class_responses(images, name), model.class_responses(images, name)
        )


@pytest.mark.parametrize("gamma", ["whitened", "softplus"])
def test_new_directions_are_the_plain_formula(backbone, gamma):
    model = _model(backbone, gamma)
    grown = _grown(model)
    images = np.concatenate([_images(2), _images(3)])
    channels = FILTERS * len(OLD)
    maps = np.float64(grown.stacked_maps(images)).reshape(-1, FILTERS * len(grown.classes))
    codes = np.float64(model.autoencoder(model.stacked_maps(images))).reshape(-1, LATENT)
    new = maps[:, channels:]
    centred = codes - codes.mean(axis=0)
    scale = np.var(codes, axis=0).mean()
    normal = centred.T @ centred / len(codes) + 1e-2 * scale * np.eye(LATENT)
    factors = np.linalg.solve(normal, centred.T @ (new - new.mean(axis=0)) / len(codes))
    residual = new - new.mean(axis=0) - centred @ factors
    _, values, vectors = np.linalg.svd(residual, full_matrices=False)
    added = ADDED * len(NEW)
    variance = values[:added] ** 2 / len(codes)
    expected = residual @ vectors[:added].T * (variance / scale) ** -0.25
    received = np.float64(grown(images)).reshape(len(codes), -1)[:, LATENT:]
    signs = np.sign(np.sum(expected * received, axis=0))
    _close(received, expected * signs)
    np.testing.assert_allclose(received.mean(axis=0), 0, atol=1e-4)


def test_folded_equals_unfolded(grown):
    images = _images(size=(33, 75))
    for fixed in (True, False):
        _close(folding.features_function(grown, fixed)(images), grown(images).numpy())


def test_new_banks_come_with_their_equalizers(grown):
    for name in NEW:
        file = _file(name)
        np.testing.assert_array_equal(grown.bank(name).kernel, file.arrays["kernel"])
        equalizer = grown.bank_equalizers[grown.classes.index(name)]
        np.testing.assert_array_equal(equalizer.matrix, file.equalizer)


def test_saved_and_loaded(grown, tmp_path):
    grown.save_to_preset(tmp_path / "model")
    loaded = AnchorNet.from_preset(tmp_path / "model")
    images = _images()
    np.testing.assert_array_equal(loaded(images), grown(images))
    # Both blocks of the equalizer are powers of a covariance.
    loaded.equalize(0)
    np.testing.assert_allclose(
        loaded.code_equalizer.matrix, np.eye(grown.latent_filters), atol=1e-6
    )


def test_a_model_can_grow_again(model):
    once = model.with_classes([_file("dog")], [_images(2)], PCA, ADDED)
    twice = once.with_classes([_file("cat")], [_images(3)], PCA, 1)
    assert twice.classes == (*OLD, "dog", "cat") and twice.latent_filters == LATENT + ADDED + 1
    images = _images()
    np.testing.assert_allclose(twice(images)[..., :-1], once(images), rtol=1e-5, atol=1e-5)


def test_half_precision_of_the_pca_fits(model, tmp_path):
    model.save_to_preset(tmp_path / "half", dtype="float16")
    half = AnchorNet.from_preset(tmp_path / "half")
    assert Extension(half, [_file("dog")], PCA, ADDED).model.classes == (*OLD, "dog")


def test_what_does_not_fit(model):
    with pytest.raises(ValueError, match="classes that the model does not have. Received: cow"):
        Extension(model, [_file("dog"), _file("cow")], PCA)
    with pytest.raises(ValueError, match="5 of depth 24: .* Received: 7 of depth 24 for dog"):
        Extension(model, [_file("dog", filters=7)], PCA)
    other = _pca(1)
    with pytest.raises(ValueError, match=f"PCA of the model. Received: .*{other.digest()}"):
        Extension(model, [_file("dog", digest=other.digest())], other)
    with pytest.raises(ValueError, match="Received: {'dog': 'other'}"):
        Extension(model, [_file("dog", digest="other")], PCA)
    with pytest.raises(ValueError, match="Received: none"):
        Extension(model, [], PCA)
    for added in (0, FILTERS + 1):
        with pytest.raises(ValueError, match=f"from 1 to 5, .* Received: {added}"):
            Extension(model, [_file("dog")], PCA, added)
    with pytest.raises(ValueError, match="Received: none"):
        model.with_classes([_file("dog")], [], PCA, ADDED)


def test_the_flag_has_the_same_default():
    assert stage2_config.ADDED_FILTERS == ADDED_FILTERS
