"""From RGB images to what a trunk's makers fed it with; what can be an image at all."""

import tensorflow as tf

MINIMUM_SIZE = 32

# Mean of ILSVRC12 in BGR, as subtracted by the makers of ResNet50.
_BGR_MEAN = (103.939, 116.779, 123.68)
# Mean and deviation of ILSVRC12 in RGB from 0 to 1.
_RGB_MEAN = (0.485, 0.456, 0.406)
_RGB_DEVIATION = (0.229, 0.224, 0.225)


def check_images(images) -> None:
    """Checks that a tensor can be a batch of RGB images for a trunk.

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


def preprocess(images, kind: str = "caffe") -> tf.Tensor:
    """Turns RGB from 0 to 255 into the input of a network, float32.

    Args:
        images: `(batch, height, width, 3)`.
        kind: `"caffe"` for BGR without the mean of ILSVRC12; `"torch"` for RGB from 0 to 1 without
            its mean, over its deviation; `"tf"` for RGB from -1 to 1; `"none"` for the values as
            they are.

    Raises:
        ValueError: As `check_images`.
    """
    images = tf.convert_to_tensor(images)
    check_images(images)
    images = tf.cast(images, tf.float32)
    if kind == "caffe":
        return images[..., ::-1] - tf.constant(_BGR_MEAN)
    if kind == "torch":
        return (images / 255.0 - tf.constant(_RGB_MEAN)) / tf.constant(_RGB_DEVIATION)
    return images / 127.5 - 1.0 if kind == "tf" else images
