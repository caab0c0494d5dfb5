"""What a run of stage 1 is."""

import dataclasses

from anchornet_tf.datasets import voc_classes
from anchornet_tf.training.config import BANK_LOSS_WEIGHTS, check_batches, check_numbers


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
        check_batches(self, ("num_filters", "steps", "batch_size", "views"))
        numbers = ("learning_rate", "momentum", "weight_decay", "sigma", "seed")
        check_numbers(self, (*numbers, *BANK_LOSS_WEIGHTS))
