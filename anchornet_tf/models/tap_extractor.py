"""From images to the projected, normalised taps that the banks consume."""

import keras
import numpy as np
import tensorflow as tf

from anchornet_tf.layers.hypercolumn import Hypercolumn
from anchornet_tf.trunks import pca
from anchornet_tf.trunks.backbone import Backbone


class TapExtractor:
    """The frozen part of the network: trunk and PCA.

    Args:
        backbone: `Backbone`, or the `weights` argument to make one.
        projections: `HypercolumnPCA`, a `Hypercolumn` to share, or None for the PCA that comes with the package.
    """

    def __init__(
        self,
        backbone: Backbone | str = "imagenet",
        projections: pca.HypercolumnPCA | Hypercolumn | None = None,
    ):
        self.backbone = backbone if isinstance(backbone, keras.layers.Layer) else Backbone(backbone)
        if isinstance(projections, Hypercolumn):
            # A layer that others may go on training is no fixed PCA.
            self.hypercolumn, self.pca_digest = projections, None
        else:
            projections = projections or pca.shipped()
            self.hypercolumn, self.pca_digest = (
                Hypercolumn(fitted=projections),
                projections.digest(),
            )
        self._compiled = tf.function(
            self.taps, input_signature=[tf.TensorSpec((None, None, None, 3), tf.float32)]
        )

    def taps(self, images) -> tuple[tf.Tensor, ...]:
        """Returns the projected taps of `(batch, height, width, 3)` images; for use inside graphs."""
        return tuple(
            tf.stop_gradient(tap) for tap in self.hypercolumn.project(self.backbone(images))
        )

    def __call__(self, images) -> tuple[np.ndarray, ...]:
        """As `taps`, compiled, from and to arrays."""
        return tuple(tap.numpy() for tap in self._compiled(tf.cast(images, tf.float32)))
