"""Adds classes to a trained model, without the images that the model was trained on.

Everything that the model has stays as it is; its code grows. Of the new banks' maps g on images of
the new classes, the old code c already tells a part. What it leaves, r = g - A c - b with A and b
from a ridge regression, is uncorrelated with the old code there, and the principal directions V of
r become new filters of the encoder:

    code = [c, V^T r]

This is linear in the maps, so it fits the layers of every model: the encoder's kernel gets rows for
the new maps and columns for the new directions, and the equalizer of the code becomes block
diagonal.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from anchornet_tf.layers.equalizer import Equalizer
from anchornet_tf.models import bank_file
from anchornet_tf.models.added_directions import Directions
from anchornet_tf.models.bank_file import BankFile
from anchornet_tf.trunks import pca

# Directions per class: see docs/results.md.
ADDED_FILTERS = 16
# How far apart two PCAs of the same images may be: half precision, or training at a tiny rate.
_PCA_TOLERANCE = 1e-2


class Extension:
    """A model that gets further classes. The model that it starts from is not changed.

    Args:
        model: `AnchorNet` to start from. The new one shares its trunk.
        banks: `BankFile`s of the classes to add.
        projections: The `HypercolumnPCA` that they were trained on, or None for the one that comes
            with the package. It must be the model's.
        added_filters: int. By how many directions the code grows for each class; at most the number
            of filters of a bank.

    Attributes:
        model: `AnchorNet` of all classes. The new directions of its code are zeros until `fit`.

    Raises:
        ValueError: If the banks do not fit together or to the model, or `added_filters` is out of
            range.
    """

    def __init__(
        self,
        model,
        banks: Sequence[BankFile],
        projections: pca.HypercolumnPCA | None = None,
        added_filters: int = ADDED_FILTERS,
    ):
        _check_fit(model, banks, projections or pca.shipped())
        if not 1 <= added_filters <= model.num_filters:
            raise ValueError(
                f"`added_filters` must be from 1 to {model.num_filters}, the filters of a bank. "
                f"Received: {added_filters}"
            )
        # The model's encoder, (channels, code), and the mean that it removes.
        self._encoder = np.float64(model.autoencoder.kernel)[0, 0]
        self._mean = np.float64(model.autoencoder.running_mean)
        self._equalizer = np.asarray(model.code_equalizer.matrix)
        self._added = added_filters * len(banks)
        options = model.options()
        options["classes"] += [file.class_name for file in banks]
        options["latent_filters"] += self._added
        options.pop("trunk")  # It shares the trunk itself.
        self.model = type(model)(**options, encoder_initializer="zeros", weights=model.backbone)
        _take_over(self.model, model, banks)
        new = model.num_filters * len(banks)
        self._set_code(np.zeros((len(self._encoder) + new, self._added)), np.zeros(new))

    def moments(self, responses: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Returns mean and covariance of vectors `[old code, new maps]`.

        Args:
            responses: Iterable of arrays `(..., classes * num_filters)`: what
                `model.linear_responses` returns for images of the new classes, or some of their
                cells. They are read once and need not fit in memory together.

        Raises:
            ValueError: If there are none, or they are not finite.
        """
        channels, code = self._encoder.shape
        all_channels = self.model.autoencoder.kernel.shape[2]
        moments = pca.StreamingMoments(code + all_channels - channels)
        for batch in responses:
            maps = self.model.gamma_maps(tf.convert_to_tensor(batch)).numpy()
            maps = np.float64(maps.reshape(-1, all_channels))
            codes = (maps[:, :channels] - self._mean) @ self._encoder
            moments.update(np.concatenate([codes, maps[:, channels:]], axis=1))
        return moments.statistics()

    def fit(self, responses: Iterable[np.ndarray]) -> Directions:
        """Sets the new directions of the code, and what evens them out.

        Args:
            responses: As in `moments`.

        Raises:
            ValueError: If there are none, or they are not finite.
        """
        mean, covariance = self.moments(responses)
        fitted = Directions.of(mean, covariance, self._encoder.shape[1], self._added)
        below = -self._encoder @ fitted.factors.T @ fitted.components
        # On these images the new directions are uncorrelated with the old code and with each other:
        # this is their block of what one equalizer of the whole code would be.
        equalizer = Equalizer(self.model.equalization)
        equalizer.fit(np.diag(fitted.variance), fitted.scale)
        self._set_code(
            np.concatenate([below, fitted.components]), fitted.offset, np.asarray(equalizer.matrix)
        )
        return fitted

    def _set_code(
        self, columns: np.ndarray, offset: np.ndarray, equalizer: np.ndarray | None = None
    ) -> None:
        """Puts new columns beside the old ones in encoder and equalizer."""
        old_columns = np.pad(self._encoder, [(0, len(offset)), (0, 0)])
        self.model.autoencoder.set_components(
            np.concatenate([old_columns, columns], axis=1), np.concatenate([self._mean, offset])
        )
        matrix = np.eye(self.model.latent_filters, dtype=np.float32)
        old = len(self._equalizer)
        matrix[:old, :old] = self._equalizer
        if equalizer is not None:
            matrix[old:, old:] = equalizer
        self.model.code_equalizer.matrix.assign(matrix)


