"""A trunk of three small convolutions, for tests that need gradients but no ResNet50."""

import keras
import numpy as np

from anchornet_tf.trunks import registry
from anchornet_tf.trunks.backbone import Backbone
from anchornet_tf.trunks.description import Tap, TrunkDescription

DEPTHS = (6, 8, 10)


class TinyTrunk(Backbone):
    """Three taps at 1/4, 1/8 and 1/16 of the image, with random weights.

    Args:
        seed: int, of the weights.
    """

    def __init__(self, seed: int = 0):
        keras.layers.Layer.__init__(self, autocast=False, name="backbone")
        names = registry.find(registry.DEFAULT).tap_names
        self.trunk = TrunkDescription(
            name="tiny",
            family="keras_model",
            architecture={},
            taps=tuple(
                Tap(name, f"conv{number}", 4 * 2**number, depth)
                for number, (name, depth) in enumerate(zip(names, DEPTHS, strict=True))
            ),
            preprocessing="caffe",
        )
        values = images = keras.Input((None, None, 3))
        taps = []
        for number, (depth, strides) in enumerate(zip(DEPTHS, (4, 2, 2), strict=True)):
            layer = keras.layers.Conv2D(
                depth, 5, strides=strides, padding="same", activation="relu", name=f"conv{number}"
            )
            values = layer(values)
            taps.append(values)
        self.network = keras.Model(images, taps)
        rng = np.random.default_rng(seed)
        for variable in self.network.weights:
            variable.assign(rng.normal(0, 0.1, variable.shape))
        self.built = True
