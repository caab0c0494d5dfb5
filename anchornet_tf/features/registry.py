"""Descriptors by name."""

from collections.abc import Callable, Sequence

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.utils.lazy_registry import LazyRegistry

Descriptor = Callable[[Sequence[np.ndarray]], list[FeatureMap]]

_DEEP = "anchornet_tf.features.deep:DeepDescriptor"

DESCRIPTORS = LazyRegistry(
    "descriptor",
    {
        "anchornet": f"{_DEEP}:anchornet",
        "anchornet-class": f"{_DEEP}:anchornet-class",
        "hc": f"{_DEEP}:hc",
        "res2c": f"{_DEEP}:res2c",
        "res4c": f"{_DEEP}:res4c",
        "res5c": f"{_DEEP}:res5c",
        "sift": "anchornet_tf.features.sift:SiftDescriptor",
        "hog": "anchornet_tf.features.whitened_hog:HogDescriptor",
    },
)


def get_descriptor(name: str, **options) -> Descriptor:
    """Returns a descriptor: a callable from a list of images to a list of feature maps.

    Args:
        name: `"anchornet"` (class-agnostic anchors), `"anchornet-class"` (the anchors of one
            class), `"hc"` (residual hypercolumn), `"res2c"`, `"res4c"`, `"res5c"` (one layer of
            it), `"sift"` (dense SIFT) or `"hog"` (HOG cells; whitened under boxes).
        **options: Arguments of the descriptor's class.

    Raises:
        ValueError: If the name or an option is unknown.

    Example:

    ```python
    describe = get_descriptor("sift", bin_size=4)
    first, second = describe([image_a, image_b])
    ```
    """
    return DESCRIPTORS.create(name, **options)
