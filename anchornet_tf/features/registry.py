"""Descriptors by name."""

from collections.abc import Callable, Sequence

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.utils.lazy_registry import LazyRegistry

Descriptor = Callable[[Sequence[np.ndarray]], list[FeatureMap]]

_NETWORKS = "anchornet_tf.features.networks"
_CONSTELLATION = "anchornet_tf.features.constellation"

DESCRIPTORS = LazyRegistry(
    "descriptor",
    {
        "anchornet": f"{_NETWORKS}:class_agnostic",
        "anchornet-class": f"{_NETWORKS}:of_one_class",
        "hc": f"{_NETWORKS}:residual_hypercolumn",
        "res2c": f"{_NETWORKS}:one_tap:res2c",
        "res4c": f"{_NETWORKS}:one_tap:res4c",
        "res5c": f"{_NETWORKS}:one_tap:res5c",
        "taps:": f"{_NETWORKS}:raw_taps",
        "constellation-hc": f"{_CONSTELLATION}:part_hypercolumn",
        "constellation-bp": f"{_CONSTELLATION}:part_back_projection",
        "litert": "anchornet_tf.features.litert:exported_features",
        "sift": "anchornet_tf.features.sift:SiftDescriptor",
        "hog": "anchornet_tf.features.whitened_hog:HogDescriptor",
    },
)


def get_descriptor(name: str, **options) -> Descriptor:
    """Makes a descriptor: a callable from a list of images to a list of feature maps.

    Args:
        name: `"anchornet"` (class-agnostic anchors), `"anchornet-class"` (the anchors of one
            class), `"hc"` (residual hypercolumn), `"res2c"`, `"res4c"`, `"res5c"` (one layer of
            it), `"taps:TRUNK/TAP"` (activations of any trunk, such as
            `"taps:dinov2_small/block9"`), `"constellation-hc"` (the part-like channels of the
            trunk), `"constellation-bp"` (these channels projected back to the pixels), `"litert"`
            (an exported file), `"sift"` (dense SIFT) or `"hog"` (HOG cells; whitened when boxes are
            described).
        **options: Options of the descriptor: see `anchornet_tf.features.networks` and
            `anchornet_tf.features.constellation` (for networks), `anchornet_tf.features.litert`,
            `SiftDescriptor` and `HogDescriptor`.

    Returns:
        The descriptor.

    Raises:
        ValueError: If the name or an option is unknown.

    Example:

    ```python
    import numpy as np
    from anchornet_tf import get_descriptor

    describe = get_descriptor("sift", bin_size=4)
    first, second = describe([np.zeros((60, 80, 3), np.uint8), np.zeros((50, 50, 3), np.uint8)])
    ```
    """
    return DESCRIPTORS.create(name, **options)
