"""Statistics of a corpus by Beam against those of one machine."""

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.testing.util import assert_that

from anchornet_tf.corpus import fit_run
from anchornet_tf.corpus.combiners import LogisticFn, MomentsFn, ReliabilityFn
from anchornet_tf.corpus.config import EqualizersConfig
from anchornet_tf.metrics.calibration import reliability
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.training import fit_pca
from anchornet_tf.training.confidence.fit import logistic_regression
from anchornet_tf.training.pca_config import PCAConfig
from tests.trainers.running import write_folder

VECTORS = np.random.default_rng(0).normal(3, 2, size=(500, 12)) @ np.diag(np.arange(1.0, 13))


def _pieces(array, number=7):
    return np.array_split(array, number)


def test_pca_of_pieces_is_that_of_all_vectors():
    centred = VECTORS - VECTORS.mean(axis=0)
    variance, directions = np.linalg.eigh(centred.T @ centred / len(VECTORS))

    def check(found):
        fitted = found[0].fit(5)
        np.testing.assert_allclose(fitted.mean, VECTORS.mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(fitted.variance, variance[::-1][:5], rtol=1e-9)
        overlap = np.abs(fitted.components.T @ directions[:, ::-1][:, :5])
        np.testing.assert_allclose(overlap, np.eye(5), atol=1e-6)

    with beam.Pipeline() as pipeline:
        moments = pipeline | beam.Create(_pieces(VECTORS)) | beam.CombineGlobally(MomentsFn())
        assert_that(moments, check)


def test_moments_merge_in_any_order_and_with_nothing():
    combine = MomentsFn()
    parts = [combine.add_input(combine.create_accumulator(), piece) for piece in _pieces(VECTORS)]
    forwards = combine.merge_accumulators([None, *parts])
    backwards = combine.merge_accumulators([*parts[::-1], None])
    for one, other in zip(forwards.statistics(), backwards.statistics(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_allclose(forwards.statistics()[1], np.cov(VECTORS.T, bias=True), rtol=1e-9)
    assert combine.extract_output(combine.merge_accumulators([None])) is None


def test_reliability_of_pieces_is_that_of_all_matches():
    rng = np.random.default_rng(0)
    confidence = np.concatenate([rng.uniform(0, 0.7, 400), [1.0]])
    correct = rng.uniform(size=401) < confidence
    expected = reliability(confidence, correct)
    pieces = list(zip(_pieces(confidence), _pieces(correct), strict=True))

    def check(found):
        np.testing.assert_allclose(found[0], expected, atol=1e-9)

    with beam.Pipeline() as pipeline:
        assert_that(pipeline | beam.Create(pieces) | beam.CombineGlobally(ReliabilityFn()), check)


def test_a_calibration_of_pieces_is_that_of_one_machine(tmp_path):
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(900, 5)) * [1, 2, 0.5, 4, 1]
    answers = rng.uniform(size=900) < 1 / (1 + np.exp(-(inputs @ [1, -0.5, 2, 0, 0.3] - 0.7)))
    weights = rng.uniform(0.1, 3, size=900)
    expected = logistic_regression(inputs, answers, weights, 1e-2)
    files = []
    for number, piece in enumerate(_pieces(np.arange(900), 5)):
        files.append(str(tmp_path / f"{number}.npz"))
        np.savez(files[-1], inputs=inputs[piece], answers=answers[piece], weights=weights[piece])
    # What a run that was stopped left behind, of something else.
    left = tmp_path / "calibration.moments"
    left.mkdir()
    (left / "0.npz").write_bytes(b"half")
    (left / "3.npz").write_bytes(b"of another")
    found = fit_run.fit_logistic(files, 5, 1e-2, tmp_path / "calibration")
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
    assert found[1] == pytest.approx(expected[1], abs=1e-6)
    assert not (tmp_path / "calibration.moments").exists()
    with pytest.raises(ValueError, match="archives of examples. Received: none"):
        fit_run.fit_logistic([], 5, 1e-2, tmp_path / "calibration")


def test_sums_of_a_calibration_merge_in_any_order_and_with_nothing():
    rng = np.random.default_rng(2)
    data = rng.normal(size=(50, 3)), rng.uniform(size=50) < 0.4, np.ones(50)
    combine = LogisticFn(np.array([0.3, -1, 2, 0.1]))
    parts = [
        combine.add_input(combine.create_accumulator(), piece)
        for piece in zip(*(_pieces(each, 4) for each in data), strict=True)
    ]
    whole = combine.add_input(None, data)
    for order in ([None, *parts], [*parts[::-1], None]):
        merged = combine.extract_output(combine.merge_accumulators(order))
        for name, value in whole.arrays().items():
            np.testing.assert_allclose(merged.arrays()[name], value, rtol=1e-9, atol=1e-9)
    # The pieces are as they were.
    assert parts[0].weight == len(_pieces(data[2], 4)[0])
    assert combine.merge_accumulators([None]) is None


class _Projection:
    """Stands for the trunk: three taps of few channels, by random projections."""

    def __init__(self, trunk, weights):
        rng = np.random.default_rng(0)
        self._kernels = [rng.normal(size=(48, count)).astype("float32") for count in (24, 32, 40)]

    def __call__(self, images):
        import tensorflow as tf

        blocks = tf.nn.space_to_depth(images / 255, 4)
        return [tf.nn.relu(tf.tensordot(blocks, kernel, 1)) for kernel in self._kernels]

    def digest(self):
        return "projection"


def test_fit_pca_is_that_of_one_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(fit_pca, "Backbone", _Projection)
    folder = write_folder(tmp_path / "images", ["bird", "background"], count=20, size=64)
    config = PCAConfig(
        data=f"folder:{folder}", num_images=34, positions=64, dimensions=16, image_size=64,
        batch_size=4,
    )  # fmt: skip
    # It counts the channels of ResNet50.
    monkeypatch.setattr(fit_pca, "_check_samples", lambda *_: None)
    one = fit_pca.fit_pca(config)
    many = fit_run.fit_pca(config, tmp_path / "pca.npz")
    assert one.record == many.record
    for tap, other in zip(one.taps, many.taps, strict=True):
        np.testing.assert_allclose(other.mean, tap.mean, atol=1e-6)
        np.testing.assert_allclose(other.variance, tap.variance, rtol=1e-6)
        np.testing.assert_allclose(other.components, tap.components, atol=1e-6)
    assert not (tmp_path / "pca.npz.moments").exists()


def test_equalizers_are_those_of_one_machine(model_folder, tmp_path):
    folder = write_folder(tmp_path / "images", ["bird", "cow", "car"], count=6, size=64)
    config = EqualizersConfig(
        f"folder:{folder}", tmp_path / "equalized", str(model_folder), image_size=64, batch_size=4
    )
    many = fit_run.fit_equalizers(config)
    one = AnchorNet.from_preset(model_folder)
    source = fit_run._source(config.data)
    chunks = fit_run.labelled_chunks(one, source, config)
    assert sum(map(len, chunks)) == 18
    one.fit_equalizers(
        (fit_run.linear_responses(one, source, chunk, config), np.array([c for _, c in chunk]))
        for chunk in chunks
    )
    pairs = zip(
        (one.code_equalizer, *one.bank_equalizers),
        (many.code_equalizer, *many.bank_equalizers),
        strict=True,
    )
    for equalizer, other in pairs:
        np.testing.assert_allclose(other.matrix.numpy(), equalizer.matrix.numpy(), atol=1e-6)


def test_a_class_without_images(model_folder, tmp_path):
    folder = write_folder(tmp_path / "images", ["bird", "cow"], count=2, size=64)
    config = EqualizersConfig(
        f"folder:{folder}", tmp_path / "equalized", str(model_folder), image_size=64
    )
    with pytest.raises(ValueError, match=r"images of every class. Received: none of \['car'\]"):
        fit_run.fit_equalizers(config)
