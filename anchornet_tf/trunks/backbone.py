"""The ResNet50 trunk with the three taps that residual hypercolumns are made of."""

import hashlib
import os

import keras
import numpy as np
import tensorflow as tf

from anchornet_tf.trunks import pretrained

# Paper section 3: res2c, res4c and res5c after their final ReLU. res4c is the third of six res4
# blocks.
TAP_LAYERS = ("conv2_block3_out", "conv4_block3_out", "conv5_block3_out")
TAP_NAMES = ("res2c", "res4c", "res5c")
TAP_CHANNELS = (256, 1024, 2048)
TAP_STRIDES = (4, 16, 32)

MINIMUM_SIZE = 32

# Mean of ILSVRC12 in BGR, as subtracted by the trunk's makers.
_BGR_MEAN = (103.939, 116.779, 123.68)


@keras.saving.register_keras_serializable(package="anchornet_tf")
class Backbone(keras.layers.Layer):
    """ResNet50 up to its last residual block, giving the activations of three of its blocks.

    The preprocessing is inside: images come in as RGB from 0 to 255. Batch normalisation always
    uses its stored statistics, in training too, as the paper's end-to-end stage does.

    Args:
        weights: `"imagenet"` (from the cache or the network), the path of a `.npz` or `.h5` file,
            or None for random weights.

    Input shape: `(batch, height, width, 3)`, uint8 or float, height and width at least 32.
    Output shape: three tensors, finest first: `(batch, height / 4, width / 4, 256)`,
        `(batch, height / 16, width / 16, 1024)`, `(batch, height / 32, width / 32, 2048)`, rounded
        up.

    Example:

    ```python
    import numpy as np
    from anchornet_tf import Backbone

    images = np.zeros((1, 224, 224, 3), np.uint8)
    res2c, res4c, res5c = Backbone(weights=None)(images)
    ```

    Reference: He et al., Deep Residual Learning for Image Recognition, CVPR 2016.
    """

    def __init__(self, weights: str | os.PathLike | None = "imagenet", **kwargs):
        kwargs.setdefault("name", "backbone")
        # Images may be uint8, which Keras must not cast before we check them.
        super().__init__(autocast=False, **kwargs)
        resnet = keras.applications.ResNet50(include_top=False, weights=None)
        self.resnet = keras.Model(
            resnet.inputs, [resnet.get_layer(name).output for name in TAP_LAYERS], name="resnet50"
        )
        if weights is not None:
            load = pretrained.load_imagenet if weights == "imagenet" else None
            assign_weights(self.resnet, load() if load else pretrained.load_path(weights))
        self.built = True

    def call(self, images):
        images = preprocess(images)
        # In mixed precision the trunk computes in 16 bits. What follows tells descriptors apart by
        # small differences, so it gets 32.
        return tuple(tf.cast(tap, tf.float32) for tap in self.resnet(images, training=False))

    def digest(self) -> str:
        """Returns a string that identifies the weights: what is chosen by one trunk fits no other.

        Example:

        ```python
        from anchornet_tf import Backbone

        assert Backbone(weights=None).digest() != Backbone(weights=None).digest()
        ```
        """
        digest = hashlib.sha256()
        for layer in self.resnet.layers:
            for variable in layer.weights:
                digest.update(f"{layer.name}/{variable.name}\n".encode())
                digest.update(np.ascontiguousarray(variable, np.float32))
        return digest.hexdigest()[:16]

    def compute_output_shape(self, input_shape):
        batch, height, width, _ = input_shape
        return tuple(
            (batch, _cells(height, stride), _cells(width, stride), channels)
            for stride, channels in zip(TAP_STRIDES, TAP_CHANNELS, strict=True)
        )

    def compute_output_spec(self, images):
        shapes = self.compute_output_shape(images.shape)
        return tuple(keras.KerasTensor(shape, dtype="float32") for shape in shapes)

    def get_config(self):
        # A saved model carries its weights itself: loading must not fetch others first.
        return {**super().get_config(), "weights": None}


def _cells(size: int | None, stride: int) -> int | None:
    return None if size is None else -(-size // stride)


def check_images(images) -> None:
    """Checks that a tensor can be a batch of RGB images for the trunk.

    Sizes that are only known when the graph runs are checked then; values are checked in eager mode
    only.

    Raises:
        ValueError: If rank, channels, size, dtype or values are wrong.
    """
    shape = images.shape
    if shape.rank != 4 or shape[-1] != 3:
        raise ValueError(
            "Expected RGB images of shape (batch, height, width, 3); add the batch dimension with "
            f"`image[None]` and turn grey or RGBA images into RGB. Received: shape={tuple(shape)}"
        )
    if any(size is not None and size < MINIMUM_SIZE for size in shape[1:3]):
        raise ValueError(
            f"Expected images of at least {MINIMUM_SIZE} pixels on each side. "
            f"Received: shape={tuple(shape)}"
        )
    if not (images.dtype == tf.uint8 or images.dtype.is_floating):
        raise ValueError(
            f"Expected uint8 or float images from 0 to 255. Received: dtype={images.dtype.name}"
        )
    values_known = isinstance(images, tf.__internal__.EagerTensor) and images.dtype.is_floating
    if values_known and not bool(tf.reduce_all(tf.math.is_finite(images))):
        raise ValueError("Expected finite pixel values. Received: images with NaN or infinity")


def preprocess(images) -> tf.Tensor:
    """Turns RGB 0..255 into the trunk's input: BGR, float32, the mean of ILSVRC12 removed."""
    images = tf.convert_to_tensor(images)
    check_images(images)
    return tf.cast(images, tf.float32)[..., ::-1] - tf.constant(_BGR_MEAN)


def assign_weights(model: keras.Model, weights: pretrained.Weights) -> None:
    """Copies named arrays into a Keras ResNet50 (with or without its top).

    Raises:
        ValueError: If an array is missing or has another shape; the model keeps its weights
            then.
    """
    pairs = []
    for layer in model.layers:
        for variable in layer.weights:
            name = f"{layer.name}/{variable.name}"
            array = weights.get(name)
            if array is None or tuple(array.shape) != tuple(variable.shape):
                raise ValueError(
                    f"Expected an array {name!r} of shape {tuple(variable.shape)} in the weights. "
                    f"Received: {None if array is None else tuple(array.shape)}"
                )
            pairs.append((variable, array))
    for variable, array in pairs:
        variable.assign(array)
