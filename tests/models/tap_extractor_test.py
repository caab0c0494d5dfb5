"""The extractor returns what trunk and hypercolumn return, and passes no gradient to them."""

import numpy as np
import tensorflow as tf

from anchornet_tf.layers.hypercolumn import Hypercolumn
from anchornet_tf.models.tap_extractor import TapExtractor
from anchornet_tf.trunks import pca
from anchornet_tf.trunks.backbone import Backbone


def test_taps_are_projected_and_fixed():
    backbone = Backbone(weights=None)
    extractor = TapExtractor(backbone)
    assert extractor.pca_digest == pca.shipped().digest()
    images = np.random.default_rng(0).integers(0, 256, (2, 40, 48, 3), dtype=np.uint8)
    expected = Hypercolumn(fitted=pca.shipped()).project(backbone(images))
    for tap, value in zip(extractor(images), expected, strict=True):
        np.testing.assert_allclose(tap, value, rtol=1e-3, atol=1e-4)
    with tf.GradientTape() as tape:
        loss = tf.add_n(
            [tf.reduce_sum(tap) for tap in extractor.taps(tf.constant(images, tf.float32))]
        )
    assert tape.gradient(loss, backbone.network.get_layer("conv1_conv").kernel.value) is None
