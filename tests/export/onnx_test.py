"""ONNX files compute what the SavedModel computes, for any batch and any image size."""

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import anchornet_tf
from anchornet_tf.datasets import parts_world
from anchornet_tf.utils.image_io import read_image
from export import onnx_files
from export.portable import Portable
from export.servable import Servable
from tests.export import small_model
from tests.export.agreement import assert_flows_agree
from tests.repository.tree import ROOT
from tests.shared_data import shared_path

onnx = pytest.importorskip("onnx", reason="needs the extra `onnx`")
pytest.importorskip("tf2onnx", reason="needs the extra `onnx`")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")


@pytest.fixture(scope="module")
def small():
    return small_model.make()


@pytest.fixture(scope="module")
def version(small, tmp_path_factory):
    # Converting one takes seconds; the others are for the slow tests.
    signatures = ("features", "match_points")
    return onnx_files.save(
        small, tmp_path_factory.mktemp("onnx"), signatures=signatures, name="small"
    )


@pytest.fixture(scope="module")
def complete(small, tmp_path_factory):
    """A version with all functions."""
    return onnx_files.save(small, tmp_path_factory.mktemp("onnx"), name="small")


@pytest.fixture(scope="module")
def signatures(small):
    return Servable(small).signatures()


@pytest.fixture(scope="module")
def images(image_a, image_b):
    """Two pairs of uint8 images; sources and targets differ in size."""
    return np.stack([image_a, image_a[:, ::-1]]), np.stack([image_b, image_b[::-1]])


def _session(version, signature):
    return onnxruntime.InferenceSession(str(version / f"{signature}.onnx"))


def _run(version, signature, **inputs):
    session = _session(version, signature)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def _expected(signatures, signature, **inputs):
    found = signatures[signature](**{name: tf.constant(value) for name, value in inputs.items()})
    return {name: value.numpy() for name, value in found.items()}


@pytest.mark.parametrize("count, crop", [(1, (71, 90)), (2, (71, 90)), (2, (45, 64))])
def test_features(version, signatures, images, count, crop):
    given = {"image": images[0][:count, : crop[0], : crop[1]]}
    found = _run(version, "features", **given)["features"]
    expected = _expected(signatures, "features", **given)["features"]
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_class_responses(complete, signatures, images):
    given = {"image": images[0], "class_name": np.array(["cow", "bird"], object)}
    found = _run(complete, "class_responses", **given)
    expected = _expected(signatures, "class_responses", **given)
    np.testing.assert_allclose(found["responses"], expected["responses"], rtol=0, atol=1e-4)
    assert found["class_names"].tolist() == 2 * [list(small_model.CLASSES)]


@pytest.mark.slow
def test_an_unknown_class_gives_no_numbers(complete, images):
    names = np.array(["dog", "bird"], object)
    found = _run(complete, "class_responses", image=images[0], class_name=names)["responses"]
    assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()


@pytest.mark.slow
def test_match(complete, signatures, images):
    given = dict(zip(("source", "target"), images, strict=True))
    found, expected = _run(complete, "match", **given), _expected(signatures, "match", **given)
    np.testing.assert_allclose(found["flow"], expected["flow"], rtol=0, atol=0.1)
    np.testing.assert_allclose(found["confidence"], expected["confidence"], rtol=0, atol=1e-3)


@pytest.mark.slow
def test_match_is_that_of_the_package(complete, small, image_a, image_b):
    found = _run(complete, "match", source=image_a[None], target=image_b[None])["flow"]
    flow = anchornet_tf.match_pair(image_a, image_b, model=small, image_size=small.image_size)
    np.testing.assert_allclose(found[0], flow.displacement, rtol=0, atol=0.1)


def test_match_points(version, signatures, images):
    points = np.random.default_rng(0).uniform(0, 70, (2, 9, 2)).astype(np.float32)
    given = dict(zip(("source", "target"), images, strict=True)) | {"points": points}
    found = _run(version, "match_points", **given)
    expected = _expected(signatures, "match_points", **given)
    np.testing.assert_allclose(found["target_points"], expected["points"], rtol=0, atol=0.1)
    assert np.ptp(expected["confidence"]) > 0.01
    np.testing.assert_allclose(found["confidence"], expected["confidence"], rtol=0, atol=1e-3)


def test_points_off_the_image_have_no_match(version, images):
    points = np.array([[[5, 6], [90, 6], [5, -1], [np.nan, 3]]] * 2, np.float32)
    given = dict(zip(("source", "target"), images, strict=True))
    found = _run(version, "match_points", points=points, **given)
    lost = np.array([[False, True, True, True]] * 2)
    assert (np.isnan(found["target_points"]).all(axis=-1) == lost).all()
    assert (np.isnan(found["confidence"]) == lost).all()


