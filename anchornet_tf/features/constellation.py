"""Factories of the descriptors made of part-like channels; `get_descriptor` calls them by name."""

import os

import tensorflow as tf

from anchornet_tf.features.back_projection import SMOOTHING, back_projected_network
from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.features.networks import Size, shared_backbone
from anchornet_tf.models.constellation_file import ConstellationFile
from anchornet_tf.trunks.backbone import Backbone

Parts = ConstellationFile | str | os.PathLike
Trunk = Backbone | str | os.PathLike

_EPSILON = 1e-12


def part_hypercolumn(
    constellation: Parts | None = None,
    weights: Trunk = "imagenet",
    num_channels: int | None = None,
    image_size: Size = 224,
    batch_size: int = 8,
    blur: float = 0.0,
) -> DeepDescriptor:
    """Makes the descriptor `"constellation-hc"`: the part-like channels of the hypercolumn.

    The hypercolumn of the trunk's own channels, without PCA, of which the chosen ones are kept:
    each tap is scaled to unit length over all its channels, upsampled to the grid of the finest
    tap, and stacked.

    Args:
        constellation: The file that `python -m trainers.constellation` wrote for a class, or a
            `ConstellationFile`.
        weights: The trunk whose channels they are: `"imagenet"`, the path of its weights, or a
            `Backbone`.
        num_channels: int. Take only so many channels, those that most training images show; None
            for all channels of all aspects.
        image_size: As in `DeepDescriptor`.
        batch_size: As in `DeepDescriptor`.
        blur: As in `DeepDescriptor`.

    Raises:
        ValueError: If there is no file, or it is that of another trunk.
    """
    backbone, channels = _checked(constellation, weights, num_channels)
    numbers = [
        [channel for of, channel in channels if of == tap]
        for tap in range(len(backbone.trunk.taps))
    ]

    def network(images):
        taps = backbone(images)
        chosen = [
            # Scaled before channels are left out: a channel that is alone in its tap would be one
            # everywhere.
            tf.gather(tf.math.l2_normalize(tap, axis=-1, epsilon=_EPSILON), own, axis=-1)
            for tap, own in zip(taps, numbers, strict=True)
            if own
        ]
        # The grid is that of the finest tap, also where no channel of it was chosen.
        size = tf.shape(taps[0])[1:3]
        return tf.concat([tf.image.resize(tap, size) for tap in chosen], axis=-1)

    return DeepDescriptor(network, image_size, batch_size, blur)


def part_back_projection(
    constellation: Parts | None = None,
    weights: Trunk = "imagenet",
    num_channels: int | None = None,
    image_size: Size = 224,
    batch_size: int = 4,
    blur: float = SMOOTHING,
) -> DeepDescriptor:
    """Makes the descriptor `"constellation-bp"`: part-like channels projected back to the pixels.

    Its maps have the resolution of what the network sees. Each channel costs a pass backward: an
    image takes seconds, not a fraction of one. `nearest` needs `grid_size=56` or so to be quick.

    Args:
        constellation: As in `part_hypercolumn`.
        weights: As in `part_hypercolumn`.
        num_channels: As in `part_hypercolumn`.
        image_size: As in `DeepDescriptor`.
        batch_size: As in `DeepDescriptor`; an image takes about 150 MB while it is described.
        blur: float. Standard deviation, in pixels, of the Gaussian that smooths the maps: 3 where
            parts are located. 0 for the bare gradients.

    Raises:
        ValueError: If there is no file, or it is that of another trunk.
    """
    backbone, channels = _checked(constellation, weights, num_channels)
    return DeepDescriptor(back_projected_network(backbone, channels), image_size, batch_size, blur)


def _checked(
    constellation: Parts | None, weights: Trunk, most: int | None
) -> tuple[Backbone, list[tuple[int, int]]]:
    if constellation is None:
        raise ValueError(
            "Expected constellation=FILE, parts that `python -m trainers.constellation` wrote. "
            "Received: no constellation"
        )
    # The file first: a trunk takes seconds to read.
    if not isinstance(constellation, ConstellationFile):
        constellation = ConstellationFile.load(constellation)
    backbone = shared_backbone() if weights == "imagenet" else weights
    if not isinstance(backbone, Backbone):
        backbone = Backbone(weights=backbone)
    constellation.check_trunk(backbone.digest())
    channels = constellation.union(most)
    depths = backbone.trunk.channels
    for tap, channel in channels:
        if tap >= len(depths) or channel >= depths[tap]:
            raise ValueError(
                f"Expected channels of taps of {depths} channels. "
                f"Received: channel {channel} of tap {tap}"
            )
    return backbone, channels
