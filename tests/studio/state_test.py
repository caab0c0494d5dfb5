"""What the studio says about itself."""

import httpx

from anchornet_tf.studio.config import OFFERED_DESCRIPTORS, OFFERED_MATCHERS, StudioConfig
from anchornet_tf.studio.offers import descriptor_offers, matcher_offers


def test_state_lists_the_images(studio_server):
    state = httpx.get(f"{studio_server.address}/api/v1/state").json()
    assert [image["name"] for image in state["images"]] == ["a.png", "b.png", "c.png", "d.png"]
    assert [image["id"] for image in state["images"]] == ["i1", "i2", "i3", "i4"]
    assert state["folder"] == "things"
    assert state["default"] == {"descriptor": "color", "matcher": "nearest"}


def test_everything_that_can_be_chosen_says_what_it_is_and_costs():
    config = StudioConfig()
    for offers, names in (
        (descriptor_offers(config), OFFERED_DESCRIPTORS),
        (matcher_offers(config), OFFERED_MATCHERS),
    ):
        assert set(offers) <= set(names)
        assert all(offer.summary and offer.cost for offer in offers.values())
    assert "constellation-hc" not in OFFERED_DESCRIPTORS  # It needs a file.
