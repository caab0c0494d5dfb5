"""Every consumer of the SavedModel computes what the Keras model does; some also train it."""

import os
import pathlib
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from export import warmup
from tests.export.agreement import assert_flows_agree, need_hub
from tests.repository.tree import ROOT

PROGRAMS = pathlib.Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def images(image_a):
    return np.stack([image_a, image_a[::-1]])


@pytest.fixture(scope="module")
def expected(model, images):
    return model(images).numpy()


def _close(left, right, tolerance=1e-5):
    np.testing.assert_allclose(left, right, rtol=0, atol=tolerance)


def _run_program(name, folder, *arguments, **variables):
    """Runs a program that can import neither this package nor the repository."""
    finished = subprocess.run(
        [sys.executable, "-I", PROGRAMS / name, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **variables},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    with np.load(folder / "out.npz") as archive:
        return dict(archive)


def test_layer_of_keras_3(exported, images, expected):
    layer = keras.layers.TFSMLayer(str(exported))
    _close(layer(images), expected)
    inputs = keras.Input((None, None, 3))
    _close(keras.Model(inputs, layer(inputs))(images.astype(np.float32)), expected)


@pytest.mark.slow
def test_layer_of_keras_3_can_match(exported, loaded, image_a, image_b):
    layer = keras.layers.TFSMLayer(str(exported), call_endpoint="match")
    pair = {"source": image_a[None], "target": image_b[None]}
    floats = {name: image.astype(np.float32) for name, image in pair.items()}
    assert_flows_agree(layer(floats)["flow"], loaded.signatures["match"](**pair)["flow"])


@pytest.mark.slow
def test_fine_tuning_as_a_layer_of_keras_3(exported, loaded, images, expected):
    layer = keras.layers.TFSMLayer(str(exported))
    inputs = keras.Input((None, None, 3))
    network = keras.Model(inputs, keras.layers.GlobalAveragePooling2D()(layer(inputs)))
    assert len(network.trainable_variables) == len(loaded.trainable_variables)
    before = [variable.numpy() for variable in layer.weights]
    network.compile(keras.optimizers.SGD(1e-3), "mse")
    network.fit(images.astype(np.float32), np.ones((2, 8), np.float32), verbose=0)
    changed = [
        not np.array_equal(old, variable.numpy())
        for old, variable in zip(before, layer.weights, strict=True)
    ]
    assert sum(changed) > 100
    frozen = [
        not moved
        for moved, variable in zip(changed, layer.weights, strict=True)
        if not variable.trainable
    ]
    assert frozen and all(frozen)
    assert np.abs(layer(images) - expected).max() > 1e-3


def test_fresh_process_without_the_package(exported, images, expected, image_b, loaded, tmp_path):
    np.savez(tmp_path / "in.npz", images=images, target=np.stack([image_b, image_b]))
    results = _run_program("plain_tensorflow.py", tmp_path, exported)
    _close(results["call"], expected)
    _close(results["features"], expected)
    again = loaded.signatures["match"](source=images, target=np.stack([image_b, image_b]))
    assert_flows_agree(results["flow"], again["flow"])


@pytest.mark.slow
def test_hub_layer_in_tf_keras(exported, images, expected, loaded, tmp_path):
    need_hub()
    np.savez(tmp_path / "in.npz", images=images)
    results = _run_program("hub_layer.py", tmp_path, exported, TF_USE_LEGACY_KERAS="1")
    _close(results["before"], expected)
    terms = [float(loss()) for loss in loaded.regularization_losses]
    np.testing.assert_allclose(results["losses"], terms, rtol=1e-5, atol=1e-7)
    # tf_keras minimised the error of the task plus exactly these terms.
    np.testing.assert_allclose(results["total"] - results["task"], sum(terms), rtol=1e-4)
    assert np.abs(results["after"] - expected).max() > 1e-3
    assert results["changed"] > 100 and results["statistics_changed"] == 0


@pytest.fixture(scope="module")
def every_input(image_a, image_b):
    """Small inputs of all signatures."""
    inputs = warmup.example_inputs("cow")
    pair = {"source": image_a[None], "target": image_b[None]}
    inputs["serving_default"] = {"image": image_a[None].astype(np.float32)}
    inputs["features"] = {"image": image_a[None]}
    inputs["class_responses"]["image"] = image_a[None]
    inputs["match"] = pair
    inputs["match_points"] = pair | {"points": np.array([[[5.0, 6.0], [70.5, 60.25]]], np.float32)}
    return inputs


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The C++ program, built against the wheel."""
    if shutil.which("g++") is None:
        pytest.skip("no g++ to build the C++ program with")
    path = tmp_path_factory.mktemp("cpp") / "run_saved_model"
    command = ["bash", ROOT / "export" / "cpp" / "build.sh", sys.executable, path]
    built = subprocess.run(command, capture_output=True, text=True, timeout=800)
    assert built.returncode == 0, built.stderr[-3000:]
    return path


def _run_cpp(program, model, inputs, folder):
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    for signature, arrays in inputs.items():
        for name, array in arrays.items():
            proto = tf.make_tensor_proto(array)
            (folder / "in" / f"{signature}.{name}.pb").write_bytes(proto.SerializeToString())
    finished = subprocess.run(
        [program, model, folder / "in", folder / "out"],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=800,
    )
    outputs = {}
    for path in (folder / "out").iterdir():
        signature, name, _ = path.name.split(".")
        proto = tensor_pb2.TensorProto.FromString(path.read_bytes())
        outputs[signature, name] = tf.make_ndarray(proto)
    return finished, outputs


@pytest.mark.slow
def test_cpp_runs_every_signature(exported, loaded, program, every_input, tmp_path):
    finished, outputs = _run_cpp(program, exported, every_input, tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert {signature for signature, _ in outputs} == set(loaded.signatures)
    for signature, arrays in every_input.items():
        given = {name: tf.constant(array) for name, array in arrays.items()}
        for name, value in loaded.signatures[signature](**given).items():
            if value.dtype == tf.string:
                assert outputs[signature, name].tolist() == value.numpy().tolist()
            else:
                agree = assert_flows_agree if signature.startswith("match") else _close
                agree(outputs[signature, name], value)


@pytest.mark.slow
def test_cpp_lives_on_after_a_bad_request(exported, program, every_input, image_a, tmp_path):
    inputs = {
        "class_responses": {"image": image_a[None], "class_name": np.array([b"dog"])},
        "from_bytes": {"image_bytes": np.array([b"no image"], object)},
        "match": every_input["match"],
    }
    finished, outputs = _run_cpp(program, exported, inputs, tmp_path)
    assert finished.returncode == 1
    assert "Expected the bytes of a JPEG or PNG file" in finished.stderr
    assert "class must be one of bird, cow, car" in finished.stderr
    assert {signature for signature, _ in outputs} == {"match"}


@pytest.mark.slow
def test_openvino(exported, images, expected, tmp_path):
    pytest.importorskip("openvino", reason="needs the extra `dev`")
    np.savez(tmp_path / "in.npz", images=images)
    results = _run_program("openvino_model.py", tmp_path, exported)
    _close(results["features"], expected, 1e-4)
