"""Residual hypercolumns: what several depths of the trunk say about one place of the image."""

from collections.abc import Sequence

import keras
import tensorflow as tf

from anchornet_tf.layers.pca_projection import PCAProjection
from anchornet_tf.trunks import pca
from anchornet_tf.trunks.description import TrunkDescription

_EPSILON = 1e-12


@keras.saving.register_keras_serializable(package="anchornet_tf")
class Hypercolumn(keras.layers.Layer):
    """Projects the taps by PCA, normalises them and stacks them on the finest tap's grid.

    `project` gives the normalised taps at their own sizes, which is what the anchor banks consume:
    the stack of 768 channels need not exist for them. Calling the layer gives the stack.

    Args:
        dimensions: int, channels kept of each tap (paper: 256), or one number per tap. Where
            `fitted` has fewer components of a tap, these.
        fitted: `HypercolumnPCA` to start from, or None for random orthogonal projections.
        taps: Names of the taps; those of `fitted`, or else of the paper's trunk, by default.

    Attributes:
        depths: tuple of int. Channels kept of each tap.

    Input shape: the taps `(batch, h, w, channels)`, finest first.
    Output shape: `(batch, height, width, sum of depths)`, on the grid of the finest tap.

    Reference: Novotny et al., AnchorNet, CVPR 2017, section 3.
    """

    def __init__(
        self,
        dimensions: int | Sequence[int] = 256,
        fitted: "pca.HypercolumnPCA | None" = None,
        taps: Sequence[str] | None = None,
        **kwargs,
    ):
        kwargs.setdefault("name", "hypercolumn")
        super().__init__(**kwargs)
        self.tap_names = tuple(taps or (fitted.tap_names if fitted else pca.TAP_NAMES))
        depths = [dimensions] * len(self.tap_names) if isinstance(dimensions, int) else dimensions
        if len(depths) != len(self.tap_names):
            raise ValueError(
                f"Expected `dimensions` for each of {', '.join(self.tap_names)}. "
                f"Received: {tuple(depths)}"
            )
        if fitted is not None:
            depths = map(min, depths, fitted.depths)
        self.depths = tuple(depths)
        self.projections = [
            PCAProjection(depth, name=f"pca_{name}", dtype=self.dtype_policy)
            for depth, name in zip(self.depths, self.tap_names, strict=True)
        ]
        if fitted is not None:
            self.set_pca(fitted)

    def build(self, input_shape):
        for projection, shape in zip(self.projections, input_shape, strict=True):
            if not projection.built:
                projection.build(shape)

    @classmethod
    def of_trunk(cls, trunk: TrunkDescription, dimensions: int = 256, **kwargs) -> "Hypercolumn":
        """Returns a layer with variables for the taps of a trunk."""
        made = cls(trunk.depths(dimensions), taps=trunk.tap_names, **kwargs)
        made.build([(None, None, None, channels) for channels in trunk.channels])
        made.built = True
        return made

    def set_pca(self, fitted: "pca.HypercolumnPCA") -> None:
        """Takes over fitted projections, one per tap."""
        for projection, tap in zip(self.projections, fitted.taps, strict=True):
            projection.set_components(tap.components[:, : projection.dimensions], tap.mean)
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
        return (*input_shape[0][:-1], sum(self.depths))

    def compute_output_spec(self, taps):
        shape = self.compute_output_shape([tap.shape for tap in taps])
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        return {**super().get_config(), "dimensions": self.depths, "taps": self.tap_names}


def stack(projected_taps) -> tf.Tensor:
    """Upsamples all taps bilinearly to the first one's grid and concatenates them.

    Args:
        projected_taps: tensors `(batch, h, w, dimensions)`, finest first.

    Returns:
        `(batch, height, width, sum of dimensions)` tensor.
    """
    # `tf.image.resize`, because `keras.ops.image.resize` refuses sizes that are known only when the
    # graph runs.
    size = tf.shape(projected_taps[0])[1:3]
    # Resizing gives float32, whatever the taps are.
    dtype = projected_taps[0].dtype
    upsampled = [tf.cast(tf.image.resize(tap, size), dtype) for tap in projected_taps[1:]]
    return tf.concat([projected_taps[0], *upsampled], axis=-1)
