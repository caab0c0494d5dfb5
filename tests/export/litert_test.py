"""LiteRT files compute what the SavedModel computes; fewer bits change it a little."""

import os
import shlex
import shutil
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

import anchornet_tf
from anchornet_tf.features.registry import get_descriptor
from export import litert_files, quantization
from export.servable import Servable
from tests.export import small_model
from tests.repository.tree import ROOT

pytest.importorskip("ai_edge_litert", reason="needs the extra `litert`")
pytest.importorskip("ai_edge_quantizer", reason="needs the extra `litert`")


@pytest.fixture(scope="module")
def small():
    return small_model.make()


@pytest.fixture(scope="module")
def version(small, tmp_path_factory):
    return litert_files.save(small, tmp_path_factory.mktemp("litert"), name="small")


@pytest.fixture(scope="module")
def pair(image_a, image_b):
    """Two uint8 images of the model's size."""
    images = (PIL.Image.fromarray(image).resize((96, 64)) for image in (image_a, image_b))
    return [np.asarray(image)[np.newaxis] for image in images]


@pytest.fixture(scope="module")
def signatures(small):
    return Servable(small).signatures()


def _run(path, **images):
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(str(path)).get_signature_runner()
    return runner(**{name: image.astype(np.float32) for name, image in images.items()})


def _expected(signatures, signature, **images):
    found = signatures[signature](**{name: tf.constant(image) for name, image in images.items()})
    return {name: value.numpy() for name, value in found.items()}


def _cosines(left, right):
    lengths = np.linalg.norm(left, axis=-1) * np.linalg.norm(right, axis=-1)
    return (left * right).sum(axis=-1) / lengths


def test_features(version, signatures, pair):
    found = _run(version / "features.tflite", image=pair[0])["features"]
    expected = _expected(signatures, "features", image=pair[0])["features"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


def test_match(version, signatures, pair):
    given = dict(zip(("source", "target"), pair, strict=True))
    found = _run(version / "match.tflite", **given)
    expected = _expected(signatures, "match", **given)
    np.testing.assert_allclose(found["flow"], expected["flow"], rtol=0, atol=0.1)
    np.testing.assert_allclose(found["confidence"], expected["confidence"], rtol=0, atol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "precision, share, least", [("float16", 0.55, 0.9999), ("int8", 0.7, 0.95)]
)
def test_fewer_bits(version, small, signatures, pair, tmp_path, precision, share, least):
    options = {"signatures": ["features"], "precision": precision, "calibration": 4}
    path = litert_files.save(small, tmp_path, **options) / "features.tflite"
    assert path.stat().st_size < share * (version / "features.tflite").stat().st_size
    found = _run(path, image=pair[0])["features"]
    expected = _expected(signatures, "features", image=pair[0])["features"]
    assert np.abs(found - expected).max() > 0
    assert _cosines(found, expected).mean() > least


@pytest.mark.slow
def test_another_size(small, signatures, pair, tmp_path):
    version = litert_files.save(small, tmp_path, signatures=["features"], size=(32, 64))
    image = pair[0][:, :32, :64]
    found = _run(version / "features.tflite", image=image)["features"]
    assert found.shape[:3] == (1, 8, 16)
    expected = _expected(signatures, "features", image=image)["features"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)


def test_metadata(version, small):
    metadata = litert_files.read_metadata(version)
    assert metadata["model"] == "small" and metadata["precision"] == "float32"
    assert metadata["anchornet_tf"] == anchornet_tf.__version__
    assert metadata["size"] == [64, 96] and metadata["options"] == small.options()


def test_descriptor(version, small, image_a):
    (found,) = get_descriptor("litert", file=version / "features.tflite")([image_a])
    own = get_descriptor("anchornet", model=small, image_size=(64, 96))
    (expected,) = own([image_a])
    assert found.image_size == expected.image_size == (71, 90)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-3)


def test_the_command_that_the_program_ends_with(version, image_a, image_b, tmp_path):
    for name, image in (("a.jpg", image_a), ("b.jpg", image_b)):
        PIL.Image.fromarray(image).save(tmp_path / name)
    moved = shutil.copytree(version, tmp_path / "two words") / "features.tflite"
    python, *arguments = shlex.split(litert_files.match_command(moved, "nearest"))
    assert python == "python"
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "match.png").exists()


def test_descriptor_of_something_else(version, tmp_path):
    with pytest.raises(FileNotFoundError, match="Received: .*nothing"):
        get_descriptor("litert", file=tmp_path / "nothing")
    with pytest.raises(ValueError, match="Received: none"):
        get_descriptor("litert")
    with pytest.raises(ValueError, match="Received: .*match.tflite"):
        get_descriptor("litert", file=version / "match.tflite")


def test_example_runs(version, image_a, image_b, tmp_path):
    for name, image in (("a.png", image_a), ("b.png", image_b)):
        PIL.Image.fromarray(image).save(tmp_path / name)
    program = ROOT / "examples" / "litert_match.py"
    finished = subprocess.run(
        [sys.executable, program, version / "match.tflite", "a.png", "b.png", "20,30", "5,6"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    lines = finished.stdout.splitlines()
    assert [line.split(" -> ")[0] for line in lines] == ["20,30", "5,6"]
    for line in lines:
        x, y = map(float, line.split()[2].split(","))
        assert -0.5 <= x < 83 and -0.5 <= y < 120


def test_calibration_draws_all_classes():
    images = list(quantization.drawn_images(("bird", "car", "giraffe"), 4, (32, 48)))
    assert [image.shape for image in images] == [(1, 32, 48, 3)] * 4
    assert len({image.tobytes() for image in images}) == 4
    with pytest.raises(ValueError, match="Received: 1"):
        list(quantization.drawn_images(("bird",), 1, (32, 48)))


@pytest.mark.parametrize("given, size", [([], None), (["64"], (64, 64)), (["64", "96"], (64, 96))])
def test_size_flag(given, size):
    assert litert_files.parse_size(given) == size


@pytest.mark.parametrize("given", [["8", "96"], ["a"], ["64", "64", "3"]])
def test_wrong_size_flag(given):
    with pytest.raises(ValueError, match="Received: " + ",".join(given)):
        litert_files.parse_size(given)


@pytest.mark.parametrize("options", [{"signatures": ["x"]}, {"precision": "int4"}])
def test_mistakes(small, tmp_path, options):
    with pytest.raises(ValueError, match="Received: "):
        litert_files.save(small, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
