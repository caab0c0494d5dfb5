"""What the studio says about itself."""

import httpx


def test_state_lists_the_images(studio_server):
    state = httpx.get(f"{studio_server.address}/api/v1/state").json()
    assert [image["name"] for image in state["images"]] == ["a.png", "b.png", "c.png", "d.png"]
    assert [image["id"] for image in state["images"]] == ["i1", "i2", "i3", "i4"]
    assert state["folder"] == "things"
    assert state["default"] == {"descriptor": "color", "matcher": "nearest"}
