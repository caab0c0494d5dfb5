"""Computes the projected, normalised taps of images, which the banks work on."""

import keras
import numpy as np
import tensorflow as tf

from anchornet_tf.layers.hypercolumn import Hypercolumn
from anchornet_tf.trunks import pca
from anchornet_tf.trunks.backbone import Backbone


class TapExtractor:
    """The frozen part of the network: trunk and PCA.

    Args:
        backbone: A `Backbone`, or the `weights` to make the paper's one with.
        projections: A `HypercolumnPCA`, a `Hypercolumn` to share, or None for the PCA of the trunk:
            that of the paper's trunk comes with the package, others are fitted once by
            `python -m trainers.fit_pca`.

    Attributes:
        backbone: The trunk.
        hypercolumn: The layer that projects and normalises its taps.
        pca_digest: str. Identifies the PCA; None for a shared `Hypercolumn`.

    Raises:
        ValueError: If the PCA is that of another trunk, or there is none.
    """

    def __init__(
        self,
        backbone: Backbone | str = "imagenet",
        projections: pca.HypercolumnPCA | Hypercolumn | None = None,
    ):
        made = isinstance(backbone, keras.layers.Layer)
        self.backbone = backbone if made else Backbone(weights=backbone)
        if isinstance(projections, Hypercolumn):
            # Others may go on training a shared layer, so its PCA is not fixed.
            self.hypercolumn, self.pca_digest = projections, None
        else:
            trunk, digest = self.backbone.trunk, self.backbone.digest
            projections = projections or pca.of_trunk(trunk, digest)
            projections.check_trunk(trunk, digest)
            self.hypercolumn = Hypercolumn(projections.depths, fitted=projections)
            self.pca_digest = projections.digest()
        self._compiled = tf.function(
            self.taps, input_signature=[tf.TensorSpec((None, None, None, 3), tf.float32)]
        )

    def taps(self, images) -> tuple[tf.Tensor, ...]:
        """Returns the projected taps of `(batch, height, width, 3)` images, for use in graphs."""
        return tuple(
            tf.stop_gradient(tap) for tap in self.hypercolumn.project(self.backbone(images))
        )

    def __call__(self, images) -> tuple[np.ndarray, ...]:
        """Returns what `taps` returns, as arrays, from a compiled function."""
        return tuple(tap.numpy() for tap in self._compiled(tf.cast(images, tf.float32)))
