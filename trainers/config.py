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
    learning_rate: float = 0.05
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
        for name in ("num_filters", "steps", "batch_size", "views"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"`{name}` must be a positive integer. Received: {getattr(self, name)}"
                )
        if self.batch_size % 2:
            raise ValueError(
                f"`batch_size` must be even: half positives, half background. Received: {self.batch_size}"
            )
        if self.image_size < 32:
            raise ValueError(f"`image_size` must be at least 32. Received: {self.image_size}")
        numbers = ("learning_rate", "momentum", "weight_decay", "sigma", "seed")
        numbers += ("weight_discr", "weight_aux", "weight_div_a", "weight_div_b")
        for name in numbers:
            value = getattr(self, name)
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
        return kind(**{**values, "classes": tuple(values["classes"])})
    except (OSError, KeyError, TypeError, json.JSONDecodeError) as error:
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
