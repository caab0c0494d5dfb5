"""Small DINOv2 and DINOv3 with random weights: against keras-hub, in any size, from folders."""

import json
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from anchornet_tf.trunks import vit_descriptions
from anchornet_tf.trunks.backbone import Backbone
from anchornet_tf.trunks.preprocessing import preprocess

keras_hub = pytest.importorskip("keras_hub", reason="needs the extra hub-models")
safetensors_numpy = pytest.importorskip("safetensors.numpy", reason="needs the extra hub-models")

_CONFIGS = {
    "dinov2": {
        "model_type": "dinov2",
        "hidden_size": 24,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "mlp_ratio": 4,
        "image_size": 70,
        "patch_size": 14,
        "layerscale_value": 1.0,
        "use_swiglu_ffn": False,
        "hidden_dropout_prob": 0.0,
        "drop_path_rate": 0.0,
    },
    "dinov3": {
        "model_type": "dinov3_vit",
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 48,
        "image_size": 64,
        "patch_size": 16,
        "layerscale_value": 1.0,
        "num_register_tokens": 4,
        "hidden_act": "gelu",
        "use_gated_mlp": False,
        "query_bias": True,
        "key_bias": False,
        "value_bias": True,
        "proj_bias": True,
        "mlp_bias": True,
        "attention_dropout": 0.0,
        "drop_path_rate": 0.0,
        "layer_norm_eps": 1e-5,
        "rope_theta": 100.0,
    },
}
_CONFIGS["registers"] = _CONFIGS["dinov2"] | {
    "model_type": "dinov2_with_registers",
    "num_register_tokens": 4,
}
_TAPS = ("block1", "block3", "norm")