def _take_over(grown, model, banks: Sequence[BankFile]) -> None:
    """Assigns everything below the encoder: PCA, old banks, new banks and their equalizers."""
    count = len(model.banks)
    pairs = [(grown.hypercolumn_layer, model.hypercolumn_layer)]
    pairs += zip(grown.banks[:count], model.banks, strict=True)
    pairs += zip(grown.bank_equalizers[:count], model.bank_equalizers, strict=True)
    for new, old in pairs:
        for variable, value in zip(new.variables, old.variables, strict=True):
            variable.assign(value)
    for file, bank, equalizer in zip(
        banks, grown.banks[count:], grown.bank_equalizers[count:], strict=True
    ):
        for name, array in file.arrays.items():
            getattr(bank, name).assign(array)
        own = file.equalizer_layer(model.equalization)
        if own is not None:
            equalizer.matrix.assign(own.matrix)


def _check_fit(model, banks: Sequence[BankFile], projections: pca.HypercolumnPCA) -> None:
    bank_file.check_together(banks, projections.digest())
    trunks = [trunk.name for trunk in (model.backbone.trunk, banks[0].trunk_description)]
    if trunks[0] != trunks[1]:
        raise ValueError(
            f"Expected banks trained on the model's trunk, {trunks[0]}. Received: {trunks[1]}"
        )
    both = [file.class_name for file in banks if file.class_name in model.classes]
    if both:
        raise ValueError(
            f"Expected banks of classes that the model does not have. Received: {', '.join(both)}"
        )
    expected = tuple(model.banks[0].kernel.shape)
    received = banks[0].arrays["kernel"].shape
    if received != expected:
        raise ValueError(
            f"Expected banks with filters like those of the model, {expected[-1]} of depth "
            f"{expected[2]}: a model has one number of filters for all classes. "
            f"Received: {received[-1]} of depth {received[2]} for {banks[0].class_name}"
        )
    for projection, tap in zip(model.hypercolumn_layer.projections, projections.taps, strict=True):
        components = np.float64(tap.components)[:, : projection.dimensions]
        pairs = [
            (components, np.float64(projection.kernel)[0, 0]),
            (-components.T @ np.float64(tap.mean), np.float64(projection.bias)),
        ]
        if any(
            np.linalg.norm(theirs - own) > _PCA_TOLERANCE * np.linalg.norm(own)
            for theirs, own in pairs
        ):
            raise ValueError(
                "Expected banks that were trained on the PCA of the model. "
                f"Received: banks on the PCA {projections.digest()}"
            )
