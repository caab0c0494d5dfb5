"""What a run of stage 2 is."""

import dataclasses

from anchornet_tf.training.config import BANK_LOSS_WEIGHTS, check_batches, check_numbers

# As in `anchornet_tf.models.anchornet`, which needs TensorFlow: flags must not.
GAMMAS = ("softplus", "whitened")
ENCODER_STARTS = ("principal", "random")


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
        check_batches(self, ("latent_filters", "steps", "batch_size", "views"))
        numbers = ("learning_rate", "lower_rate", "momentum", "weight_decay", "sigma", "seed")
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
