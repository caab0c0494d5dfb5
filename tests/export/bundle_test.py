"""The bundle: configurations parse, warm-up requests can be replayed, manifests agree."""

import re

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    wrappers_pb2,
)

pytest.importorskip("tensorflow_serving", reason="needs the extra `serving`")

from tensorflow_serving.apis import prediction_log_pb2
from tensorflow_serving.config import model_server_config_pb2

from export import warmup
from export.bundle import make_bundle


@pytest.fixture(scope="module")
def bundle(exported, tmp_path_factory):
    return make_bundle(exported.parent, tmp_path_factory.mktemp("bundle") / "bundle")


def test_files(bundle, exported):
    assert {path.name for path in bundle.iterdir()} == {
        "models",
        "models.config",
        "batching.config",
        "monitoring.config",
        "Dockerfile",
        "docker-compose.yml",
        "kubernetes.yaml",
        "README.md",
    }
    model = bundle / "models" / "anchornet" / "1"
    assert (model / "saved_model.pb").read_bytes() == (exported / "saved_model.pb").read_bytes()
    assert not (exported / "assets.extra").exists()
    for path in bundle.glob("*.*"):
        assert not re.search(r"\$\{\w+\}", path.read_text()), path


def test_the_readme_says_how_images_are_matched(bundle):
    text = (bundle / "README.md").read_text()
    assert "`match_points` is nearest. Looks at each image: one." in text


def test_models_config(bundle):
    config = text_format.Parse(
        (bundle / "models.config").read_text(), model_server_config_pb2.ModelServerConfig()
    )
    (model,) = config.model_config_list.config
    assert model.name == "anchornet" and model.model_platform == "tensorflow"
    assert (
        model.base_path == "/models/anchornet"
        and model.model_version_policy.latest.num_versions == 1
    )


def _message(name, package, fields):
    """Makes a message class from (name, number, type) triples, for protos that no package has."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}/{name}.proto", package=package, syntax="proto3"
    )
    file.dependency.append("google/protobuf/wrappers.proto")
    message = file.message_type.add(name=name)
    kinds = descriptor_pb2.FieldDescriptorProto
    for field, number, kind in fields:
        added = message.field.add(name=field, number=number, label=kinds.LABEL_OPTIONAL)
        if kind == "repeated int64":
            added.label, added.type = kinds.LABEL_REPEATED, kinds.TYPE_INT64
        elif kind == "bool":
            added.type = kinds.TYPE_BOOL
        else:
            added.type, added.type_name = kinds.TYPE_MESSAGE, f".google.protobuf.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))


def test_batching_config(bundle):
    # The fields and numbers of session_bundle_config.proto, which tensorflow-serving-api lacks.
    parameters = _message(
        "BatchingParameters",
        "tensorflow.serving",
        [
            ("max_batch_size", 1, "Int64Value"),
            ("batch_timeout_micros", 2, "Int64Value"),
            ("max_enqueued_batches", 3, "Int64Value"),
            ("num_batch_threads", 4, "Int64Value"),
            ("thread_pool_name", 5, "StringValue"),
            ("allowed_batch_sizes", 6, "repeated int64"),
            ("pad_variable_length_inputs", 7, "bool"),
            ("enable_large_batch_splitting", 8, "BoolValue"),
            ("max_execution_batch_size", 9, "Int64Value"),
        ],
    )
    config = text_format.Parse((bundle / "batching.config").read_text(), parameters())
    # The server refuses to start unless the last allowed size is the largest batch.
    assert config.allowed_batch_sizes[-1] == config.max_batch_size.value == 8
    assert not config.pad_variable_length_inputs


def test_monitoring_config(bundle):
    # tensorflow-serving-api has no such proto, but the independent client has.
    protos = "ovmsclient.tfs_compat.protos.tensorflow_serving.config.monitoring_config_pb2"
    monitoring = pytest.importorskip(protos, reason="needs the extra `dev`")
    text = (bundle / "monitoring.config").read_text()
    config = text_format.Parse(text, monitoring.MonitoringConfig()).prometheus_config
    assert config.enable and config.path == "/monitoring/prometheus/metrics"


def test_warm_up_requests_replay(bundle, loaded):
    path = bundle / "models" / "anchornet" / "1" / warmup.PATH
    seen = set()
    for record in tf.data.TFRecordDataset([str(path)]):
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        assert request.model_spec.name == "anchornet"
        signature = request.model_spec.signature_name
        inputs = {
            name: tf.constant(tf.make_ndarray(value)) for name, value in request.inputs.items()
        }
        for value in loaded.signatures[signature](**inputs).values():
            # A server joins requests and splits answers along the batch.
            assert value.shape[0] == 1
            assert value.dtype == tf.string or np.isfinite(value).all()
        seen.add(signature)
    assert seen == set(loaded.signatures)


def test_manifests_name_the_same_model_and_ports(bundle):
    yaml = pytest.importorskip("yaml")
    deployment, service = yaml.safe_load_all((bundle / "kubernetes.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/v1/models/anchornet/metadata"
    assert {"cpu", "memory"} <= set(container["resources"]["limits"])
    assert {port["port"] for port in service["spec"]["ports"]} == {8500, 8501}
    compose = yaml.safe_load((bundle / "docker-compose.yml").read_text())["services"]["anchornet"]
    assert compose["image"] == container["image"] == "anchornet-serving:1"
    assert "/v1/models/anchornet/metadata" in compose["healthcheck"]["test"][-1]


def test_the_newest_version_is_taken_and_no_bundle_overwritten(exported, bundle):
    with pytest.raises(FileExistsError, match="Received: "):
        make_bundle(exported.parent, bundle)


@pytest.mark.parametrize("name", ["", "Anchor", "a/b", "-a"])
def test_names_that_kubernetes_refuses(exported, tmp_path, name):
    with pytest.raises(ValueError, match="Received: "):
        make_bundle(exported.parent, tmp_path / "bundle", name)


def test_no_version_to_take(tmp_path):
    with pytest.raises(ValueError, match="Expected a folder of versions.*Received: "):
        make_bundle(tmp_path, tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