def _tensors(kind):
    """Returns random weights in Hugging Face's names and layouts (outputs by inputs)."""
    config, rng = _CONFIGS[kind], np.random.default_rng(0)
    wide, patch = config["hidden_size"], config["patch_size"]
    inner = config.get("intermediate_size", 4 * wide)
    shapes = {"embeddings.cls_token": (1, 1, wide)}
    third = kind == "dinov3"
    shapes["embeddings.mask_token"] = (1, 1, wide) if third else (1, wide)
    if "num_register_tokens" in config:
        shapes["embeddings.register_tokens"] = (1, 4, wide)
    projection = "embeddings.patch_embeddings" + ("" if third else ".projection")
    shapes |= {f"{projection}.weight": (wide, 3, patch, patch), f"{projection}.bias": (wide,)}
    if not third:
        cells = (config["image_size"] // patch) ** 2
        shapes["embeddings.position_embeddings"] = (1, cells + 1, wide)
    for number in range(config["num_hidden_layers"]):
        block = f"layer.{number}" if third else f"encoder.layer.{number}"
        if third:
            dense = {f"attention.{letter}_proj": (wide, wide) for letter in "qkvo"}
            dense |= {"mlp.up_proj": (inner, wide), "mlp.down_proj": (wide, inner)}
        else:
            names = [f"attention.attention.{name}" for name in ("query", "key", "value")]
            dense = dict.fromkeys([*names, "attention.output.dense"], (wide, wide))
            dense |= {"mlp.fc1": (inner, wide), "mlp.fc2": (wide, inner)}
        for name, shape in dense.items():
            shapes[f"{block}.{name}.weight"] = shape
            if name != "attention.k_proj":
                shapes[f"{block}.{name}.bias"] = shape[:1]
        for name in ("norm1", "norm2"):
            shapes |= {f"{block}.{name}.weight": (wide,), f"{block}.{name}.bias": (wide,)}
        shapes |= {f"{block}.layer_scale{index}.lambda1": (wide,) for index in (1, 2)}
    last = "norm" if third else "layernorm"
    shapes |= {f"{last}.weight": (wide,), f"{last}.bias": (wide,)}
    return {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}
    for kind, config in _CONFIGS.items():
        made[kind] = tmp_path_factory.mktemp(kind)
        (made[kind] / "config.json").write_text(json.dumps(config))
        safetensors_numpy.save_file(_tensors(kind), made[kind] / "model.safetensors")
    return made


@pytest.fixture(scope="module")
def trunks(folders):
    return {kind: Backbone(folder, taps=_TAPS) for kind, folder in folders.items()}


def _images(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (2, height, width, 3), dtype=np.uint8)


def _reference(folder, images, **options):
    """Returns keras-hub's own tokens after some blocks and after the last normalisation."""
    family = vit_descriptions.of_folder(folder).family
    kind = (
        keras_hub.models.DINOV2Backbone if family == "dinov2" else keras_hub.models.DINOV3Backbone
    )
    hub = kind.from_preset(str(folder), apply_layernorm=False, **options)
    outputs = {name: hub.pyramid_outputs[f"stage{name[-1]}"] for name in _TAPS[:2]}
    model = keras.Model(hub.inputs, [*outputs.values(), hub.output])
    return model(preprocess(images, "torch"), training=False)


@pytest.mark.parametrize("kind", _CONFIGS)
def test_tokens_are_keras_hubs(kind, folders, trunks):
    size = _CONFIGS[kind]["image_size"]
    # keras-hub's DINOv3 takes any size; its DINOv2 the one that positions were learned for.
    height, width = (size, 2 * size) if kind == "dinov3" else (size, size)
    images = _images(height, width)
    options = {"image_shape": (height, width, 3)} if kind == "dinov3" else {}
    prefix = 1 + _CONFIGS[kind].get("num_register_tokens", 0)
    taps = trunks[kind](images)
    assert [tuple(tap.shape) for tap in taps] == list(
        trunks[kind].compute_output_shape(images.shape)
    )
    for tap, tokens in zip(taps, _reference(folders[kind], images, **options), strict=True):
        expected = np.reshape(tokens[:, prefix:], tap.shape)
        np.testing.assert_allclose(tap, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("kind", _CONFIGS)
def test_any_size_in_a_graph_as_in_eager_mode(kind, trunks):
    trunk = trunks[kind]
    compute = tf.function(trunk, input_signature=[tf.TensorSpec((None, None, None, 3), tf.uint8)])
    patch = _CONFIGS[kind]["patch_size"]
    for height, width in ((3 * patch, 5 * patch), (67, 43)):
        images = _images(height, width)
        for left, right in zip(trunk(images), compute(images), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-3)
        assert trunk(images)[0].shape[1:3] == (round(height / patch), round(width / patch))


def test_what_no_tap_needs_is_left_out(folders):
    trunk = Backbone(folders["dinov2"], taps=("block1",))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(trunk(_images(56, 56))[0]))
    gradients = tape.gradient(loss, [variable.value for variable in trunk.trainable_variables])
    assert gradients and all(gradient is not None for gradient in gradients)


@pytest.mark.parametrize("kind", ["registers", "dinov3"])
def test_saves_and_loads_inside_a_keras_model(kind, trunks, tmp_path):
    inputs = keras.Input((None, None, 3), dtype="uint8")
    keras.Model(inputs, trunks[kind](inputs)).save(tmp_path / "trunk.keras")
    again = keras.saving.load_model(tmp_path / "trunk.keras")
    images = _images(64, 80)
    for left, right in zip(trunks[kind](images), again(images), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)


def test_folder_of_our_own(trunks, tmp_path):
    trunks["dinov3"].save_to_folder(tmp_path / "mine")
    again = Backbone(tmp_path / "mine")
    assert again.digest() == trunks["dinov3"].digest() and again.trunk == trunks["dinov3"].trunk


def test_weights_of_another_network(folders, tmp_path):
    with pytest.raises(ValueError, match="weights of dinov2_small. Received: .*hidden_dim 384"):
        Backbone("dinov2_small", weights=folders["dinov2"], taps=("block1",))
    (tmp_path / "config.json").write_text(json.dumps(_CONFIGS["dinov2"]))
    with pytest.raises(FileNotFoundError, match="model.safetensors beside .*Received: "):
        Backbone(tmp_path)
    tensors = _tensors("dinov2")
    tensors["encoder.layer.1.mlp.fc1.weight"] = np.zeros((5, 5), np.float32)
    safetensors_numpy.save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="in model.safetensors .*Received: "):
        Backbone(tmp_path)
    (tmp_path / "model.safetensors").write_text("version https://git-lfs")
    with pytest.raises(ValueError, match="in model.safetensors .*Received: "):
        Backbone(tmp_path)


def test_a_missing_extra(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_hub", None)
    with pytest.raises(ImportError, match=r"pip install 'anchornet_tf\[hub-models\]'. Received: "):
        Backbone(folders["dinov2"])
