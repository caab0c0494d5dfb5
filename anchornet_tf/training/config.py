"""Configurations of training runs: checks, and the file beside a run's results."""

import dataclasses
import json
import os
import pathlib

from anchornet_tf.utils import files
from anchornet_tf.utils.options import option

CONFIG_NAME = "config.json"
BANK_LOSS_WEIGHTS = ("weight_discr", "weight_aux", "weight_div_a", "weight_div_b")

STRATEGIES = ("auto", "one", "mirrored", "multiworker")

# A finished run may be continued to more steps; everything else must stay.
_MAY_CHANGE = {"steps"}


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """How a run is carried out: nothing that changes what is trained."""

    workdir: str = option("", "Folder of the run.")
    cache_dir: str | None = option(
        None, "Folder of the cached taps. Default: the folder taps in the cache folder."
    )
    strategy: str = option("auto", "Where to train, through tf.distribute.", choices=STRATEGIES)
    checkpoint_every: int = option(50, "Steps between checkpoints.")

    def __post_init__(self):
        if self.checkpoint_every < 1:
            raise ValueError(
                f"`checkpoint_every` must be a positive integer. Received: {self.checkpoint_every}"
            )


def check_batches(config, counts: tuple[str, ...]) -> None:
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


def check_numbers(config, names: tuple[str, ...]) -> None:
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
