"""The studio over a model server: its features and its matches, and nothing else."""

import numpy as np
import pytest

pytest.importorskip("tensorflow_serving", reason="needs the extra `serving`")

from anchornet_tf.studio import directions
from anchornet_tf.studio.config import StudioConfig
from export.client import Client
from tests.export import model_server
from tests.export.conftest import exported, model, model_folder  # noqa: F401
from tests.studio.api import Api
from tests.studio.conftest import RunningStudio


@pytest.fixture(scope="module")
def servable(exported):  # noqa: F811
    return model_server.Servable(exported, "anchornet")


@pytest.fixture(scope="module", params=["grpc", "rest"])
def address(request, servable):
    serve = model_server.grpc_server if request.param == "grpc" else model_server.rest_server
    with serve(servable) as address:
        yield address


@pytest.fixture
def running(address, servable, image_folder, studio_cache):
    servable.failures = 0
    running = RunningStudio(
        StudioConfig(port=0, server=address), [image_folder], None, image_folder
    )
    yield running
    running.stop()


def test_features_flows_and_transfer(running, address, image_folder):
    api = Api(running.address)
    state = api.get("/state").json()
    assert state["served_by"] == address and state["classes"] == []
    assert [offer["name"] for offer in state["descriptors"]] == ["anchornet"]
    assert [offer["name"] for offer in state["matchers"]] == ["match"]
    assert api.get("/features/i1?descriptor=sift").status_code == 400
    assert api.get("/flow?source=i1&target=i2&matcher=dsp").status_code == 400
    with Client(address, timeout=280) as client:
        wanted = directions.unit_vectors(client.features(image_folder / "a.png").values)
        flow = client.match(image_folder / "a.png", image_folder / "b.png")
    header, values = api.binary("/features/i1")
    values = values.reshape(wanted.shape) * header["scale"]
    np.testing.assert_allclose(values, wanted, atol=0.02)
    header, values = api.binary("/flow", source="i1", target="i2")
    values = values.reshape(header["rows"], header["columns"], 3)
    assert values.shape[:2] == (64, 64)
    centers = (np.arange(64) + 0.5) * 112 / 64 - 0.5
    places = np.stack(np.meshgrid(centers, centers), axis=-1).reshape(-1, 2)
    moved = flow.transfer_points(places).reshape(64, 64, 2)
    np.testing.assert_allclose(values[..., :2], moved, atol=0.02)
    points = [{"name": "head", "x": 22, "y": 20}]
    results, _ = api.results(
        kind="transfer", references=[{"image": "i1", "points": points}], images=["i2"]
    )
    assert [point["name"] for point in results["i2"]["points"]] == ["head"]


def test_a_server_that_fails(running, servable):
    servable.failures = 100
    answer = Api(running.address).get("/features/i3")
    servable.failures = 0
    assert answer.status_code == 502
    assert "model server" in answer.json()["error"]
