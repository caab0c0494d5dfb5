"""Descriptors by name."""

import numpy as np
import pytest

from anchornet_tf.features.registry import DESCRIPTORS, get_descriptor
from anchornet_tf.features.sift import SiftDescriptor


def test_sift_by_name_takes_its_options_and_describes():
    describe = get_descriptor("sift", step=4)
    assert isinstance(describe, SiftDescriptor)
    image = np.random.default_rng(0).integers(0, 256, (32, 40, 3), np.uint8)
    [feature_map] = describe([image])
    assert feature_map.image_size == (32, 40)
    assert feature_map.values.shape == (8, 10, 128)


def test_every_name_leads_to_a_class():
    for name in DESCRIPTORS.names:
        assert isinstance(DESCRIPTORS.options(name), tuple)


def test_deep_names_share_a_class_and_its_options():
    assert DESCRIPTORS.options("res5c") == DESCRIPTORS.options("res4c")
    # What tells where an object is was fitted to the hypercolumn, and not to its parts, which are
    # ResNet50's.
    others = set(DESCRIPTORS.options("hc")) - set(DESCRIPTORS.options("res4c"))
    assert others == {"look_twice", "trunk", "weights", "pca_file"}
    assert "image_size" in DESCRIPTORS.options("hc")
    assert "name" not in DESCRIPTORS.options("hc")


def test_unknown_names_and_options_are_refused():
    with pytest.raises(ValueError, match="descriptor must be one of .*sift.*Received: 'surf'"):
        get_descriptor("surf")
    with pytest.raises(ValueError, match="takes the options step, .*Received: colour"):
        get_descriptor("sift", colour=True)
