"""A fixed linear map that evens out how strongly the directions of a descriptor vary."""

import keras
import numpy as np
import tensorflow as tf

# Directions that hardly vary hold rounding and little else: they must not be blown up.
_LEAST_VARIANCE = 1e-3


@keras.saving.register_keras_serializable(package="anchornet_tf")
class Equalizer(keras.layers.Layer):
    """Multiplies a descriptor with C^-strength, where C is its covariance over images of objects.

    Filters that see much the same vary together, and the few directions in which all of them vary
    decide what is nearest to what. With strength 1/2 every direction varies alike (whitening),
    which raises noise as well; 1/4 is halfway between that and leaving the descriptor as it is, and
    matches best. The layer is the identity until `fit` is called.

    Args:
        strength: float from 0 (the identity) to 0.5 (whitening).

    Input shape: `(..., channels)`, centred.
    Output shape: `(..., channels)`.

    Example:

    ```python
    import numpy as np
    from anchornet_tf import Equalizer

    descriptors = np.random.default_rng(0).normal(size=(1000, 64)).astype("float32")
    equalizer = Equalizer()
    equalizer.fit(np.cov(descriptors.T))
    evened_out = equalizer(descriptors)
    ```
    """

    def __init__(self, strength: float = 0.25, **kwargs):
        super().__init__(**kwargs)
        _check_strength(strength)
        self.strength = strength

    def build(self, input_shape):
        channels = input_shape[-1]
        if channels is None:
            raise ValueError(f"Expected a known number of channels. Received: {tuple(input_shape)}")
        self.matrix = self.add_weight(
            name="matrix", shape=(channels, channels), initializer="identity", trainable=False
        )

    def fit(self, covariance: np.ndarray, scale: float | None = None) -> None:
        """Sets the map for descriptors of this covariance.

        Args:
            covariance: `(channels, channels)`, symmetric.
            scale: float. The variance that is left as it is: weaker directions are raised, stronger
                ones lowered. None for the mean variance of these channels. For a part of a
                descriptor, that of the whole keeps the part's weight.

        Raises:
            ValueError: If the covariance has another shape, is not finite or is all zeros.
        """
        covariance = np.asarray(covariance, np.float64)
        channels = self.matrix.shape[0] if self.built else len(covariance)
        if covariance.shape != (channels, channels):
            raise ValueError(
                f"Expected a covariance of shape {(channels, channels)}. "
                f"Received: {covariance.shape}"
            )
        scale = np.trace(covariance) / channels if scale is None else scale
        if not np.isfinite(covariance).all() or scale <= 0:
            raise ValueError(
                "Expected a finite covariance with a positive trace. "
                f"Received: mean variance {scale}"
            )
        variance, directions = np.linalg.eigh(covariance / scale)
        factors = np.maximum(variance, _LEAST_VARIANCE) ** -self.strength
        if not self.built:
            self.build((None, channels))
            self.built = True
        self.matrix.assign(((directions * factors) @ directions.T).astype(np.float32))

    def change_strength(self, strength: float) -> None:
        """Turns a fitted map into the one of another strength.

        Args:
            strength: float from 0 (the identity) to 0.5.

        Raises:
            ValueError: If it is out of range, or the map has strength 0: the identity does not
                say which covariance it was fitted to.
        """
        _check_strength(strength)
        if strength == self.strength:
            return
        if self.strength == 0:
            raise ValueError(
                "Expected a map that was fitted with a strength above 0. Received: a map of "
                f"strength 0, to be changed to {strength}"
            )
        if self.built:
            # C^-a and C^-b have the same directions: one is a power of the other.
            factors, directions = np.linalg.eigh(np.asarray(self.matrix, np.float64))
            factors = factors ** (strength / self.strength)
            self.matrix.assign(((directions * factors) @ directions.T).astype(np.float32))
        self.strength = strength

    def call(self, descriptor):
        return tf.matmul(descriptor, tf.convert_to_tensor(self.matrix))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def compute_output_spec(self, descriptor):
        return keras.KerasTensor(descriptor.shape, dtype=self.compute_dtype)

    def get_config(self):
        return {**super().get_config(), "strength": self.strength}


def _check_strength(strength: float) -> None:
    if not 0 <= strength <= 0.5:
        raise ValueError(
            "Expected a `strength` (the `equalization` of a model) from 0 to 0.5. "
            f"Received: {strength}"
        )
