"""DINOv2 and DINOv3 as descriptions: those with names, and those of Hugging Face folders."""

import json
import os
import pathlib

from anchornet_tf.trunks.description import Tap, TrunkDescription

CONFIG_FILE = "config.json"
NORMALISED = "norm"

# Hidden size, blocks, heads.
_SIZES = {
    "small": (384, 12, 6),
    "base": (768, 12, 12),
    "large": (1024, 24, 16),
}
_FAMILY_OF = {"dinov2": "dinov2", "dinov2_with_registers": "dinov2", "dinov3_vit": "dinov3"}
_LICENSES = {"dinov2": "Apache-2.0", "dinov3": "DINOv3 License (asks for consent)"}


def named() -> dict[str, TrunkDescription]:
    """Returns the trunks that have names."""
    found = {}
    for size in _SIZES:
        for name, architecture in (
            (f"dinov2_{size}", _dinov2(size, registers=0)),
            (f"dinov2_registers_{size}", _dinov2(size, registers=4)),
        ):
            found[name] = describe(name, "dinov2", architecture)
        found[f"dinov3_{size}"] = describe(f"dinov3_{size}", "dinov3", _dinov3(size))
    return found


def published_name(name: str) -> str:
    """Returns what keras-hub calls the published weights of a trunk."""
    if name.startswith("dinov3_"):
        return f"dinov3_vit_{name.removeprefix('dinov3_')}_lvd1689m"
    return name.replace("_registers_", "_with_registers_")


def published_repository(name: str) -> str:
    """Returns the Hugging Face repository with the published weights of a trunk."""
    if name.startswith("dinov3_"):
        letter = name.removeprefix("dinov3_")[0]
        return f"facebook/dinov3-vit{letter}16-pretrain-lvd1689m"
    return f"facebook/{published_name(name).replace('_', '-')}"


def describe(
    name: str, family: str, architecture: dict, taps: tuple[str, ...] = ()
) -> TrunkDescription:
    """Returns the description of a vision transformer.

    Args:
        name: What to call it.
        family: `"dinov2"` or `"dinov3"`.
        architecture: Arguments of keras-hub's backbone.
        taps: Which blocks: `"block9"`, or `"norm"` for the last tokens, normalised. By default the
            ends of the second, third and last quarter of the blocks.

    Raises:
        ValueError: If there is no such block.
    """
    blocks = architecture["num_layers"]
    defaults = dict.fromkeys(f"block{max(1, blocks * part // 4)}" for part in (2, 3, 4))
    taps = tuple(taps) or tuple(defaults)
    known = {NORMALISED, *(f"block{number}" for number in range(1, blocks + 1))}
    unknown = [tap for tap in taps if tap not in known]
    if unknown:
        raise ValueError(
            f"Expected taps of {name} from block1 to block{blocks}, or {NORMALISED}. "
            f"Received: {', '.join(unknown)}"
        )
    patch, channels = architecture["patch_size"], architecture["hidden_dim"]
    return TrunkDescription(
        name=name,
        family=family,
        architecture=architecture,
        taps=tuple(Tap(tap, tap, patch, channels) for tap in taps),
        preprocessing="torch",
        multiple=patch,
        license=_LICENSES[family],
        source=f"keras-hub, or a Hugging Face folder such as {published_repository(name)}",
    )


def is_folder(folder: str | os.PathLike) -> bool:
    """Tells whether a folder is one of Hugging Face's with a model that we know."""
    try:
        config = json.loads((pathlib.Path(folder) / CONFIG_FILE).read_text())
        return config.get("model_type") in _FAMILY_OF
    except (OSError, ValueError, AttributeError):
        return False


def of_folder(folder: str | os.PathLike) -> TrunkDescription:
    """Returns the description of a Hugging Face folder, from its `config.json`.

    A network that has a name gets it; another is named after its folder.

    Raises:
        ValueError: If the folder is that of another kind of model.
    """
    folder = pathlib.Path(folder)
    try:
        config = json.loads((folder / CONFIG_FILE).read_text())
        family = _FAMILY_OF[config["model_type"]]
        architecture = _from_hugging_face(family, config)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"Expected a folder with the {CONFIG_FILE} and model.safetensors of a model of type "
            f"{', '.join(_FAMILY_OF)} ({error}). Received: {folder}"
        ) from error
    made = describe(folder.resolve().name, family, architecture)
    for description in named().values():
        if description.family == family and description.architecture == architecture:
            return description
    return made


def _dinov2(size: str, registers: int) -> dict:
    hidden, blocks, heads = _SIZES[size]
    return {
        "patch_size": 14,
        "num_layers": blocks,
        "hidden_dim": hidden,
        "num_heads": heads,
        "intermediate_dim": 4 * hidden,
        "layer_scale_init_value": 1.0,
        "num_register_tokens": registers,
        "use_swiglu_ffn": False,
        "position_embedding_shape": [518, 518],
    }


def _dinov3(size: str) -> dict:
    hidden, blocks, heads = _SIZES[size]
    return {
        "patch_size": 16,
        "num_layers": blocks,
        "hidden_dim": hidden,
        "num_heads": heads,
        "intermediate_dim": 4 * hidden,
        "layer_scale_init_value": 1.0,
        "num_register_tokens": 4,
        "hidden_activation": "gelu",
        "use_gated_mlp": False,
        "use_query_bias": True,
        "use_key_bias": False,
        "use_value_bias": True,
        "use_proj_bias": True,
        "use_mlp_bias": True,
        "layer_norm_eps": 1e-5,
        "rope_theta": 100.0,
    }


def _from_hugging_face(family: str, config: dict) -> dict:
    common = {
        "patch_size": config["patch_size"],
        "num_layers": config["num_hidden_layers"],
        "hidden_dim": config["hidden_size"],
        "num_heads": config["num_attention_heads"],
        "layer_scale_init_value": float(config.get("layerscale_value", 1.0)),
    }
    if family == "dinov2":
        return {
            **common,
            "intermediate_dim": int(config["hidden_size"] * config["mlp_ratio"]),
            "num_register_tokens": config.get("num_register_tokens", 0),
            "use_swiglu_ffn": config.get("use_swiglu_ffn", False),
            "position_embedding_shape": [config["image_size"]] * 2,
        }
    theta = (config.get("rope_parameters") or {}).get("rope_theta", config.get("rope_theta", 100.0))
    return {
        **common,
        "intermediate_dim": config["intermediate_size"],
        "num_register_tokens": config["num_register_tokens"],
        "hidden_activation": config.get("hidden_act", "gelu"),
        "use_gated_mlp": config.get("use_gated_mlp", False),
        "use_query_bias": config.get("query_bias", True),
        "use_key_bias": config.get("key_bias", False),
        "use_value_bias": config.get("value_bias", True),
        "use_proj_bias": config.get("proj_bias", True),
        "use_mlp_bias": config.get("mlp_bias", True),
        "layer_norm_eps": config.get("layer_norm_eps", 1e-5),
        "rope_theta": float(theta),
    }
