"""Residual hypercolumns: what three depths of the trunk say about one place of the image."""

import keras
import tensorflow as tf

from anchornet_tf.layers.pca_projection import PCAProjection
from anchornet_tf.trunks import pca
from anchornet_tf.trunks.backbone import TAP_CHANNELS, TAP_NAMES

_EPSILON = 1e-12


@keras.saving.register_keras_serializable(package="anchornet_tf")
class Hypercolumn(keras.layers.Layer):
    """Projects the taps by PCA, normalises them and stacks them on the finest tap's grid.

    `project` gives the normalised taps at their own sizes, which is what the anchor banks consume:
    the stack of 768 channels need not exist for them. Calling the layer gives the stack.

    Args:
        dimensions: int. Channels kept of each tap (paper: 256).
        fitted: `HypercolumnPCA` to start from, or None for random orthogonal projections.

    Input shape: three taps `(batch, h, w, channels)`, finest first.
    Output shape: `(batch, height, width, 3 * dimensions)`, on the grid of the finest tap.

    Reference: Novotny et al., AnchorNet, CVPR 2017, section 3.
    """

    def __init__(self, dimensions: int = 256, fitted: "pca.HypercolumnPCA | None" = None, **kwargs):
        kwargs.setdefault("name", "hypercolumn")
        super().__init__(**kwargs)
        self.dimensions = dimensions
        self.projections = [
            PCAProjection(dimensions, name=f"pca_{name}", dtype=self.dtype_policy)
            for name in TAP_NAMES
        ]
        if fitted is not None:
            self.set_pca(fitted)

    def build(self, input_shape):
        for projection, shape in zip(self.projections, input_shape, strict=True):
            if not projection.built:
                projection.build(shape)

    def build_for_trunk(self) -> "Hypercolumn":
        """Makes the variables for the ResNet50 trunk's taps; returns the layer."""
        if not self.built:
            self.build([(None, None, None, channels) for channels in TAP_CHANNELS])
            self.built = True
        return self

    def set_pca(self, fitted: "pca.HypercolumnPCA") -> None:
        """Takes over fitted projections, one per tap."""
        for projection, tap in zip(self.projections, fitted.taps, strict=True):
            projection.set_components(tap.components[:, : self.dimensions], tap.mean)
        self.built = True

    def project(self, taps) -> tuple[tf.Tensor, ...]:
        """Returns the taps after PCA and l2 normalisation over channels, each at its own size."""
        if not self.built:
            self.build([tap.shape for tap in taps])
            self.built = True
        return tuple(
            tf.math.l2_normalize(projection(tap), axis=-1, epsilon=_EPSILON)
            for projection, tap in zip(self.projections, taps, strict=True)
        )

    def call(self, taps):
        return stack(self.project(taps))

    def compute_output_shape(self, input_shape):
        return (*input_shape[0][:-1], self.dimensions * len(self.projections))

    def compute_output_spec(self, taps):
        shape = self.compute_output_shape([tap.shape for tap in taps])
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        return {**super().get_config(), "dimensions": self.dimensions}


def stack(projected_taps) -> tf.Tensor:
    """Upsamples all taps bilinearly to the first one's grid and concatenates them.

    Args:
        projected_taps: tensors `(batch, h, w, dimensions)`, finest first.

    Returns:
        `(batch, height, width, 3 * dimensions)` tensor.
    """
    # `tf.image.resize`, because `keras.ops.image.resize` refuses sizes that are known only when the
    # graph runs.
    size = tf.shape(projected_taps[0])[1:3]
    # Resizing gives float32, whatever the taps are.
    dtype = projected_taps[0].dtype
    upsampled = [tf.cast(tf.image.resize(tap, size), dtype) for tap in projected_taps[1:]]
    return tf.concat([projected_taps[0], *upsampled], axis=-1)
