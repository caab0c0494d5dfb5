"""What the client sends of very large images, and what it makes of the answers."""

import numpy as np
import pytest

from export.client import Client


class _Recorder(Client):
    """A client whose server says that everything lies 10 pixels to the right."""

    def __init__(self):
        self.sent = []

    def predict(self, signature, **inputs):
        self.sent.append(inputs)
        if signature == "from_bytes":
            return {"features": np.ones((1, 4, 4, 2), np.float32)}
        if signature == "match_points":
            return {"points": inputs["points"] + np.float32([10, 0])}
        size = inputs["source"].shape[:3]
        flow = np.broadcast_to(np.float32([0, 10]), (*size, 2))
        return {"flow": flow, "confidence": np.ones(size, np.float32)}


@pytest.fixture
def pair():
    """A source that is sent at half its size, and a target that is sent as it is."""
    return np.zeros((2048, 4096, 3), np.uint8), np.zeros((1000, 1500, 3), np.uint8)


def test_flows_are_in_pixels_of_the_original_images(pair):
    client = _Recorder()
    flow = client.match(*pair)
    assert client.sent[0]["source"].shape == (1, 1024, 2048, 3)
    assert client.sent[0]["target"].shape == (1, 1000, 1500, 3)
    assert flow.shape == (2048, 4096) and flow.target_size == (1000, 1500)
    expected = [[300 / 2 - 0.25 + 10, 200 / 2 - 0.25]]
    np.testing.assert_allclose(flow.transfer_points([[300, 200]]), expected, atol=0.5)
    np.testing.assert_allclose(client.match_points(*pair, [[300, 200]]), expected, atol=1e-4)


def test_features_cover_the_original_image(pair):
    features = _Recorder().features(pair[0])
    assert features.image_size == (2048, 4096) and features.grid_size == (4, 4)


def test_ordinary_images_are_sent_as_they_are():
    client, image = _Recorder(), np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    flow = client.match(image, image)
    np.testing.assert_array_equal(client.sent[0]["source"][0], image)
    np.testing.assert_array_equal(flow.displacement[..., 1], 10)
    moved = client.match_points(image, image, [[3, 4]])
    assert moved.dtype == np.float32 and moved.tolist() == [[13, 4]]
