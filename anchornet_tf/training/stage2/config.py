"""What a run of stage 2 is."""

import dataclasses

from anchornet_tf.training.config import (
    BANK_LOSS_WEIGHTS,
    background_option,
    check_batches,
    check_numbers,
    data_option,
    label_map_option,
    usual_sigma,
    weights_option,
)
from anchornet_tf.utils.config_fields import option

# As in `anchornet_tf.models.anchornet`, which needs TensorFlow: flags must not.
GAMMAS = ("softplus", "whitened")
# As in `anchornet_tf.models.added_classes`.
ADDED_FILTERS = 16
ENCODER_STARTS = ("principal", "random")
LATENT_FILTERS = 256


@dataclasses.dataclass(frozen=True)
class Stage2Config:
    """Stage 2: banks of all classes joined by the class-agnostic layer.

    `banks` are folders of stage 1 runs; the trunk is theirs. The weights of the losses are those of
    the normalised losses; `lower_rate` multiplies the learning rate of everything below the
    autoencoder (paper section 4).

    A model among `banks` gets the classes of the others without a gradient step. Then only `data`,
    `weights`, `image_size`, `added_filters`, `batch_size`, `calibration_images`,
    `heldout_fraction` and `seed` count.
    """

    banks: tuple[str, ...] = option(
        (),
        "Folders of stage 1 runs: one run of all classes, or one per class. With a model among "
        "them, a preset such as voc20 or a model's folder, their classes are added to the model: "
        "nothing is trained, and --data need not show the model's own classes.",
        required=True,
    )
    data: str = data_option()
    background: str = background_option()
    label_map: str = label_map_option()
    weights: str = weights_option()
    image_size: int = option(224, "Side of the training images in pixels.")
    latent_filters: int | None = option(
        None,
        f"L, length of the class-agnostic descriptor. Default: {LATENT_FILTERS}, or half of the "
        "filters of all banks where that is less.",
        none=0,
    )
    added_filters: int = option(
        ADDED_FILTERS,
        "With a model among --banks: by how much the descriptor grows for each added class.",
    )
    gamma: str = option(
        "whitened",
        "What is compressed: whitened linear responses, or the softplus maps of the paper.",
        choices=GAMMAS,
    )
    encoder_start: str = option(
        "principal",
        "Where the encoder starts: at the principal directions of the maps, or at random ones.",
        choices=ENCODER_STARTS,
    )
    noise: float = option(0.25, "Share of the channels that are set to zero in training.")
    steps: int = option(200, "Steps in all. A finished run continues when this is raised.")
    batch_size: int = option(16, "Images per step; half of them are background.")
    learning_rate: float = option(0.01, "Learning rate of SGD for the encoder.")
    lower_rate: float = option(
        1e-4, "Factor of the learning rate for everything below the encoder."
    )
    momentum: float = option(0.9, "Momentum of SGD.")
    weight_decay: float = option(5e-4, "L2 penalty on banks and encoder.")
    weight_discr: float = option(1.0, "Weight of L_Discr.")
    weight_aux: float = option(10.0, "Weight of L_Aux.")
    weight_div_a: float = option(100.0, "Weight of L_DivA of the banks.")
    weight_div_b: float = option(100.0, "Weight of L_DivB.")
    weight_reconstruction: float = option(100.0, "Weight of L_R.")
    weight_div_encoder: float = option(100.0, "Weight of L_DivA of the encoder.")
    sigma: float | None = option(
        None,
        "Standard deviation of the Gaussian of L_DivB, in cells. Default: 12 pixels, which are 3 "
        "cells of resnet50.",
    )
    freeze_trunk: bool = option(False, "Keep the trunk and its PCA, and work on cached taps.")
    train_pca: bool = option(False, "Train the projections of the PCA too.")
    views: int = option(1, "Augmented views per image that are cached with --freeze_trunk.")
    calibration_images: int = option(
        240, "Images that the start of the encoder and the mean of the maps are measured on."
    )
    heldout_fraction: float = option(
        0.1, "Share of the images kept for the summary, where the data has no split of its own."
    )
    seed: int = option(0, "Seed of everything that is random.")

    def __post_init__(self):
        object.__setattr__(self, "banks", tuple(self.banks))
        if not self.banks:
            raise ValueError("Expected the folders of stage 1 runs in `banks`. Received: none")
        counts = ("added_filters", "steps", "batch_size", "views")
        counts += ("latent_filters",) if self.latent_filters is not None else ()
        check_batches(self, counts)
        numbers = ("learning_rate", "lower_rate", "momentum", "weight_decay", "seed")
        numbers += () if self.sigma is None else ("sigma",)
        numbers += (*BANK_LOSS_WEIGHTS, "weight_reconstruction", "weight_div_encoder")
        check_numbers(self, numbers)
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

    def of_banks(self, filters: int, stride: int) -> "Stage2Config":
        """Returns the configuration with what depends on the banks, unless it was given.

        Args:
            filters: int, of all banks.
            stride: int, pixels per cell of the finest tap of their trunk.

        Raises:
            ValueError: where the given length of the descriptor is greater than `filters`.
        """
        if self.sigma is None:
            return dataclasses.replace(self, sigma=usual_sigma(stride)).of_banks(filters, stride)
        if self.latent_filters is None:
            # Less than all of them: the layer is there to find what they have in common.
            return dataclasses.replace(
                self, latent_filters=min(LATENT_FILTERS, max(filters // 2, 1))
            )
        if self.latent_filters > filters:
            raise ValueError(
                f"`latent_filters` must be at most the filters of all banks, {filters}. "
                f"Received: {self.latent_filters}"
            )
        return self
