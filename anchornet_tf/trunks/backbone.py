"""The trunk: a network whose activations at a few depths hypercolumns are made of."""

import json
import os
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from anchornet_tf.trunks import networks, registry, trunk_weights
from anchornet_tf.trunks.preprocessing import preprocess
from anchornet_tf.utils import files

# The paper's trunk.
_PAPERS = registry.find(registry.DEFAULT)
TAP_LAYERS = tuple(tap.layer for tap in _PAPERS.taps)
TAP_NAMES, TAP_CHANNELS, TAP_STRIDES = _PAPERS.tap_names, _PAPERS.channels, _PAPERS.strides


@keras.saving.register_keras_serializable(package="anchornet_tf")
class Backbone(keras.layers.Layer):
    """A trunk, giving the activations of some of its layers.

    The preprocessing is inside: images come in as RGB from 0 to 255. Batch normalisation always
    uses its stored statistics, in training too, as the paper's end-to-end stage does. Trunks that
    need sides of certain multiples see images resized to the nearest ones.

    Args:
        trunk: Which network: a name such as `"resnet50"` (the paper's), `"convnext_tiny"` or
            `"dinov2_small"`, see docs/trunks.md; a Hugging Face folder of DINOv2 or DINOv3; a
            folder that `save_to_folder` wrote; or a `TrunkDescription`. Taps may follow, as in
            `"dinov2_small/block6+block9"`.
        weights: `"imagenet"` for those that the network's makers publish (from the cache or the
            network), the path of a file or folder, or None for random weights. A folder given as
            `trunk` has its own.
        taps: Names of taps or layers in place of the trunk's own, finest first, one to four.

    Attributes:
        trunk: The `TrunkDescription`.
        network: The Keras model or layer behind the preprocessing.

    Input shape: `(batch, height, width, 3)`, uint8 or float, height and width at least 32.
    Output shape: one tensor per tap, finest first. For `"resnet50"`, `(batch, height / 4,
        width / 4, 256)`, `(batch, height / 16, width / 16, 1024)` and `(batch, height / 32,
        width / 32, 2048)`, rounded up.

    Raises:
        FileNotFoundError: If there are no such weights.
        ImportError: If the trunk needs a package that is not installed.
        ValueError: If there is no such trunk, tap or layer, or the weights are of another network.
        WeightsUnavailable: If published weights cannot be had.

    Example:

    ```python
    import numpy as np
    from anchornet_tf import Backbone

    images = np.zeros((1, 224, 224, 3), np.uint8)
    res2c, res4c, res5c = Backbone("resnet50", weights=None)(images)
    ```

    Reference: He et al., Deep Residual Learning for Image Recognition, CVPR 2016.
    """

    def __init__(
        self,
        trunk: registry.Trunk = registry.DEFAULT,
        weights: str | os.PathLike | None = trunk_weights.PUBLISHED,
        taps: Sequence[str] = (),
        **kwargs,
    ):
        kwargs.setdefault("name", "backbone")
        # Images may be uint8, which Keras must not cast before we check them.
        super().__init__(autocast=False, **kwargs)
        self.trunk = registry.find(trunk, taps)
        self.network = networks.make(self.trunk)
        if weights == trunk_weights.PUBLISHED:
            weights = registry.folder_of(trunk) or weights
        if weights is not None:
            trunk_weights.load(self.trunk, self.network, weights)
        self.built = True

    @classmethod
    def from_model(
        cls,
        model: keras.Model,
        taps: Sequence[str],
        preprocessing: str = "none",
        name: str | None = None,
        multiple: int = 1,
    ) -> "Backbone":
        """Makes a trunk of a Keras model of your own, with a copy of its weights.

        Args:
            model: A functional Keras model of RGB images. If it takes one size alone, images are
                resized to it.
            taps: Names of one to four layers that give maps, finest first.
            preprocessing: What the model expects: `"none"` for RGB from 0 to 255, `"tf"` for -1 to
                1, `"torch"` or `"caffe"` as the functions of Keras of these names do.
            name: What to call the trunk; the model's name by default.
            multiple: int. The sides of images are rounded to multiples of this; needed for models
                with convolutions that are not padded.

        Raises:
            ValueError: If the model is no such model, or has no such layers.

        Example:

        ```python
        import keras
        from anchornet_tf import Backbone

        model = keras.applications.MobileNetV2(include_top=False, weights=None)
        layers = ["block_3_expand_relu", "block_13_expand_relu", "out_relu"]
        backbone = Backbone.from_model(model, layers, preprocessing="tf")
        ```
        """
        described = networks.describe(
            model, taps, preprocessing, name or f"own_{model.name}", multiple
        )
        made = cls(described, weights=None)
        source = networks.tapped(model, [tap.layer for tap in described.taps], described.name)
        made.network.set_weights(source.get_weights())
        return made

    def call(self, images):
        images = tf.convert_to_tensor(images)
        if self.trunk.multiple > 1 or self.trunk.input_size is not None:
            images = self._resized(images)
        taps = self.network(preprocess(images, self.trunk.preprocessing), training=False)
        # Keras takes a single output out of its list.
        taps = taps if isinstance(taps, list | tuple) else [taps]
        # In mixed precision the trunk computes in 16 bits. What follows tells descriptors apart by
        # small differences, so it gets 32.
        return tuple(tf.cast(tap, tf.float32) for tap in taps)

    def _resized(self, images):
        if images.shape.rank != 4:
            return images  # `preprocess` says what is wrong.
        known = self.trunk.seen_size(*images.shape[1:3])
        if None not in known:
            same = known == tuple(images.shape[1:3])
            return images if same else tf.image.resize(images, known)
        size = self.trunk.seen_size(*tf.unstack(tf.shape(images)[1:3]), largest=tf.maximum)
        return tf.image.resize(images, tf.stack(size))

    def digest(self) -> str:
        """Returns a string that identifies the weights: what is chosen by one trunk fits no other.

        Example:

        ```python
        from anchornet_tf import Backbone

        assert Backbone(weights=None).digest() != Backbone(weights=None).digest()
        ```
        """
        return trunk_weights.digest(self.trunk, self.network)

    def named_variables(self) -> dict:
        """Returns the variables by the names that they have in files of weights."""
        return trunk_weights.named_variables(self.trunk, self.network)

    def save_to_folder(self, folder: str | os.PathLike) -> None:
        """Writes description and weights to a folder, which `Backbone(folder)` and programs read.

        Args:
            folder: Path that does not exist yet.

        Raises:
            FileExistsError: If the folder exists.
        """
        with files.atomic_folder(folder) as temporary:
            (temporary / registry.DESCRIPTION_FILE).write_text(
                json.dumps(self.trunk.to_json(), indent=2) + "\n"
            )
            arrays = {name: np.asarray(value) for name, value in self.named_variables().items()}
            np.savez(temporary / trunk_weights.WEIGHTS_FILE, **arrays)

    def compute_output_shape(self, input_shape):
        batch, height, width, _ = input_shape
        grids = self.trunk.grids(height, width)
        return tuple(
            (batch, *grid, channels)
            for grid, channels in zip(grids, self.trunk.channels, strict=True)
        )

    def compute_output_spec(self, images):
        shapes = self.compute_output_shape(images.shape)
        return tuple(keras.KerasTensor(shape, dtype="float32") for shape in shapes)

    def get_config(self):
        # A saved model carries its weights itself: loading must not fetch others first.
        trunk = registry.short_form(self.trunk)
        return {**super().get_config(), "trunk": trunk, "weights": None}
