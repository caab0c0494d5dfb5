"""Factories of the descriptors that a network computes; `get_descriptor` calls them by name."""

import functools
import os
import pathlib

import tensorflow as tf

from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.features.look_twice import LookTwice, probe_of
from anchornet_tf.features.shipped_confidence import shipped_confidence
from anchornet_tf.layers import hypercolumn
from anchornet_tf.layers.anchor_bank import AnchorBank
from anchornet_tf.models import folding, presets
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.trunks import pca, registry
from anchornet_tf.trunks.backbone import Backbone

Model = AnchorNet | str | os.PathLike
Bank = AnchorBank | BankFile | str | os.PathLike
Size = int | tuple[int, int] | None

# Each part of the hypercolumn is a descriptor of its own too, as a baseline of the paper.
_TAP_OF = {"res2c": 0, "res4c": 1, "res5c": 2}
_EPSILON = 1e-12


def class_agnostic(
    model: Model = presets.DEFAULT,
    equalization: float | None = None,
    image_size: Size = 224,
    batch_size: int = 8,
    blur: float = 0.0,
    fine_rank: int | None = None,
    look_twice: int = 0,
) -> DeepDescriptor | LookTwice:
    """Makes the descriptor `"anchornet"`: the class-agnostic anchors of a model, 256-D.

    Args:
        model: An `AnchorNet`, the folder of one, or the name of a preset.
        equalization: float. As in `AnchorNet.from_preset`; only for a folder or a preset.
        image_size: As in `DeepDescriptor`.
        batch_size: As in `DeepDescriptor`.
        blur: As in `DeepDescriptor`.
        fine_rank: int. How many of the 256 channels of the fine tap the filters see. 64 make the
            descriptor a sixth cheaper and change PCK by 0.002 at most; None for all.
        look_twice: int. Size in pixels at which the object of each image is looked at again, see
            `LookTwice`; 0 to look once. 224 is more accurate at twice the cost, 320 more so.

    Raises:
        ValueError: If there is no such model, or a number is out of range.
    """
    loaded = load_model(model, equalization)
    network = folding.features_function(loaded, _is_ours(model), fine_rank)
    if _is_ours(model):
        # Nothing in it needs AutoGraph, which takes longer to rewrite it than TensorFlow to trace
        # it. A model that somebody made may hold a trunk of theirs that does.
        network = tf.autograph.experimental.do_not_convert(network)
    describe = DeepDescriptor(network, image_size, batch_size, blur, loaded.confidence)
    return _looking_twice(describe, look_twice) if look_twice else describe


def of_one_class(
    model: Model | None = None,
    class_name: str | None = None,
    bank: Bank | None = None,
    extractor: TapExtractor | None = None,
    equalization: float | None = None,
    image_size: Size = 224,
    batch_size: int = 8,
    blur: float = 0.0,
    weights: str | os.PathLike | None = None,
) -> DeepDescriptor:
    """Makes the descriptor `"anchornet-class"`: the anchors of one class, 64-D.

    The anchors come from one class of a model, or from a bank without a model.

    Args:
        model: An `AnchorNet`, the folder of one, or the name of a preset; None for the default
            preset, unless a bank is given.
        class_name: The class of the model whose anchors to use.
        bank: The file of a bank that `trainers.stage1` wrote, a `BankFile` or an `AnchorBank`.
        extractor: The `TapExtractor` that a bank works on; a model has its own. None for the
            trunk that the bank was trained on, with the PCA that lies in the run of its file, or
            else with the trunk's own.
        equalization: float. As in `AnchorNet.from_preset`; not for an `AnchorNet` or `AnchorBank`.
        image_size: As in `DeepDescriptor`.
        batch_size: As in `DeepDescriptor`.
        blur: As in `DeepDescriptor`.
        weights: Where the weights of a bank's trunk are now; None for where they were when it was
            trained.

    Raises:
        ValueError: If the arguments do not go together, the model does not have the class, or the
            bank was trained on another trunk or PCA.
    """
    if (bank is None) == (class_name is None) or (bank is not None and model is not None):
        raise ValueError(
            "Expected a bank, or a model with a class_name, for the descriptor 'anchornet-class': "
            "bank=FILE, or class_name=NAME for the default preset. "
            f"Received: bank={bank!r}, model={model!r}, class_name={class_name!r}"
        )
    if bank is None:
        if extractor is not None:
            raise ValueError(
                "Expected no extractor beside a model, which has its own. "
                f"Received: extractor={extractor!r}"
            )
        model = presets.DEFAULT if model is None else model
        network = folding.class_function(
            load_model(model, equalization), class_name, fixed=_is_ours(model)
        )
    else:
        extractor = extractor or _extractor_beside(bank, weights)
        responses = _bank_function(bank, extractor, equalization)

        def network(images):
            return responses(extractor.taps(images))

    confidence = shipped_confidence("anchornet-class")
    return DeepDescriptor(network, image_size, batch_size, blur, confidence)


