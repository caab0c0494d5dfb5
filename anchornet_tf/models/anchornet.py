"""The whole network: from images to anchors of each class and to the class-agnostic descriptor."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import keras
import numpy as np
import tensorflow as tf

from anchornet_tf.layers.anchor_bank import RESPONSES, AnchorBank, factored_convolution
from anchornet_tf.layers.equalizer import Equalizer
from anchornet_tf.layers.hypercolumn import Hypercolumn, stack
from anchornet_tf.layers.tied_autoencoder import TiedAutoencoder
from anchornet_tf.models import added_classes, anchornet_folder, bank_file, presets
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.trunks import pca, registry
from anchornet_tf.trunks.backbone import Backbone
from anchornet_tf.utils.safe_names import safe_name

GAMMAS = ("softplus", "whitened")

Trunk = Backbone | str | os.PathLike | None


@keras.saving.register_keras_serializable(package="anchornet_tf")
class AnchorNet(keras.Model):
    """The whole network: trunk, residual hypercolumn, one bank per class, class-agnostic layer.

    Calling the model gives the class-agnostic descriptor; every stage before it has a method. All
    variables exist from the start. Images may have any size from 32 x 32 pixels.

    Args:
        classes: Names of the classes; each gets a bank of its own.
        num_filters: int. K, the number of filters in a bank.
        latent_filters: int. L, the length of the class-agnostic descriptor.
        gamma: What the class-agnostic layer compresses: `"softplus"` (the paper's response maps)
            or `"whitened"` (linear responses, minus their running mean, over their running
            deviation).
        image_size: int or `(height, width)`. The size that the model was trained at. It is only
            recorded: the model resizes nothing.
        dimensions: int. Channels kept of each tap.
        noise: float. Share of the channels that the autoencoder drops in training.
        equalization: float. Strength of the maps that even out the descriptors (see `Equalizer`).
            The maps are the identity until `fit_equalizers` is called; 0 keeps the paper's
            descriptors.
        encoder_initializer: Initializer of the autoencoder's kernel.
        weights: Weights of the trunk, as in `Backbone`, or a `Backbone` to share.
        trunk: Which trunk, as in `Backbone`; that of a shared `Backbone` is its own.

    Attributes:
        confidence: What `anchornet_tf.matchers.confidence` needs to tell how sure matches of its
            descriptors are, as `trainers.fit_confidence` found it for these very weights; or None.

    Input shape: `(batch, height, width, 3)`, RGB from 0 to 255, uint8 or float.
    Output shape: `(batch, height / stride, width / stride, latent_filters)` with the stride of the
        trunk's finest tap, 4 for ResNet50, rounded up.

    Raises:
        ValueError: If `classes` are missing or repeated, or `gamma` is unknown.

    Example:

    ```python
    import numpy as np
    from anchornet_tf import AnchorNet

    model = AnchorNet(["bird", "cow"], num_filters=8, latent_filters=16, weights=None)
    images = np.zeros((1, 64, 64, 3), np.uint8)
    descriptors = model(images)  # (1, 16, 16, 16)
    responses = model.class_responses(images, "bird")  # (1, 16, 16, 8)
    ```

    Reference: Novotny et al., AnchorNet, CVPR 2017.
    """

    def __init__(
        self,
        classes: Sequence[str],
        num_filters: int = 64,
        latent_filters: int = 256,
        gamma: str = "softplus",
        image_size: int | tuple[int, int] = 224,
        dimensions: int = pca.DIMENSIONS,
        noise: float = 0.25,
        equalization: float = 0.25,
        encoder_initializer="orthogonal",
        weights: Trunk = "imagenet",
        trunk: registry.Trunk = registry.DEFAULT,
        **kwargs,
    ):
        kwargs.setdefault("name", "anchornet")
        # Images may be uint8, which Keras must not cast before the trunk checks them.
        super().__init__(autocast=False, **kwargs)
        if isinstance(classes, str) or not classes or len(set(classes)) != len(classes):
            raise ValueError(
                f"Expected one or more class names, all different. Received: classes={classes!r}"
            )
        if gamma not in GAMMAS:
            raise ValueError(f"`gamma` must be one of {', '.join(GAMMAS)}. Received: {gamma!r}")
        self.classes = tuple(classes)
        self.num_filters = num_filters
        self.latent_filters = latent_filters
        self.gamma = gamma
        self.image_size = image_size if isinstance(image_size, int) else tuple(image_size)
        self.dimensions = dimensions
        self.noise = noise
        self.equalization = equalization
        self.encoder_initializer = keras.initializers.get(encoder_initializer)

        self.backbone = weights if isinstance(weights, Backbone) else Backbone(trunk, weights)
        # Under a policy of mixed precision, the trunk alone computes in 16 bits.
        floats = {"dtype": "float32"}
        self.hypercolumn_layer = Hypercolumn.of_trunk(self.backbone.trunk, dimensions, **floats)
        self.tap_depths = self.hypercolumn_layer.depths
        layer_names = [safe_name(name, ascii_only=True) for name in self.classes]
        self.banks = [
            AnchorBank(num_filters, gamma, name=f"bank_{name}", **floats) for name in layer_names
        ]
        for bank in self.banks:
            bank.build([(None, None, None, depth) for depth in self.tap_depths])
        self.autoencoder = TiedAutoencoder(
            latent_filters,
            noise,
            kernel_initializer=self.encoder_initializer,
            name="autoencoder",
            **floats,
        )
        self.autoencoder.build((None, None, None, num_filters * len(self.classes)))
        self.code_equalizer = Equalizer(equalization, name="code_equalizer", **floats)
        self.code_equalizer.build((None, latent_filters))
        self.bank_equalizers = [
            Equalizer(equalization, name=f"equalizer_{name}", **floats) for name in layer_names
        ]
        for equalizer in self.bank_equalizers:
            equalizer.build((None, num_filters))
        self.confidence: dict | None = None
        self.built = True

    @classmethod
    def from_banks(
        cls,
        banks: Sequence[BankFile],
        projections: pca.HypercolumnPCA | None = None,
        weights: Trunk = "imagenet",
        latent_filters: int = 256,
        seed: int = 0,
        **options,
    ) -> "AnchorNet":
        """Joins banks that were trained class by class; the encoder is random and orthogonal.

        Args:
            banks: `BankFile`s of different classes, all with filters of the same shape and number
                and trained on the same PCA.
            projections: The `HypercolumnPCA` that the banks were trained on, or None for the one
                that comes with the package.
            weights: As in `AnchorNet`: those of the trunk that the banks were trained on.
            latent_filters: As in `AnchorNet`.
            seed: int. Seed of the encoder's initial values.
            **options: Further arguments of `AnchorNet`.

        Returns:
            The model.

        Raises:
            ValueError: If there is no bank, two banks are of the same class, their shapes, PCAs or
                trunks differ, or `weights` are not those that they were trained on.
        """
        projections = projections or pca.shipped()
        bank_file.check_together(banks, projections.digest())
        num_filters = banks[0].arrays["kernel"].shape[-1]
        options.setdefault("encoder_initializer", keras.initializers.Orthogonal(seed=seed))
        model = cls(
            [file.class_name for file in banks],
            num_filters,
            latent_filters,
            dimensions=max(projections.depths),
            weights=weights,
            trunk=banks[0].trunk_description,
            **options,
        )
        banks[0].check_trunk(model.backbone.digest)
        projections.check_trunk(model.backbone.trunk, model.backbone.digest)
        model.hypercolumn_layer.set_pca(projections)
        for bank, equalizer, file in zip(model.banks, model.bank_equalizers, banks, strict=True):
            for name, array in file.arrays.items():
                getattr(bank, name).assign(array)
            if file.equalizer is not None:
                equalizer.matrix.assign(file.equalizer)
        return model

    @classmethod
    def from_preset(
        cls,
        preset: str | os.PathLike,
        weights: Trunk = "imagenet",
        equalization: float | None = None,
    ) -> "AnchorNet":
        """Returns a trained model by the name of a preset, such as `"voc20"`, or by its folder.

        Args:
            preset: The name of a model that comes with the package, or a folder that
                `save_to_preset` wrote.
            weights: Where the ImageNet trunk comes from when the folder has no trunk of its own:
                as in `AnchorNet`.
            equalization: float. Strength of the maps that even out the descriptors, see
                `Equalizer`: 0 for the paper's descriptors, None for the strength that the model was
                saved with.

        Raises:
            ValueError: If there is no such preset or folder, the folder holds something else,
                `weights` are not those of the trunk that the model was trained on, or the model
                cannot be equalized with that strength.

        Example:

        ```python
        from anchornet_tf import AnchorNet

        model = AnchorNet.from_preset("voc20")
        as_in_the_paper = AnchorNet.from_preset("voc20", equalization=0)
        ```
        """
        contents = anchornet_folder.read(presets.find(preset))
        model = cls(**contents.options, weights=contents.trunk or weights)
        anchornet_folder.check_trunk(model.backbone, contents, weights)
        anchornet_folder.fill(model, contents)
        if equalization is None:
            model.confidence = contents.confidence
        else:
            model.equalize(equalization)
        return model

    def bank(self, class_name: str) -> AnchorBank:
        """Returns the bank of a class.

        Raises:
            ValueError: If the model does not have the class.
        """
        if class_name not in self.classes:
            raise ValueError(
                f"The class must be one of {', '.join(self.classes)}. Received: {class_name!r}"
            )
        return self.banks[self.classes.index(class_name)]

    def taps(self, images) -> tuple[tf.Tensor, ...]:
        """Returns the taps after PCA and normalisation, at their own sizes, finest first."""
        return self.hypercolumn_layer.project(self.backbone(images))

    def hypercolumn(self, images) -> tf.Tensor:
        """Returns the residual hypercolumn, all taps on the grid of the finest."""
        return stack(self.taps(images))

    def class_responses(self, images, class_name: str, response: str = "equalized") -> tf.Tensor:
        """Returns the responses of one class's bank, `(batch, height / 4, width / 4, num_filters)`.

        Args:
            images: `(batch, height, width, 3)`.
            class_name: One of `classes`.
            response: `"equalized"` (the descriptor of the class: whitened and evened out),
                `"whitened"`, `"softplus"` (the paper's maps) or `"linear"`.

        Raises:
            ValueError: If the class or the response is unknown.
        """
        bank = self.bank(class_name)
        if response not in (*RESPONSES, "equalized"):
            raise ValueError(
                f"`response` must be one of {', '.join(RESPONSES)}, equalized. "
                f"Received: {response!r}"
            )
        linear = bank.linear(self.taps(images))
        if response == "softplus":
            return tf.nn.softplus(linear)
        if response == "linear":
            return linear
        whitened = bank.whiten(linear)
        if response == "whitened":
            return whitened
        return self.bank_equalizers[self.classes.index(class_name)](whitened)

    def linear_responses(self, taps) -> tf.Tensor:
        """Returns F_k * Phi of all banks, class after class, in a single convolution.

        Args:
            taps: The taps as `taps` returns them.

        Returns:
            `(batch, height, width, classes * num_filters)`.
        """
        kernel = tf.concat([tf.convert_to_tensor(bank.kernel) for bank in self.banks], axis=-1)
        bias = tf.concat([tf.convert_to_tensor(bank.bias) for bank in self.banks], axis=0)
        return factored_convolution(taps, kernel, bias)

    def gamma_maps(self, linear_responses) -> tf.Tensor:
        """Returns Gamma, the autoencoder's input, from the linear responses of all banks."""
        if self.gamma == "softplus":
            return tf.nn.softplus(linear_responses)
        statistics = [bank.statistics() for bank in self.banks]
        mean, deviation = (tf.concat(parts, axis=0) for parts in zip(*statistics, strict=True))
        return (linear_responses - mean) / deviation

    def stacked_maps(self, images) -> tf.Tensor:
        """Returns Gamma of images, `(batch, height / 4, width / 4, classes * num_filters)`."""
        return self.gamma_maps(self.linear_responses(self.taps(images)))

    def features(self, images) -> tf.Tensor:
        """Returns the class-agnostic descriptor of images.

        Args:
            images: `(batch, height, width, 3)`.

        Returns:
            `(batch, height / 4, width / 4, latent_filters)`.
        """
        return self.describe(self.stacked_maps(images))

    def describe(self, stacked_maps) -> tf.Tensor:
        """Returns the class-agnostic descriptor of maps that `stacked_maps` returned."""
        return self.code_equalizer(self.autoencoder(stacked_maps))

    def call(self, images):
        return self.features(images)

    def fit_encoder(self, stacked_maps: Iterable[np.ndarray]) -> pca.TapPCA:
        """Sets the encoder to the principal components of the maps, and its mean to their mean.

        No linear encoder of this size reconstructs the maps better: it is a start for training,
        and a bound to compare with. The maps are read once and need not fit in memory together.

        Args:
            stacked_maps: Iterable of arrays `(..., classes * num_filters)`: whole maps, or some of
                their cells.

        Returns:
            The fitted components; `variance_kept` is the share of the maps' variance in them.

        Raises:
            ValueError: If there are not more cells than channels, the encoder has more filters than
                channels, or the maps have another number of channels.
        """
        channels = self.num_filters * len(self.classes)
        moments = pca.StreamingMoments(channels)
        for maps in stacked_maps:
            maps = np.asarray(maps)
            moments.update(maps.reshape(-1, maps.shape[-1]))
        fitted = moments.fit(self.latent_filters)
        self.autoencoder.set_components(fitted.components, fitted.mean)
        return fitted

    def fit_equalizers(self, batches: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
        """Evens out the descriptors of all classes and the class-agnostic one.

        Args:
            batches: Iterable of `(linear_responses, class_index)`. The responses,
                `(n, ..., classes * num_filters)`, are what `linear_responses` returns for images of
                objects, or some of their cells; `class_index`, `(n,)`, holds the class of each
                image. Every class must occur.

        Raises:
            ValueError: If a class does not occur.
        """
        moments: dict[int, pca.StreamingMoments] = {}
        for responses, class_index in batches:
            for number, vectors in self.equalized_vectors(responses, class_index):
                known = moments.setdefault(number, pca.StreamingMoments(vectors.shape[1]))
                known.update(vectors)
        self.set_equalizers(moments)

    def equalized_vectors(
        self, responses: np.ndarray, class_index: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yields what equalizers are fitted to: descriptors `(n, channels)` and whose they are.

        Args:
            responses: As in `fit_equalizers`.
            class_index: As in `fit_equalizers`.

        Returns:
            Iterator of the number of a class, or -1 for the class-agnostic descriptor, and its
            descriptors before they are evened out.
        """
        maps = self.gamma_maps(tf.convert_to_tensor(responses))
        yield -1, self.autoencoder(maps).numpy().reshape(-1, self.latent_filters)
        by_class = np.reshape(responses, (len(responses), -1, len(self.classes), self.num_filters))
        for cells, index in zip(by_class, class_index, strict=True):
            yield int(index), self.banks[index].whiten(cells[:, index]).numpy()

    def set_equalizers(self, moments: Mapping[int, pca.StreamingMoments]) -> None:
        """Fits the equalizers to moments of what `equalized_vectors` yields, by its numbers.

        Raises:
            ValueError: If a class does not occur.
        """
        unseen = [name for number, name in enumerate(self.classes) if number not in moments]
        if unseen:
            raise ValueError(f"Expected images of every class. Received: none of {unseen}")
        self.code_equalizer.fit(moments[-1].statistics()[1])
        for number, equalizer in enumerate(self.bank_equalizers):
            equalizer.fit(moments[number].statistics()[1])

    def with_classes(
        self,
        banks: Sequence[BankFile],
        images: Iterable[np.ndarray],
        projections: pca.HypercolumnPCA | None = None,
        added_filters: int = added_classes.ADDED_FILTERS,
    ) -> "AnchorNet":
        """Returns a model that has further classes too; images of the old ones are not needed.

        Everything that this model has stays as it is, and it is not changed itself. The
        class-agnostic descriptor gets longer: behind the old one, it tells what that leaves of the
        new banks' responses.

        Args:
            banks: `BankFile`s of the new classes, of stage 1 on this model's trunk and PCA, with
                filters of the same number as this model's.
            images: Iterable of batches of images of the new classes, `(batch, height, width, 3)`.
            projections: The `HypercolumnPCA` that the banks were trained on, or None for the one
                that comes with the package.
            added_filters: int. By how much the descriptor grows for each class.

        Raises:
            ValueError: If the banks do not fit, there is no image, or `added_filters` is not from 1
                to the number of filters of a bank.
        """
        extension = added_classes.Extension(self, banks, projections, added_filters)
        grown = extension.model
        extension.fit(grown.linear_responses(grown.taps(batch)).numpy() for batch in images)
        return grown

    def equalize(self, strength: float) -> None:
        """Changes the strength of the maps that even out the descriptors.

        Args:
            strength: float. From 0 (the paper's descriptors) to 0.5, see `Equalizer`.

        Raises:
            ValueError: If it is out of range, or the maps were fitted with strength 0, from which
                no other strength can be computed.
        """
        for equalizer in (self.code_equalizer, *self.bank_equalizers):
            equalizer.change_strength(strength)
        self.equalization = strength

    def save_to_preset(
        self,
        folder: str | os.PathLike,
        *,
        include_trunk: bool | None = None,
        dtype: str = "float32",
        record: dict | None = None,
    ) -> None:
        """Writes the model to a folder: `config.json`, `heads.npz`, the trunk if needed, and more.

        The folder appears only when all of its files are written.

        Args:
            folder: Path that does not exist yet.
            include_trunk: bool. Whether to write the trunk (94 MB for ResNet50); None to write it
                unless it is the ImageNet trunk of the paper, which every machine can fetch. A
                folder without its trunk is loaded with the same `weights`.
            dtype: dtype of the kernels in `heads.npz`, `"float32"` or `"float16"`; statistics and
                biases stay float32.
            record: JSON values to keep in `config.json`, such as the configuration of the training.

        Raises:
            FileExistsError: If the folder exists.
            ValueError: If the dtype is unknown or cannot hold the kernels, or ResNet50 is left out
                although its weights are not those of ImageNet.
        """
        anchornet_folder.write(self, folder, include_trunk, dtype, record)

    def compute_output_shape(self, input_shape):
        finest = self.backbone.compute_output_shape(input_shape)[0]
        return (*finest[:-1], self.latent_filters)

    def compute_output_spec(self, images):
        return keras.KerasTensor(self.compute_output_shape(images.shape), dtype=self.compute_dtype)

    def options(self) -> dict:
        """Returns the arguments that make a model like this one, except weights, as JSON values."""
        size = self.image_size
        return {
            "classes": list(self.classes),
            "num_filters": self.num_filters,
            "latent_filters": self.latent_filters,
            "gamma": self.gamma,
            "image_size": size if isinstance(size, int) else list(size),
            "dimensions": self.dimensions,
            "noise": self.noise,
            "equalization": self.equalization,
            "trunk": registry.short_form(self.backbone.trunk),
        }

    def get_config(self):
        # A saved model carries its weights itself: loading must not fetch others first.
        initializer = keras.initializers.serialize(self.encoder_initializer)
        return {
            **super().get_config(),
            **self.options(),
            "encoder_initializer": initializer,
            "weights": None,
        }


# The short name of the public API.
load = AnchorNet.from_preset
