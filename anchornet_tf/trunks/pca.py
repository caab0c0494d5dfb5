"""Principal components of the trunk's taps, fitted in one streaming pass."""

import dataclasses
import functools
import hashlib
import importlib.resources
import json
import os
import pathlib

import numpy as np

from anchornet_tf.utils import files
from anchornet_tf.utils.array_archive import reading

TAP_NAMES = ("res2c", "res4c", "res5c")
DIMENSIONS = 256  # Paper section 3.

_SHIPPED = "hypercolumn_pca.npz"


@dataclasses.dataclass(frozen=True)
class TapPCA:
    """The components of one tap.

    Attributes:
        mean: `(channels,)`.
        components: `(channels, dimensions)`, orthonormal columns, strongest first.
        variance: `(dimensions,)`, the variance along each component.
        total_variance: float, of all channels.
    """

    mean: np.ndarray
    components: np.ndarray
    variance: np.ndarray
    total_variance: float

    @property
    def variance_kept(self) -> float:
        """Share of the variance that the kept components explain."""
        return float(self.variance.sum() / max(self.total_variance, 1e-30))


@dataclasses.dataclass(frozen=True)
class HypercolumnPCA:
    """The components of all three taps, with a record of how they were fitted."""

    taps: tuple[TapPCA, ...]
    record: dict

    def digest(self) -> str:
        """Returns a string that identifies the projections.

        What is trained on top of one projection does not fit another.
        """
        digest = hashlib.sha256()
        for tap in self.taps:
            for array in (tap.mean, tap.components):
                digest.update(np.ascontiguousarray(array, np.float32).tobytes())
        return digest.hexdigest()[:16]

    def save(self, path: str | os.PathLike) -> None:
        """Writes a `.npz` file, whole or not at all."""
        arrays = {"record": np.frombuffer(json.dumps(self.record).encode(), np.uint8)}
        for name, tap in zip(TAP_NAMES, self.taps, strict=True):
            for field in dataclasses.fields(tap):
                arrays[f"{name}/{field.name}"] = np.asarray(getattr(tap, field.name), np.float32)
        with files.atomic_file(path) as temporary:
            np.savez_compressed(temporary, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "HypercolumnPCA":
        """Reads what `save` wrote.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is something else.
        """
        path = pathlib.Path(path)
        if not path.is_file():
            raise FileNotFoundError(
                f"Expected a PCA file made by `python -m trainers.fit_pca`. Received: {path}"
            )
        expected = "Expected a PCA file made by `python -m trainers.fit_pca`"
        with reading(path, expected) as archive:
            taps = tuple(
                TapPCA(
                    mean=archive[f"{name}/mean"],
                    components=archive[f"{name}/components"],
                    variance=archive[f"{name}/variance"],
                    total_variance=float(archive[f"{name}/total_variance"]),
                )
                for name in TAP_NAMES
            )
            record = json.loads(archive["record"].tobytes())
            return cls(taps, record)


@functools.cache
def shipped() -> HypercolumnPCA:
    """Returns the projections that come with the package, fitted on natural images."""
    resource = importlib.resources.files("anchornet_tf.trunks") / _SHIPPED
    with importlib.resources.as_file(resource) as path:
        return HypercolumnPCA.load(path)


class StreamingMoments:
    """Mean and covariance of vectors that arrive in pieces, in float64.

    The pieces' sizes and order do not matter beyond the rounding of float64.

    Args:
        channels: int. Length of the vectors.
    """

    def __init__(self, channels: int):
        self.count = 0
        self._sum = np.zeros(channels)
        self._products = np.zeros((channels, channels))

    def update(self, vectors: np.ndarray) -> None:
        """Adds `(n, channels)` vectors.

        Raises:
            ValueError: If they have another length or are not finite.
        """
        vectors = np.asarray(vectors, np.float64)
        if vectors.ndim != 2 or vectors.shape[1] != len(self._sum):
            raise ValueError(f"Expected vectors (n, {len(self._sum)}). Received: {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ValueError("Expected finite vectors. Received: NaN or infinity")
        self.count += len(vectors)
        self._sum += vectors.sum(axis=0)
        self._products += vectors.T @ vectors

    def statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the mean `(channels,)` and the covariance `(channels, channels)`.

        Raises:
            ValueError: If no vector was added yet.
        """
        if not self.count:
            raise ValueError("Expected at least one vector. Received: none")
        mean = self._sum / self.count
        return mean, self._products / self.count - np.outer(mean, mean)

    def fit(self, dimensions: int) -> TapPCA:
        """Returns the `dimensions` strongest components.

        Raises:
            ValueError: If `dimensions` is out of range, or there are no more vectors than channels:
                the covariance is singular then.
        """
        channels = len(self._sum)
        if not 1 <= dimensions <= channels:
            raise ValueError(
                f"Expected between 1 and {channels} dimensions. Received: {dimensions}"
            )
        if self.count <= channels:
            raise ValueError(
                f"Expected more than {channels} samples to fit a PCA of {channels} channels: give "
                f"more images or more positions of each. Received: {self.count} samples"
            )
        mean, covariance = self.statistics()
        variances, vectors = np.linalg.eigh(covariance)
        strongest = np.argsort(variances)[::-1][:dimensions]
        components = with_fixed_signs(vectors[:, strongest])
        return TapPCA(
            mean, components, np.maximum(variances[strongest], 0), float(np.trace(covariance))
        )


def with_fixed_signs(components: np.ndarray) -> np.ndarray:
    """Returns components, `(channels, n)`, each with a positive largest entry.

    Eigenvectors are unique up to their sign: so runs agree.
    """
    largest = np.abs(components).argmax(axis=0)
    return components * np.sign(components[largest, np.arange(components.shape[1])])


def fit(taps_of_batches, *, dimensions: int = DIMENSIONS, positions: int = 60, seed: int = 0):
    """Fits the projections of all taps in one pass over batches of activations.

    Which positions of an image count depends on the seed and the image's number alone, so batch
    size and order do not change the result.

    Args:
        taps_of_batches: iterable of `(image_numbers, taps)`: the numbers `(n,)` and one `(n, h, w,
            channels)` array a tap, finest first.
        dimensions: int. Components kept of each tap.
        positions: int. Random positions taken of each image and tap; all where a tap has fewer.
        seed: int.

    Returns:
        tuple of `TapPCA`, finest tap first.

    Raises:
        ValueError: If there are too few samples.
    """
    if positions < 1:
        raise ValueError(f"`positions` must be a positive integer. Received: {positions}")
    moments: list[StreamingMoments] = []
    for numbers, taps in taps_of_batches:
        moments = moments or [StreamingMoments(tap.shape[-1]) for tap in taps]
        for depth, (moment, tap) in enumerate(zip(moments, taps, strict=True)):
            cells = np.reshape(tap, (len(numbers), -1, tap.shape[-1]))
            chosen = [
                np.random.default_rng((seed, int(number), depth)).permutation(cells.shape[1])[
                    :positions
                ]
                for number in numbers
            ]
            moment.update(
                np.concatenate([image[rows] for image, rows in zip(cells, chosen, strict=True)])
            )
    if not moments:
        raise ValueError("Expected at least one batch of images. Received: none")
    return tuple(moment.fit(dimensions) for moment in moments)