def residual_hypercolumn(
    extractor: TapExtractor | None = None,
    image_size: Size = 224,
    batch_size: int = 8,
    blur: float = 0.0,
    look_twice: int = 0,
    trunk: str | os.PathLike = registry.DEFAULT,
    weights: str | os.PathLike = "imagenet",
    pca_file: str | os.PathLike | None = None,
) -> DeepDescriptor | LookTwice:
    """Makes the descriptor `"hc"`: the residual hypercolumn, 768-D for ResNet50.

    Args:
        extractor: A `TapExtractor`, or None for one made of the last three arguments.
        image_size: As in `DeepDescriptor`.
        batch_size: As in `DeepDescriptor`.
        blur: As in `DeepDescriptor`.
        look_twice: As in `class_agnostic`.
        trunk: As in `Backbone`.
        weights: As in `Backbone`.
        pca_file: What `trainers.fit_pca` wrote; None for the trunk's own, see `TapExtractor`.

    Raises:
        ValueError: If there is no such trunk, or no PCA of it.
    """
    taps = (extractor or _extractor(str(trunk), str(weights), pca_file and str(pca_file))).taps
    describe = DeepDescriptor(
        lambda images: hypercolumn.stack(taps(images)),
        image_size,
        batch_size,
        blur,
        shipped_confidence("hc"),
    )
    return _looking_twice(describe, look_twice) if look_twice else describe


def one_tap(
    name: str,
    extractor: TapExtractor | None = None,
    image_size: Size = 224,
    batch_size: int = 8,
    blur: float = 0.0,
) -> DeepDescriptor:
    """Makes the descriptor `"res2c"`, `"res4c"` or `"res5c"`: one tap after PCA, 256-D.

    Args:
        name: `"res2c"`, `"res4c"` or `"res5c"`.
        extractor: As in `residual_hypercolumn`.
        image_size: As in `DeepDescriptor`.
        batch_size: As in `DeepDescriptor`.
        blur: As in `DeepDescriptor`.
    """
    taps, index = (extractor or _default_extractor()).taps, _TAP_OF[name]
    return DeepDescriptor(lambda images: taps(images)[index], image_size, batch_size, blur)


def raw_taps(
    name: str,
    weights: str | os.PathLike = "imagenet",
    image_size: Size = 224,
    batch_size: int = 8,
    blur: float = 0.0,
) -> DeepDescriptor:
    """Makes the descriptor `"taps:TRUNK/TAP"`: activations of a trunk as they are, without PCA.

    `"taps:dinov2_small/block9"` is what people match DINOv2 with. Several taps, `"block6+block9"`,
    are scaled to unit length each and stacked on the grid of the finest; without any, those that
    the trunk has by default.

    Args:
        name: The trunk with its taps, as in `Backbone`.
        weights: As in `Backbone`.
        image_size: As in `DeepDescriptor`.
        batch_size: As in `DeepDescriptor`.
        blur: As in `DeepDescriptor`.

    Raises:
        ValueError: If there is no such trunk or tap.
    """
    backbone = _shared_trunk(str(name), str(weights))

    def network(images):
        taps = backbone(images)
        if len(taps) == 1:
            return taps[0]
        return hypercolumn.stack(
            [tf.math.l2_normalize(tap, axis=-1, epsilon=_EPSILON) for tap in taps]
        )

    return DeepDescriptor(network, image_size, batch_size, blur)


def _looking_twice(describe: DeepDescriptor, size: int) -> LookTwice:
    return LookTwice(describe, probe_of(describe.confidence), size)


@functools.cache
def _default_extractor() -> TapExtractor:
    """Returns the one trunk that all descriptors of a process share: it takes 100 MB."""
    return TapExtractor()


