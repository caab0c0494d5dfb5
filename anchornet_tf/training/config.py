"""What the configurations of all trainings share: how a run is carried out, and checks."""

import dataclasses
from collections.abc import Iterable, Sequence

from anchornet_tf.datasets.label_map import normal_form
from anchornet_tf.trunks import registry
from anchornet_tf.utils.config_fields import option

BANK_LOSS_WEIGHTS = ("weight_discr", "weight_aux", "weight_div_a", "weight_div_b")

STRATEGIES = ("auto", "one", "mirrored", "multiworker")

# The set of images that needs no file.
EMBEDDED = "parts_world"

# Stands for all classes that the data has images of.
ALL = "all"
_DRAWN_CLASS = "bird"


def classes_option():
    """Returns the field of a configuration that names the classes."""
    return option(
        (),
        "One class, several separated by commas, or all. Classes are the labels of the data. "
        f"Default: {_DRAWN_CLASS} of {EMBEDDED}, all classes of other data.",
        flag="class",
    )


def chosen_classes(classes: str | Sequence[str], data: str) -> tuple[str, ...]:
    """Returns the classes that a configuration names, in normal form, or the default.

    Args:
        classes: What was given; may be empty.
        data: Which images they are classes of.

    Raises:
        ValueError: If a class is named twice, or `all` beside others.
    """
    classes = classes or ((_DRAWN_CLASS,) if data == EMBEDDED else (ALL,))
    classes = tuple(map(normal_form, [classes] if isinstance(classes, str) else classes))
    if len(set(classes)) != len(classes):
        raise ValueError(f"Each class may be named once. Received: {', '.join(classes)}")
    if ALL in classes and len(classes) > 1:
        raise ValueError(f"`{ALL}` stands alone, for all classes. Received: {', '.join(classes)}")
    return classes


def replaced_all(config, names: Iterable[str]):
    """Returns a configuration with `all` replaced by the classes of the data, `names`."""
    if config.classes != (ALL,):
        return config
    return dataclasses.replace(config, classes=tuple(names) or (ALL,))


def data_option(**changes):
    """Returns the field of a configuration that names the images."""
    return option(
        EMBEDDED,
        f"Images with labels: {EMBEDDED}, folder:DIR, manifest:FILE.csv or tfds:NAME.",
        **changes,
    )


def background_option():
    """Returns the field that names images of background."""
    return option(
        "",
        "Further images, named like --data, that show none of the classes. Where there are none, "
        "nor any that are labelled background, classes are told apart from each other, and a "
        "single class from drawn pictures.",
    )


def label_map_option():
    """Returns the field that says what becomes of the labels."""
    return option(
        "",
        "A JSON file that merges labels, {label: class or background}; * stands for all labels "
        "that it does not name. voc20: PASCAL VOC's twenty classes and their ImageNet synsets, the "
        "default for tfds:imagenet2012 and tfds:voc.",
    )


def trunk_option():
    """Returns the field that names the trunk."""
    return option(
        registry.DEFAULT,
        f"The trunk: {', '.join(registry.names())}; or a folder, see docs/trunks.md. Taps may "
        "follow: dinov2_small/block6+block9.",
    )


def weights_option():
    """Returns the field that names the weights of the trunk."""
    return option(
        "imagenet",
        "Weights of the trunk: imagenet for those that its makers publish, or the path of a file "
        "(.npz; .h5 of Keras) or of a Hugging Face folder.",
    )


def usual_sigma(stride: int) -> float:
    """Returns the deviation of the Gaussian of L_DivB, in cells: 12 pixels, 3 of ResNet50's cells.

    Args:
        stride: int. Pixels per cell of the finest tap.
    """
    return 12 / stride


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
    """Raises where the named counts, the batch size or the image size cannot be."""
    for name in counts:
        if getattr(config, name) < 1:
            raise ValueError(
                f"`{name}` must be a positive integer. Received: {getattr(config, name)}"
            )
    if config.batch_size % 2:
        raise ValueError(
            "`batch_size` must be even: half positives, half background. "
            f"Received: {config.batch_size}"
        )
    if config.image_size < 32:
        raise ValueError(f"`image_size` must be at least 32. Received: {config.image_size}")


def check_numbers(config, names: tuple[str, ...]) -> None:
    """Raises where one of the named numbers is negative or not finite."""
    for name in names:
        value = getattr(config, name)
        if not 0 <= value < float("inf"):
            raise ValueError(f"`{name}` must be a finite number, at least 0. Received: {value}")
