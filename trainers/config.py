"""What a training run is, as frozen values that are written beside its results."""

import dataclasses
import json
import os
import pathlib

from anchornet_tf import files
from anchornet_tf.datasets import voc_classes

CONFIG_NAME = "config.json"

# A finished run may be continued to more steps; everything else must stay.
_MAY_CHANGE = {"steps"}

_STAGE1_WEIGHTS = ("weight_discr", "weight_aux", "weight_div_a", "weight_div_b")
# As in `anchornet_tf.models.anchornet`, which needs TensorFlow: flags must not.
GAMMAS = ("softplus", "whitened")
ENCODER_STARTS = ("principal", "random")


@dataclasses.dataclass(frozen=True)
class Stage1Config:
    """Stage 1: the banks of one or more classes, each on its own.

    The weights of the losses are those of the normalised losses (means over their terms). Five minutes for one class of
    the embedded data on two cores, see the model card for real data.
    """

    classes: tuple[str, ...] = ("bird",)
    data: str = "parts_world"
    pca: str = ""
    weights: str = "imagenet"
    image_size: int = 224
    num_filters: int = 64
    steps: int = 300
    batch_size: int = 16
    learning_rate: float = 0.3
    momentum: float = 0.9
    weight_decay: float = 5e-4
    weight_discr: float = 1.0
    weight_aux: float = 10.0
    weight_div_a: float = 100.0
    weight_div_b: float = 100.0
    sigma: float = 3.0
    cache_features: bool = True
    views: int = 2
    heldout_fraction: float = 0.1
    seed: int = 0

    def __post_init__(self):
        object.__setattr__(self, "classes", voc_classes.check_classes(self.classes))
        _check_batches(self, ("num_filters", "steps", "batch_size", "views"))
        numbers = ("learning_rate", "momentum", "weight_decay", "sigma", "seed")
        _check_numbers(self, (*numbers, *_STAGE1_WEIGHTS))


@dataclasses.dataclass(frozen=True)
class Stage2Config:
    """Stage 2: banks of all classes joined by the class-agnostic layer.

    `banks` are folders of stage 1 runs. The weights of the losses are those of the normalised losses; `lower_rate`
    multiplies the learning rate of everything below the autoencoder (paper section 4).
    """

    banks: tuple[str, ...] = ()
    data: str = "parts_world"
    weights: str = "imagenet"
    image_size: int = 224
    latent_filters: int = 256
    gamma: str = "whitened"
    encoder_start: str = "principal"
    noise: float = 0.25
    steps: int = 200
    batch_size: int = 16
    learning_rate: float = 0.01
    lower_rate: float = 1e-4
    momentum: float = 0.9
    weight_decay: float = 5e-4
    weight_discr: float = 1.0
    weight_aux: float = 10.0
    weight_div_a: float = 100.0
    weight_div_b: float = 100.0
    weight_reconstruction: float = 100.0
    weight_div_encoder: float = 100.0
    sigma: float = 3.0
    freeze_trunk: bool = False
    train_pca: bool = False
    views: int = 1
    calibration_images: int = 240
    heldout_fraction: float = 0.1
    seed: int = 0

    def __post_init__(self):
        object.__setattr__(self, "banks", tuple(self.banks))
        if not self.banks:
            raise ValueError("Expected the folders of stage 1 runs in `banks`. Received: none")
        _check_batches(self, ("latent_filters", "steps", "batch_size", "views"))
        numbers = ("learning_rate", "lower_rate", "momentum", "weight_decay", "sigma", "seed")
        numbers += (*_STAGE1_WEIGHTS, "weight_reconstruction", "weight_div_encoder")
        _check_numbers(self, numbers)
        for name, values in (("gamma", GAMMAS), ("encoder_start", ENCODER_STARTS)):
            if getattr(self, name) not in values:
                raise ValueError(
                    f"Expected `{name}` of {', '.join(values)}. Received: {getattr(self, name)!r}"
                )
        if not 0 <= self.noise < 1:
            raise ValueError(f"`noise` must be at least 0 and below 1. Received: {self.noise}")
        if self.calibration_images < 2:
            raise ValueError(
                f"`calibration_images` must be at least 2. Received: {self.calibration_images}"
            )
        if self.freeze_trunk and self.train_pca:
            raise ValueError(
                "The PCA is trained with the trunk. Received: freeze_trunk and train_pca together"
            )


def _check_batches(config, counts: tuple[str, ...]) -> None:
    for name in counts:
        if getattr(config, name) < 1:
            raise ValueError(
                f"`{name}` must be a positive integer. Received: {getattr(config, name)}"
            )
    if config.batch_size % 2:
        raise ValueError(
            f"`batch_size` must be even: half positives, half background. Received: {config.batch_size}"
        )
    if config.image_size < 32:
        raise ValueError(f"`image_size` must be at least 32. Received: {config.image_size}")


def _check_numbers(config, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(config, name)
        if not 0 <= value < float("inf"):
            raise ValueError(f"`{name}` must be a finite number, at least 0. Received: {value}")


def save(config, folder: str | os.PathLike) -> None:
    """Writes a configuration into its run's folder."""
    with files.atomic_file(pathlib.Path(folder) / CONFIG_NAME) as temporary:
        temporary.write_text(json.dumps(dataclasses.asdict(config), indent=2) + "\n")


def load(kind: type, folder: str | os.PathLike):
    """Reads the configuration of a run's folder.

    Raises:
        ValueError: where the folder is not that of a run of this kind.
    """
    path = pathlib.Path(folder) / CONFIG_NAME
    try:
        values = json.loads(path.read_text())
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return kind(**{**values, **lists})
    except (OSError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"Expected the folder of a {kind.__name__.removesuffix('Config').lower()} run ({error}). "
            f"Received: {folder}"
        ) from error


def check_same(config, folder: str | os.PathLike) -> None:
    """Raises where a folder holds a run of another configuration; takes the folder over when it is new."""
    if not (pathlib.Path(folder) / CONFIG_NAME).exists():
        return
    there = dataclasses.asdict(load(type(config), folder))
    here = dataclasses.asdict(config)
    changed = [name for name in here if name not in _MAY_CHANGE and here[name] != there[name]]
    if changed:
        difference = ", ".join(f"{name} {there[name]} there, {here[name]} here" for name in changed)
        raise ValueError(
            "Expected the configuration that the run in this folder was started with; name another --workdir or "
            f"remove that one. Received: {folder} with {difference}"
        )
