"""The descriptors made of part-like channels, on a small trunk."""

import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.features import networks
from anchornet_tf.features.back_projection import back_project
from anchornet_tf.features.registry import get_descriptor
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.models.constellation_file import ConstellationFile
from tests.features.tiny_trunk import TinyTrunk

NAMES = ("constellation-hc", "constellation-bp")
IMAGES = np.random.default_rng(0).integers(0, 256, (3, 64, 48, 3), dtype=np.uint8)
UNION = [(1, 3), (0, 5), (2, 9), (1, 0)]


@pytest.fixture(scope="module")
def backbone():
    return TinyTrunk()


@pytest.fixture(scope="module")
def parts(backbone):
    """One aspect, whose parts are visible ever less often."""
    return ConstellationFile(
        class_name="bird",
        channels=[UNION],
        shifts=np.zeros((1, 4, 2)),
        variances=np.ones((1, 4)),
        visibility=[[0.9, 0.8, 0.7, 0.6]],
        weights=[1.0],
        trunk_digest=backbone.digest(),
        record={},
    )


@pytest.fixture(autouse=True)
def no_other_trunk(monkeypatch):
    monkeypatch.setattr(networks, "_default_extractor", lambda: pytest.fail("made another trunk"))


def _close(left, right):
    scale = np.abs(right).max()
    np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4 * scale)


def test_the_hypercolumn_has_the_chosen_channels_of_each_tap(backbone, parts):
    describe = get_descriptor(
        "constellation-hc", constellation=parts, weights=backbone, image_size=None
    )
    (features,) = describe([IMAGES[0]])
    taps = backbone(IMAGES[:1])
    pieces = []
    for tap, channels in zip(taps, ([5], [3, 0], [9]), strict=True):
        whole = np.asarray(tap)
        whole = whole / np.maximum(np.linalg.norm(whole, axis=-1, keepdims=True), 1e-12)
        pieces.append(tf.image.resize(whole[..., channels], (16, 12)))
    assert features.values.shape == (16, 12, 4) and features.image_size == (64, 48)
    _close(features.values, np.concatenate(pieces, axis=-1)[0])


def test_the_grid_is_the_finest_also_without_channels_of_it(backbone, parts):
    describe = get_descriptor(
        "constellation-hc",
        constellation=parts,
        weights=backbone,
        image_size=64,
        num_channels=1,
    )
    assert describe([IMAGES[0]])[0].values.shape == (16, 16, 1)


def test_back_projections_have_the_pixels_of_the_image(backbone, parts):
    options = {"constellation": parts, "weights": backbone, "image_size": None}
    (bare,) = get_descriptor("constellation-bp", blur=0.0, **options)([IMAGES[0]])
    expected = back_project(backbone, tf.cast(IMAGES[:1], tf.float32), UNION)
    assert bare.values.shape == (64, 48, 4)
    _close(bare.values, np.moveaxis(expected[:, 0], 0, -1))
    (smooth,) = get_descriptor("constellation-bp", **options)([IMAGES[0]])
    assert (
        np.abs(np.diff(smooth.values, axis=0)).mean() < np.abs(np.diff(bare.values, axis=0)).mean()
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_equals_one_by_one(name, backbone, parts):
    describe = get_descriptor(
        name, constellation=parts, weights=backbone, image_size=64, batch_size=2
    )
    together = describe(list(IMAGES))
    for image, features in zip(IMAGES, together, strict=True):
        _close(features.values, describe([image])[0].values)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_gives_the_same_numbers(name, backbone, parts, tmp_path):
    parts.save(tmp_path / "bird.npz")
    options = {"weights": backbone, "image_size": 64, "num_channels": 2}
    here, there = (
        get_descriptor(name, constellation=given, **options)([IMAGES[0]])[0].values
        for given in (parts, str(tmp_path / "bird.npz"))
    )
    np.testing.assert_array_equal(here, there)
    assert here.shape[-1] == 2


@pytest.fixture(scope="module")
def descriptors(backbone, parts):
    return [
        get_descriptor(name, constellation=parts, weights=backbone, image_size=32) for name in NAMES
    ]


@pytest.mark.parametrize("matcher", MATCHERS.names)
def test_every_matcher_takes_them(matcher, descriptors):
    boxes = {"proposal_method": "sliding_window", "num_proposals": 30}
    own = boxes if "num_proposals" in MATCHERS.options(matcher) else {}
    for describe in descriptors:
        flow = Matcher(describe, matcher, confidence=None, **own)(*IMAGES[:2])
        assert flow.shape == (64, 48) and np.isfinite(flow.displacement[flow.valid]).all()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_wrong_is_said(name, backbone, parts, tmp_path):
    with pytest.raises(ValueError, match="Expected constellation=FILE.*Received: no constell"):
        get_descriptor(name)
    with pytest.raises(FileNotFoundError, match="Received: nowhere.npz"):
        get_descriptor(name, constellation="nowhere.npz")
    with pytest.raises(ValueError, match="Received: the trunk "):
        get_descriptor(name, constellation=parts, weights=TinyTrunk(seed=1))
    with pytest.raises(ValueError, match="positive number of channels. Received: 0"):
        get_descriptor(name, constellation=parts, weights=backbone, num_channels=0)
    strange = ConstellationFile(
        "bird", [[[0, 256]]], np.zeros((1, 1, 2)), [[1]], [[1]], [1], backbone.digest(), {}
    )
    with pytest.raises(ValueError, match="Received: channel 256 of tap 0"):
        get_descriptor(name, constellation=strange, weights=backbone)
