"""Trunks as plain data: sizes, names, folders, and what is said about those that cannot be."""

import dataclasses
import json
import subprocess
import sys

import pytest

from anchornet_tf.trunks import registry, vit_descriptions
from anchornet_tf.trunks.description import Tap, TrunkDescription
from tests.repository.tree import ROOT


def _trunk(*taps, **changes):
    return TrunkDescription("own", "keras_model", {}, tuple(taps), **changes)


def test_the_paper_s_trunk_is_what_it_was():
    trunk = registry.find("resnet50")
    assert trunk.tap_names == ("res2c", "res4c", "res5c")
    assert trunk.channels == (256, 1024, 2048) and trunk.strides == (4, 16, 32)
    assert trunk.grids(224, 225) == ((56, 57), (14, 15), (7, 8))


@pytest.mark.parametrize(
    "side, seen", [(32, 28), (34, 28), (35, 42), (224, 224), (225, 224), (518, 518), (5, 14)]
)
def test_sides_are_rounded_to_whole_patches(side, seen):
    trunk = registry.find("dinov2_small")
    assert trunk.seen_size(side, None) == (seen, None)
    assert trunk.grids(side, 224)[0] == (seen // 14, 16)


def test_a_network_of_one_size_sees_that_size():
    trunk = _trunk(Tap("a", "a", 8, 3), input_size=(96, 64))
    assert trunk.seen_size(500, 300) == (96, 64) and trunk.grids(500, 300) == ((12, 8),)


def test_every_trunk_survives_json_and_has_terms():
    for name in registry.names():
        trunk = registry.find(name)
        again = TrunkDescription.from_json(json.loads(json.dumps(trunk.to_json())))
        assert again == trunk and registry.short_form(trunk) == name
        assert trunk.license and trunk.source and 1 <= len(trunk.taps) <= 4


def test_taps_behind_a_name():
    trunk = registry.find("dinov2_small/block3+block9")
    assert trunk.tap_names == ("block3", "block9") and trunk.name == "dinov2_small"
    assert registry.find("resnet50/res4c").strides == (16,)
    assert registry.short_form(trunk) == trunk.to_json()


def test_channels_that_are_kept():
    assert registry.find("convnext_tiny").depths(256) == (96, 256, 256)


@pytest.mark.parametrize(
    "taps, message",
    [
        ((), "one to 4 different taps. Received: none"),
        ([Tap(str(i), "x", 4, 3) for i in range(5)], "one to 4 different taps"),
        ([Tap("a", "x", 4, 3)] * 2, "different taps. Received: a, a"),
        ([Tap("a", "x", 16, 3), Tap("b", "y", 4, 3)], "finest tap first. Received: a of stride 16"),
    ],
)
def test_taps_that_cannot_be(taps, message):
    with pytest.raises(ValueError, match=message):
        _trunk(*taps)


@pytest.mark.parametrize(
    "trunk, message",
    [
        ("resnet18", "Expected a trunk of resnet50, .*Received: 'resnet18'"),
        ("weights.npz", "given separately, as `weights`. Received: 'weights.npz'"),
        ("dinov2_small/block13", "from block1 to block12, or norm. Received: block13"),
        ("dinov2_small/res4c", "Received: res4c"),
        ({"name": "x"}, "Expected the description of a trunk .*Received: "),
    ],
)
def test_trunks_that_are_not_there(trunk, message):
    with pytest.raises(ValueError, match=message):
        registry.find(trunk)


def test_words_that_are_not_known():
    tap = Tap("a", "a", 4, 3)
    with pytest.raises(ValueError, match="`preprocessing` must be one of .*Received: 'grey'"):
        _trunk(tap, preprocessing="grey")
    with pytest.raises(ValueError, match="`family` must be one of .*Received: 'jax'"):
        dataclasses.replace(_trunk(tap), family="jax")


def _hugging_face(folder, **changes):
    config = {
        "model_type": "dinov2",
        "hidden_size": 384,
        "num_hidden_layers": 12,
        "num_attention_heads": 6,
        "mlp_ratio": 4,
        "image_size": 518,
        "patch_size": 14,
        "layerscale_value": 1.0,
        **changes,
    }
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_folders_of_hugging_face(tmp_path):
    small = _hugging_face(tmp_path / "small")
    assert registry.find(small) == registry.find("dinov2_small")
    assert registry.find(f"{small}/block9").tap_names == ("block9",)
    assert registry.folder_of(f"{small}/block9") == registry.folder_of(small) == small
    other = registry.find(_hugging_face(tmp_path / "mine", num_hidden_layers=8))
    assert other.name == "mine" and other.tap_names == ("block4", "block6", "block8")
    with pytest.raises(ValueError, match="Expected a trunk of .*Received: "):
        registry.find(_hugging_face(tmp_path / "bert", model_type="bert"))
    lacking = _hugging_face(tmp_path / "lacking", patch_size=None)
    (lacking / "config.json").write_text('{"model_type": "dinov2"}')
    with pytest.raises(ValueError, match="config.json and model.safetensors.*Received: "):
        registry.find(lacking)


def test_published_names():
    assert vit_descriptions.published_name("dinov3_small") == "dinov3_vit_small_lvd1689m"
    registers = "dinov2_registers_base"
    assert vit_descriptions.published_name(registers) == "dinov2_with_registers_base"
    assert "facebook/dinov2-with-registers-base" in registry.find(registers).source
    assert "facebook/dinov2-small" in registry.find("dinov2_small").source


def test_descriptions_need_no_tensorflow():
    check = "import sys; from anchornet_tf.trunks import registry; registry.find('dinov3_base');"
    check += "assert 'tensorflow' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", check], cwd=ROOT).returncode == 0
