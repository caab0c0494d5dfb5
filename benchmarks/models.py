"""Networks with random weights, which cost what trained ones cost, and images for them."""

import functools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from anchornet_tf.datasets.voc_classes import VOC_CLASSES
from anchornet_tf.models.anchornet import AnchorNet
from anchornet_tf.trunks.backbone import Backbone

_IMAGES = tf.TensorSpec((None, None, None, 3), tf.float32)


@functools.cache
def backbone() -> Backbone:
    """One trunk for all benchmarks."""
    return Backbone(weights=None)


@functools.cache
def network(num_classes: int, num_filters: int) -> AnchorNet:
    """A network of the first classes, on the trunk that all share."""
    return AnchorNet(VOC_CLASSES[:num_classes], num_filters, gamma="whitened", weights=backbone())


def trunk(images) -> tf.Tensor:
    """The bare ResNet50: from images that are preprocessed already to its last activations."""
    return backbone().network(images, training=False)[-1]


def random_images(count: int, size: int | tuple[int, int]) -> tf.Tensor:
    """Returns `(count, height, width, 3)` float32 values from 0 to 255."""
    height, width = (size, size) if isinstance(size, int) else size
    values = np.random.default_rng(0).uniform(0, 255, (count, height, width, 3))
    return tf.constant(values, tf.float32)


def compiled(function: Callable) -> Callable:
    """Compiles a function of images as descriptors do: for any batch and image size."""
    return tf.function(function, input_signature=[_IMAGES])