@pytest.mark.slow
def test_nearest_neighbours_and_float_images(small, images, tmp_path):
    options = {"signatures": ["match"], "matcher": "nearest", "image_dtype": "float32"}
    version = onnx_files.save(small, tmp_path, **options)
    given = dict(zip(("source", "target"), images, strict=True))
    expected = _expected(Servable(small, matcher="nearest").signatures(), "match", **given)
    floats = {name: value.astype(np.float32) for name, value in given.items()}
    found = _run(version, "match", **floats)
    # Rounding decides between cells that are alike.
    assert_flows_agree(found["flow"], expected["flow"])


@pytest.mark.slow
def test_files_say_what_they_are(complete, small):
    assert {path.name for path in complete.iterdir()} == {
        f"{signature}.onnx" for signature in onnx_files.SIGNATURES
    }
    for signature in onnx_files.SIGNATURES:
        proto = onnx.load(complete / f"{signature}.onnx")
        properties = {entry.key: entry.value for entry in proto.metadata_props}
        assert properties["model"] == "small" and properties["signature"] == signature
        assert properties["anchornet_tf"] == anchornet_tf.__version__ == proto.producer_version
        assert json.loads(properties["class_names"]) == list(small_model.CLASSES)
        assert json.loads(properties["options"]) == small.options()
        assert "RGB from 0 to 255" in properties["convention"]
        domains = {node.domain for node in proto.graph.node}
        assert domains <= {"", "ai.onnx.ml"}


def test_sizes_are_free_and_named(version):
    session = _session(version, "match_points")
    shapes = {value.name: value.shape for value in session.get_inputs() + session.get_outputs()}
    assert shapes == {
        "source": ["batch", "height", "width", 3],
        "target": ["batch", "target_height", "target_width", 3],
        "points": ["batch", "points", 2],
        "target_points": ["batch", "points", 2],
        "confidence": ["batch", "points"],
    }


@pytest.mark.parametrize(
    "options, message",
    [
        ({"signatures": ["mach"]}, "Expected functions of features.* Received: mach"),
        ({"signatures": []}, "Received: none"),
        ({"image_dtype": "int8"}, "Received: int8"),
        ({"matcher": "dsp"}, "Received: 'dsp'"),
    ],
)
def test_mistakes(small, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        onnx_files.save(small, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """What the program made of the preset."""
    output = tmp_path_factory.mktemp("voc20")
    command = [sys.executable, "-m", "export.onnx", "--model=voc20", f"--output={output}"]
    finished = subprocess.run(
        [*command, "--signatures=features,match"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert finished.returncode == 0, finished.stderr
    assert f'InferenceSession("{output / "1" / "features.onnx"}")' in finished.stdout
    return output / "1"


@pytest.fixture(scope="module")
def preset_signatures(preset):
    return Servable(preset).signatures()


def _drawings():
    return [parts_world.draw("bird", seed).image for seed in (3, 8)]


def _photographs(name):
    folder = shared_path("data/pf-willow") / name
    return [read_image(path) for path in sorted(folder.glob("*.png"))[:2]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drawings", "car(G)", "duck(S)", "motorbike(M)", "winebottle(M)"])
def test_the_preset(exported, preset_signatures, name):
    """Prints how far ONNX Runtime and the SavedModel's functions are apart (docs/serving.md)."""
    source, target = _drawings() if name == "drawings" else _photographs(name)
    limits = {"features": 1e-4, "flow": 0.1, "confidence": 1e-3}
    given = {"source": source[np.newaxis], "target": target[np.newaxis]}
    found = _run(exported, "match", **given)
    expected = _expected(preset_signatures, "match", **given)
    found |= _run(exported, "features", image=given["source"])
    expected |= _expected(preset_signatures, "features", image=given["source"])
    apart = {each: np.abs(found[each] - expected[each]).max() for each in limits}
    print(f"\n{name}:", *(f"{each} {value:.1e}" for each, value in apart.items()))
    assert all(apart[each] <= limits[each] for each in limits), apart


@pytest.mark.slow
def test_the_preset_matches_as_the_package_does(exported, preset):
    source, target = _drawings()
    found = _run(exported, "match", source=source[np.newaxis], target=target[np.newaxis])
    flow = anchornet_tf.Matcher("anchornet", model=preset)(source, target)
    np.testing.assert_allclose(found["flow"][0], flow.displacement, rtol=0, atol=0.1)
    np.testing.assert_allclose(found["confidence"][0], flow.confidence, rtol=0, atol=1e-3)


def test_arrays_are_written_once(small, monkeypatch):
    """Messages keep the memory of what they held before, so each array more is one for good."""
    from tf2onnx.graph import Node

    update, written = Node.update_proto, []

    def counting(node, *storage):
        if node.is_const():
            written.append((node, node.attr["value"]))
        update(node, *storage)

    monkeypatch.setattr(Node, "update_proto", counting)
    portable = Portable(small, "nearest")
    inputs = {"image": tf.TensorSpec((None, None, None, 3), tf.uint8)}
    onnx_files.convert(portable, "features", inputs, {})
    arrays = [(id(node), id(value)) for node, value in written]  # They are alive.
    assert arrays and len(set(arrays)) == len(arrays)
    assert Node.update_proto is counting
