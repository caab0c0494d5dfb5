"""DINOv2 and DINOv3 made of keras-hub's layers, for images of any size, with tokens as maps."""

import inspect
import os

import keras
import tensorflow as tf

from anchornet_tf.trunks import position_embeddings, vit_descriptions
from anchornet_tf.trunks.description import TrunkDescription

_CLASSES = {"dinov2": "DINOV2Backbone", "dinov3": "DINOV3Backbone"}


class VisionTransformer(keras.layers.Layer):
    """The blocks of a keras-hub backbone up to the last tap.

    keras-hub's own call works for one square size that is fixed when the network is made, and
    interpolates position embeddings by another kernel than the makers. This call takes any size
    that patches divide.

    Args:
        hub: The keras-hub backbone whose layers are used. What no tap needs is left out.
        trunk: `TrunkDescription` of it.

    Input shape: `(batch, height, width, 3)`, preprocessed, sides multiples of the patch size.
    Output shape: one map `(batch, height / patch, width / patch, channels)` per tap.
    """

    def __init__(self, hub, trunk: TrunkDescription, **kwargs):
        super().__init__(name=trunk.name, **kwargs)
        self._architecture = dict(trunk.architecture)
        self._family = trunk.family
        self._layers_tapped = [tap.layer for tap in trunk.taps]
        embeddings = hub.embeddings
        self.patches = embeddings.patch_embeddings.projection
        self.class_token = embeddings.cls_token
        self.registers = self.positions = None
        if trunk.architecture["num_register_tokens"]:
            self.registers = embeddings.register_tokens
        if trunk.family == "dinov2":
            self.positions = embeddings.position_embeddings
        self.blocks = list(hub.encoder.layers[: self._last_block()])
        self.final_norm = None
        if vit_descriptions.NORMALISED in self._layers_tapped:
            self.final_norm = hub.layernorm
        self.built = True

    def _last_block(self) -> int:
        if vit_descriptions.NORMALISED in self._layers_tapped:
            return self._architecture["num_layers"]
        return max(int(name.removeprefix("block")) for name in self._layers_tapped)

    def call(self, images, training=False):
        """Returns the tokens of the tapped blocks as maps."""
        patches = self.patches(images)  # (batch, rows, columns, channels)
        shape = tf.shape(patches)
        tokens = self.tokens(patches)
        prefix = tf.shape(tokens["block1"])[1] - shape[1] * shape[2]
        return [
            tf.reshape(tokens[name][:, prefix:], (shape[0], shape[1], shape[2], patches.shape[-1]))
            for name in self._layers_tapped
        ]

    def tokens(self, patches) -> dict[str, tf.Tensor]:
        """Returns all tokens after each block: the class token, registers, then the patches.

        Args:
            patches: `(batch, rows, columns, channels)`, embedded.
        """
        shape, channels = tf.shape(patches), patches.shape[-1]
        rows, columns = shape[1], shape[2]
        tokens = tf.reshape(patches, (shape[0], rows * columns, channels))
        prefix = [tf.convert_to_tensor(self.class_token)]
        if self.positions is not None:
            learned = tf.convert_to_tensor(self.positions)[0]
            side = round((learned.shape[0] - 1) ** 0.5)
            places = position_embeddings.interpolated(
                tf.reshape(learned[1:], (side, side, channels)),
                rows,
                columns,
                antialias=self.registers is not None,
            )
            tokens += tf.reshape(places, (rows * columns, channels))
            prefix = [prefix[0] + learned[0]]
        if self.registers is not None:
            # Registers come behind the class token and have no place.
            prefix.append(tf.convert_to_tensor(self.registers))
        first = tf.tile(tf.concat(prefix, axis=1), (shape[0], 1, 1))
        tokens = tf.concat([first, tokens], axis=1)
        options = {}
        if self._family == "dinov3":
            head_size = channels // self._architecture["num_heads"]
            turns = position_embeddings.rotary(
                rows, columns, head_size, self._architecture["rope_theta"]
            )
            options = {"position_embeddings": turns, "num_prefix_tokens": first.shape[1]}
        found = {}
        for number, block in enumerate(self.blocks, start=1):
            tokens = block(tokens, training=False, **options)
            found[f"block{number}"] = tokens
        if self.final_norm is not None:
            found[vit_descriptions.NORMALISED] = self.final_norm(tokens)
        return found


def make(trunk: TrunkDescription) -> VisionTransformer:
    """Returns a vision transformer with random weights.

    Raises:
        ImportError: If keras-hub is not installed.
    """
    kind = getattr(_keras_hub().models, _CLASSES[trunk.family])
    sides = trunk.architecture.get("position_embedding_shape", [trunk.multiple] * 2)
    accepted = inspect.signature(kind.__init__).parameters
    options = {name: value for name, value in trunk.architecture.items() if name in accepted}
    return VisionTransformer(kind(image_shape=(*sides, 3), **options), trunk)


def load(network: VisionTransformer, trunk: TrunkDescription, place: str | os.PathLike) -> None:
    """Gives a vision transformer the weights of a Hugging Face folder or of a keras-hub preset.

    Args:
        network: What `make` returned.
        trunk: Its description.
        place: The folder, or the name of the preset.

    Raises:
        ImportError: If keras-hub or safetensors is not installed.
    """
    kind = getattr(_keras_hub().models, _CLASSES[trunk.family])
    hub = kind.from_preset(str(place))
    network.set_weights(VisionTransformer(hub, trunk).get_weights())


def _keras_hub():
    try:
        import keras_hub
        import safetensors  # noqa: F401 - keras-hub reads folders with it
    except ImportError as error:
        raise ImportError(
            "Expected keras-hub for DINOv2 and DINOv3: pip install 'anchornet_tf[hub-models]'. "
            f"Received: {error}"
        ) from error
    return keras_hub