@functools.lru_cache(maxsize=2)
def _shared_trunk(trunk: str, weights: str) -> Backbone:
    """Returns the one copy of a trunk that is named twice."""
    if registry.find(trunk) == registry.find(registry.DEFAULT) and weights == "imagenet":
        return shared_backbone()
    return Backbone(trunk, weights)


@functools.lru_cache(maxsize=2)
def _extractor(trunk: str, weights: str, pca_file: str | None) -> TapExtractor:
    """Returns the extractor of a trunk; descriptors that name the same one share it."""
    usual = registry.find(trunk) == registry.find(registry.DEFAULT) and weights == "imagenet"
    if usual and pca_file is None:
        return _default_extractor()
    projections = pca.HypercolumnPCA.load(pca_file) if pca_file else None
    return TapExtractor(_shared_trunk(trunk, weights), projections)


def shared_backbone() -> Backbone:
    """Returns the ImageNet trunk that all descriptors of a process share."""
    return _default_extractor().backbone


def _extractor_beside(bank: Bank, weights: str | os.PathLike | None) -> TapExtractor:
    """Returns a bank's trunk with the PCA beside it: RUN/pca.npz for a file RUN/banks/CLASS.npz."""
    backbone, file = _trunk_of(bank, weights), None
    if isinstance(bank, str | os.PathLike):
        file = pathlib.Path(bank).resolve().parent.parent / "pca.npz"
    usual = backbone.trunk == registry.find(registry.DEFAULT)
    if file is not None and file.is_file():
        projections = pca.HypercolumnPCA.load(file)
        if not usual or projections.digest() != pca.shipped().digest():
            # The trunk, which is the large part, is shared.
            return TapExtractor(backbone, projections)
    return _default_extractor() if usual else TapExtractor(backbone)


def _trunk_of(bank: Bank, weights: str | os.PathLike | None) -> Backbone:
    if isinstance(bank, str | os.PathLike):
        bank = BankFile.load(bank)
    if not isinstance(bank, BankFile) or bank.trunk is None:
        return shared_backbone()
    given = weights or bank.record.get("weights", "imagenet")
    trunk = bank.trunk["name"]
    if bank.trunk_description.name == registry.DEFAULT and given == "imagenet":
        backbone = shared_backbone()
    elif isinstance(trunk, str):
        backbone = _shared_trunk(trunk, str(given))
    else:
        # Its weights lie in the folder that it was named by, unless they were given.
        named = weights or registry.folder_of(bank.record.get("trunk", "")) or given
        backbone = Backbone(trunk, named)
    bank.check_trunk(backbone.digest)
    return backbone


@functools.cache
def _shipped(name: str, equalization: float | None) -> AnchorNet:
    """Returns the one copy of a preset, which never changes, with the trunk that all share."""
    trunk = _default_extractor().backbone
    return AnchorNet.from_preset(name, weights=trunk, equalization=equalization)


def load_model(model: Model = presets.DEFAULT, equalization: float | None = None) -> AnchorNet:
    """Returns the model that descriptors of these arguments use; presets share one trunk.

    Args:
        model: As in `class_agnostic`.
        equalization: As in `class_agnostic`.

    Raises:
        ValueError: As in `class_agnostic`.
    """
    if isinstance(model, str | os.PathLike):
        if presets.is_shipped(model):
            return _shipped(str(model), equalization)
        return AnchorNet.from_preset(model, equalization=equalization)
    _check_not_made(equalization)
    return model


def _is_ours(model: Model) -> bool:
    """Tells whether nobody else holds a model, so that its variables never change."""
    return isinstance(model, str | os.PathLike)


def _bank_function(bank: Bank, extractor: TapExtractor, equalization: float | None):
    """Returns a function from taps to the responses of a bank."""
    if isinstance(bank, AnchorBank):
        _check_not_made(equalization)
        return bank
    file = bank if isinstance(bank, BankFile) else BankFile.load(bank)
    if file.pca_digest != extractor.pca_digest:
        raise ValueError(
            f"Expected a bank trained on the extractor's PCA {extractor.pca_digest}; make a "
            f"`TapExtractor` with the run's pca.npz. Received: a bank of PCA {file.pca_digest}"
        )
    return folding.bank_function(file.bank(), file.equalizer_layer(equalization))


def _check_not_made(equalization: float | None) -> None:
    if equalization is not None:
        raise ValueError(
            "Expected `equalization` only with the name or path of a model or bank: an object has "
            f"its own. Received: equalization={equalization}"
        )
