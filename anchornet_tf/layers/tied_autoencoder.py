"""The class-agnostic layer: an autoencoder whose decoder is the transpose of its encoder."""

import keras
import numpy as np
import tensorflow as tf


@keras.saving.register_keras_serializable(package="anchornet_tf")
class TiedAutoencoder(keras.layers.Layer):
    """Compresses the stacked response maps of all classes to filters that belong to no class.

    Encoder and decoder are 1x1 convolutions without bias or non-linearity that share one kernel.
    The maps Gamma are centred by a mean that is estimated online: `update_mean` moves it,
    everything else uses it as it is.

    Calling the layer gives the class-agnostic descriptor, `encode(gamma)`, in training too. A
    training step is:

    ```python
    centred = autoencoder.centre(gamma)
    reconstructed = autoencoder.reconstruct(centred, training=True, seed=seed)
    loss = reconstruction_loss(centred, reconstructed, is_positive)
    ```

    Args:
        latent_filters: int. L, the length of the descriptor.
        noise: float from 0 to 1. The share of channels that `corrupt` sets to zero.
        momentum: float from 0 to 1. Of the running mean.
        kernel_initializer: of the shared kernel.

    Input shape: `(batch, height, width, channels)`, the K filters of N classes: K * N channels.
    Output shape: `(batch, height, width, latent_filters)`.

    Example:

    ```python
    import tensorflow as tf
    from anchornet_tf import TiedAutoencoder

    response_maps = tf.ones((1, 56, 56, 20 * 64))
    descriptor = TiedAutoencoder(256)(response_maps)  # (1, 56, 56, 256)
    ```

    Reference: Novotny et al., AnchorNet, CVPR 2017, section 3.
    """

    def __init__(
        self,
        latent_filters: int = 256,
        noise: float = 0.25,
        momentum: float = 0.99,
        kernel_initializer="orthogonal",
        **kwargs,
    ):
        super().__init__(**kwargs)
        if latent_filters < 1:
            raise ValueError(
                f"`latent_filters` must be a positive integer. Received: {latent_filters}"
            )
        if not 0 <= noise <= 1:
            raise ValueError(f"`noise` must be between 0 and 1. Received: {noise}")
        if not 0 <= momentum <= 1:
            raise ValueError(f"`momentum` must be between 0 and 1. Received: {momentum}")
        self.latent_filters = latent_filters
        self.noise = noise
        self.momentum = momentum
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, input_shape):
        channels = input_shape[-1]
        if channels is None:
            raise ValueError(f"Expected a known number of channels. Received: {tuple(input_shape)}")
        self.kernel = self.add_weight(
            name="kernel",
            shape=(1, 1, channels, self.latent_filters),
            initializer=self.kernel_initializer,
        )
        # The mean over replicas of a moving average is the moving average of the whole batch.
        self.running_mean = self.add_weight(
            name="running_mean",
            shape=(channels,),
            initializer="zeros",
            trainable=False,
            aggregation="mean",
        )

    def centre(self, gamma) -> tf.Tensor:
        """Returns Gamma^ = Gamma - mu: the maps minus the running mean of each channel."""
        self._build_for(gamma)
        return gamma - tf.convert_to_tensor(self.running_mean)

    def update_mean(self, gamma) -> None:
        """Moves the running mean towards that of a batch; replicas of a strategy agree.

        A batch without images leaves the mean as it is.
        """
        self._build_for(gamma)
        old = tf.convert_to_tensor(self.running_mean)
        mean = tf.reduce_mean(gamma, axis=(0, 1, 2))
        mean = tf.where(tf.size(gamma) > 0, mean, old)
        self.running_mean.assign(old + (1 - self.momentum) * (mean - old))

    def project(self, centred) -> tf.Tensor:
        """Returns F^S * x of maps that are centred already."""
        self._build_for(centred)
        return tf.nn.conv2d(centred, tf.convert_to_tensor(self.kernel), 1, "SAME")

    def encode(self, gamma) -> tf.Tensor:
        """Returns the descriptor F^S * Gamma^ of maps as the banks give them."""
        return self.project(self.centre(gamma))

    def decode(self, code) -> tf.Tensor:
        """Returns the centred maps that a code stands for: the adjoint of `project`.

        Raises:
            ValueError: If the layer has not seen maps yet and does not know their channels.
        """
        if not self.built:
            raise ValueError("Expected a layer that has encoded before. Received: an unbuilt layer")
        kernel = tf.convert_to_tensor(self.kernel)
        channels = kernel.shape[2]
        shape = tf.concat([tf.shape(code)[:3], [channels]], axis=0)
        decoded = tf.nn.conv2d_transpose(code, kernel, shape, 1, "SAME")
        return tf.ensure_shape(decoded, (*code.shape[:3], channels))

    def corrupt(self, centred, training: bool = False, seed=None) -> tf.Tensor:
        """Returns c(Gamma^): random channels of each image set to zero, the others as they were.

        Args:
            centred: `(batch, height, width, channels)`.
            training: bool. Without it nothing is changed.
            seed: `(2,)` integers, or `(batch, 2)`, one pair per image: an image's noise then does
                not depend on the batch or the replica that it is in. The same seed gives the same
                channels.

        Returns:
            tensor like `centred`; exactly `round(noise * channels)` channels of each image are
            zero.

        Raises:
            ValueError: If `training` is set without a seed.
        """
        if not training:
            return centred
        if seed is None:
            raise ValueError("Expected a seed of two integers in training. Received: seed=None")
        channels = centred.shape[-1]
        draws = _uniform(tf.convert_to_tensor(seed), tf.shape(centred)[0], channels)
        # Twice sorted: the rank of each channel's draw, so that the share is exact in every image.
        ranks = tf.argsort(tf.argsort(draws, axis=-1), axis=-1)
        kept = tf.cast(ranks >= round(self.noise * channels), centred.dtype)
        return centred * kept[:, None, None, :]

    def reconstruct(self, centred, training: bool = False, seed=None) -> tf.Tensor:
        """Returns F^S^T F^S c(Gamma^) of centred maps, with the noise of `corrupt` in training."""
        return self.decode(self.project(self.corrupt(centred, training, seed)))

    def set_components(self, components: np.ndarray, mean: np.ndarray) -> None:
        """Takes over a fitted basis.

        Args:
            components: `(channels, latent_filters)`, one filter per column.
            mean: `(channels,)`.

        Raises:
            ValueError: If the shapes disagree with each other or with this layer.
        """
        components, mean = np.asarray(components), np.asarray(mean)
        channels = self.kernel.shape[2] if self.built else len(components)
        expected = (channels, self.latent_filters)
        if components.shape != expected or mean.shape != expected[:1]:
            raise ValueError(
                f"Expected components {expected} and a mean {expected[:1]}. "
                f"Received: {components.shape} and {mean.shape}"
            )
        if not self.built:
            self.build((None, None, None, channels))
            self.built = True
        self.kernel.assign(components[None, None].astype(np.float32))
        self.running_mean.assign(mean.astype(np.float32))

    def call(self, gamma):
        return self.encode(gamma)

    def _build_for(self, maps) -> None:
        if not self.built:
            self.build(maps.shape)
            self.built = True

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.latent_filters)

    def compute_output_spec(self, gamma):
        return keras.KerasTensor(self.compute_output_shape(gamma.shape), dtype=self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "latent_filters": self.latent_filters,
            "noise": self.noise,
            "momentum": self.momentum,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }


def _uniform(seed, batch, channels: int) -> tf.Tensor:
    """Returns `(batch, channels)` draws from one seed for all images or one seed per image."""
    if seed.shape.rank == 1:
        return tf.random.stateless_uniform((batch, channels), seed, alg="philox")
    return tf.map_fn(
        lambda pair: tf.random.stateless_uniform((channels,), pair, alg="philox"),
        seed,
        fn_output_signature=tf.TensorSpec((channels,), tf.float32),
    )
