"""Our client and an independent one, against a server that speaks the official protocol."""

import subprocess
import sys
import time

import numpy as np
import PIL.Image
import pytest

pytest.importorskip("tensorflow_serving", reason="needs the extra `serving`")

import anchornet_tf
from anchornet_tf.features.registry import get_descriptor
from export.client import Client
from export.transports import ServerError
from tests.export import model_server
from tests.export.agreement import assert_flows_agree
from tests.repository.tree import ROOT

# Seconds: the first call of a signature compiles it, perhaps on a busy machine.
PATIENCE = 280


@pytest.fixture(scope="module")
def servable(exported):
    return model_server.Servable(exported, "anchornet")


@pytest.fixture(autouse=True)
def healthy(servable):
    servable.failures, servable.delay, servable.calls = 0, 0.0, 0


@pytest.fixture(scope="module", params=["grpc", "rest"])
def server(request, servable):
    serve = model_server.grpc_server if request.param == "grpc" else model_server.rest_server
    with serve(servable) as address:
        yield address


@pytest.fixture
def client(server):
    with Client(server, timeout=PATIENCE) as client:
        yield client


def test_features_are_those_of_the_descriptor(client, model, image_a):
    describe = get_descriptor("anchornet", model=model, image_size=model.image_size)
    features = client.features(image_a)
    assert features.image_size == image_a.shape[:2]
    np.testing.assert_allclose(features.values, describe([image_a])[0].values, atol=1e-4)


def test_match_is_match_pair(client, model, image_a, image_b):
    options = {"model": model, "image_size": model.image_size}
    flow = anchornet_tf.match_pair(image_a, image_b, "anchornet", "nearest", **options)
    found = client.match(image_a, image_b)
    assert found.target_size == image_b.shape[:2]
    assert_flows_agree(found.displacement, flow.displacement)
    np.testing.assert_allclose(found.confidence, flow.confidence, atol=1e-4)
    points = [[10.5, 20.0], [80.0, 60.25]]
    moved = client.match_points(image_a, image_b, points)
    np.testing.assert_allclose(moved, flow.transfer_points(points), atol=1e-2)


def test_any_signature(client, image_a):
    names = np.array([b"cow"])
    answer = client.predict("class_responses", image=image_a[None], class_name=names)
    assert answer["responses"].shape == (1, 18, 23, 4)
    found = answer["class_names"][0]
    found = [name.decode() if isinstance(name, bytes) else name for name in found]
    assert found == ["bird", "cow", "car"]


def test_retries_until_the_model_is_there(client, servable, image_a):
    servable.failures = 2
    client.features(image_a)
    assert servable.calls == 3


def test_gives_up_with_what_the_server_said(server, servable, image_a):
    servable.failures = 10
    with (
        Client(server, timeout=PATIENCE, retries=1) as client,
        pytest.raises(ServerError, match=f"{server}.*the model is still loading") as caught,
    ):
        client.features(image_a)
    assert servable.calls == 2 and caught.value.transient


def test_refusals_are_not_repeated(client, servable, image_a):
    with pytest.raises(ServerError, match="Expected the bytes of a JPEG or PNG file"):
        client.predict("from_bytes", image_bytes=np.array([b"nothing"], object))
    assert servable.calls == 1
    with pytest.raises(ServerError, match="nothing_like_this"):
        client.predict("nothing_like_this", image=image_a[None])
    client.features(image_a)  # The server goes on.


def test_unknown_model(server, image_a):
    with Client(server, model="other") as client, pytest.raises(ServerError, match="other"):
        client.features(image_a)


def test_time_out(server, servable, image_a):
    servable.delay = 2.0
    start = time.monotonic()
    with Client(server, timeout=0.5) as client, pytest.raises(ServerError) as caught:
        client.features(image_a)
    assert caught.value.code == "DEADLINE_EXCEEDED" and time.monotonic() - start < 2
    time.sleep(2.0)  # The server is still busy with it.


@pytest.mark.parametrize("address", ["127.0.0.1:1", "http://127.0.0.1:1"])
def test_no_server(address, image_a):
    with Client(address, retries=1) as client, pytest.raises(ServerError, match=r"127\.0\.0\.1:1 "):
        client.features(image_a)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"retries": -1}, {"server": "localhost"}])
def test_bad_arguments(options):
    with pytest.raises(ValueError, match="Received: "):
        Client(**{"server": "localhost:8500", **options})


def test_messages_may_be_larger_than_grpc_allows_by_default(servable, image_b):
    large = np.asarray(PIL.Image.fromarray(image_b).resize((1300, 1200)))
    with model_server.grpc_server(servable) as address, Client(address, timeout=PATIENCE) as client:
        flow = client.match(large, image_b)  # The request has 4.7 MB, the answer 18.7 MB.
    assert flow.shape == (1200, 1300)


def test_command(servable, image_a, image_b, tmp_path):
    paths = [tmp_path / "a.png", tmp_path / "b.png"]
    for path, image in zip(paths, (image_a, image_b), strict=True):
        PIL.Image.fromarray(image).save(path)
    with model_server.rest_server(servable) as address:
        command = [
            sys.executable,
            "-m",
            "export.client",
            f"--server={address}",
            f"--timeout={PATIENCE}",
            *map(str, paths),
        ]
        picture = f"--output={tmp_path / 'match.png'}"
        for extra in (["--points=10,20 30,40"], [picture], ["--points=1000,20"]):
            result = subprocess.run(
                [*command, *extra], cwd=ROOT, capture_output=True, text=True, timeout=300
            )
            if extra == [picture]:
                assert "Picture written" in result.stdout and (tmp_path / "match.png").is_file()
            elif extra == ["--points=1000,20"]:
                assert result.returncode == 1 and "Traceback" not in result.stderr
                assert "inside the source image" in result.stderr
            else:
                assert result.returncode == 0, result.stderr
                assert result.stdout.startswith("10,20 -> ")


def test_an_independent_client_agrees(servable, model, image_a):
    ovmsclient = pytest.importorskip("ovmsclient", reason="needs the extra `dev`")
    images = image_a[None].astype(np.float32)
    with model_server.grpc_server(servable) as address:
        client = ovmsclient.make_grpc_client(address)
        assert sorted(client.get_model_metadata("anchornet")["inputs"]) == ["image"]
        assert client.get_model_status("anchornet")[1]["state"] == "AVAILABLE"
        answer = client.predict({"image": images}, "anchornet", timeout=PATIENCE)
        with pytest.raises(ovmsclient.tfs_compat.base.errors.InvalidInputError, match="32 pixels"):
            client.predict({"image": images[:, :8]}, "anchornet", timeout=PATIENCE)
    np.testing.assert_allclose(answer, model(images), atol=1e-5)
