"""What a run of stage 1 is."""

import dataclasses
from collections.abc import Mapping

from anchornet_tf.training.config import (
    BANK_LOSS_WEIGHTS,
    background_option,
    check_batches,
    check_numbers,
    chosen_classes,
    classes_option,
    data_option,
    label_map_option,
    replaced_all,
    trunk_option,
    usual_sigma,
    weights_option,
)
from anchornet_tf.trunks import registry
from anchornet_tf.utils.config_fields import option


@dataclasses.dataclass(frozen=True)
class Stage1Config:
    """Stage 1: the banks of one or more classes, each on its own.

    The weights of the losses are those of the normalised losses (means over their terms). One class
    of the embedded data takes about five minutes on two cores; the model card has the times for
    real data.
    """

    classes: tuple[str, ...] = classes_option()
    data: str = data_option()
    background: str = background_option()
    label_map: str = label_map_option()
    pca: str = option(
        "",
        "PCA file of trainers.fit_pca. Default: the one that comes with the package for resnet50, "
        "or the one that trainers.fit_pca keeps for another trunk.",
    )
    trunk: str = trunk_option()
    weights: str = weights_option()
    image_size: int = option(224, "Side of the training images in pixels.")
    num_filters: int = option(
        64,
        "K, filters per class. 128 filters match better (with --weight_discr=3) and take twice as "
        "long.",
    )
    steps: int = option(300, "Steps in all. A finished run continues when this is raised.")
    batch_size: int = option(16, "Images per step and class; half of them are background.")
    learning_rate: float = option(0.3, "Learning rate of SGD.")
    momentum: float = option(0.9, "Momentum of SGD.")
    weight_decay: float = option(5e-4, "L2 penalty on the filters.")
    weight_discr: float = option(1.0, "Weight of L_Discr.")
    weight_aux: float = option(10.0, "Weight of L_Aux.")
    weight_div_a: float = option(100.0, "Weight of L_DivA, the diversity of the filters.")
    weight_div_b: float = option(100.0, "Weight of L_DivB, the diversity of the response maps.")
    sigma: float | None = option(
        None,
        "Standard deviation of the Gaussian of L_DivB, in cells. Default: 12 pixels, which are 3 "
        "cells of resnet50.",
    )
    cache_features: bool = option(
        True,
        "Compute the taps of --views fixed views of each image once and keep them on disk (1.7 MB "
        "per view of resnet50). With --nocache_features every step augments its images and runs "
        "the trunk.",
    )
    views: int = option(2, "Augmented views per image that are cached.")
    images_per_class: int | None = option(
        None,
        "Use at most this many training images of each class, drawn at random; 0 for all.",
        none=0,
    )
    heldout_fraction: float = option(
        0.1, "Share of the images kept for the summary, where the data has no split of its own."
    )
    seed: int = option(0, "Seed of everything that is random.")

    def __post_init__(self):
        object.__setattr__(self, "classes", chosen_classes(self.classes, self.data))
        stride = registry.find(self.trunk).strides[0]
        if self.sigma is None:
            object.__setattr__(self, "sigma", usual_sigma(stride))
        check_batches(self, ("num_filters", "steps", "batch_size", "views"))
        numbers = ("learning_rate", "momentum", "weight_decay", "sigma", "seed")
        check_numbers(self, (*numbers, *BANK_LOSS_WEIGHTS))
        if self.images_per_class is not None and self.images_per_class < 1:
            raise ValueError(
                f"`images_per_class` must be a positive integer. Received: {self.images_per_class}"
            )

    def of_data(self, images_per_class: Mapping[str, int]) -> "Stage1Config":
        """Returns the configuration with `all` replaced by the classes of the data.

        Args:
            images_per_class: the classes that the data has images of.
        """
        return replaced_all(self, images_per_class)
