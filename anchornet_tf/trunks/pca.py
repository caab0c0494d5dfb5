"""Principal components of the trunk's taps, fitted in one streaming pass."""

import dataclasses
import functools
import hashlib
import importlib.resources
import json
import os
import pathlib
from collections.abc import Callable

import numpy as np

from anchornet_tf.trunks import registry
from anchornet_tf.trunks.description import TrunkDescription
from anchornet_tf.utils import files
from anchornet_tf.utils.array_archive import DAMAGE, open_archive
from anchornet_tf.utils.safe_names import safe_name

# Of the paper's trunk, and of files that do not name their taps.
TAP_NAMES = registry.find(registry.DEFAULT).tap_names
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
    """The components of all taps of a trunk, with a record of how they were fitted."""

    taps: tuple[TapPCA, ...]
    record: dict

    @property
    def tap_names(self) -> tuple[str, ...]:
        """The names of the taps, finest first."""
        return tuple(self.record.get("taps", TAP_NAMES))

    @property
    def depths(self) -> tuple[int, ...]:
        """How many components of each tap there are."""
        return tuple(tap.components.shape[1] for tap in self.taps)

    def check_trunk(self, trunk: TrunkDescription, digest: Callable[[], str]) -> None:
        """Checks that these are components of a trunk's taps.

        Args:
            trunk: The trunk.
            digest: Returns what identifies its weights; asked only where the record has it too.

        Raises:
            ValueError: If they are those of another trunk, of other taps, or of other weights.
        """
        channels = tuple(len(tap.mean) for tap in self.taps)
        if (self.tap_names, channels) != (trunk.tap_names, trunk.channels):
            raise ValueError(
                f"Expected a PCA of {_taps(trunk.tap_names, trunk.channels)}, the taps of "
                f"{trunk.name}. Received: one of {_taps(self.tap_names, channels)}"
            )
        fitted_on = self.record.get("trunk_digest")
        if fitted_on is not None and fitted_on != digest():
            raise ValueError(
                f"Expected a PCA that was fitted on these weights of {trunk.name}, {digest()}; "
                "give the same `weights`, or fit another by `python -m trainers.fit_pca`. "
                f"Received: one fitted on {fitted_on}"
            )

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
        for name, tap in zip(self.tap_names, self.taps, strict=True):
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
        try:
            with open_archive(path) as archive:
                record = json.loads(archive["record"].tobytes())
                taps = tuple(
                    TapPCA(
                        mean=archive[f"{name}/mean"],
                        components=archive[f"{name}/components"],
                        variance=archive[f"{name}/variance"],
                        total_variance=float(archive[f"{name}/total_variance"]),
                    )
                    for name in record.get("taps", TAP_NAMES)
                )
        except DAMAGE as error:
            raise ValueError(
                f"Expected a PCA file made by `python -m trainers.fit_pca` ({error}). "
                f"Received: {path}"
            ) from error
        return cls(taps, record)


@functools.cache
def shipped() -> HypercolumnPCA:
    """Returns the projections that come with the package, fitted on natural images."""
    resource = importlib.resources.files("anchornet_tf.trunks") / _SHIPPED
    with importlib.resources.as_file(resource) as path:
        return HypercolumnPCA.load(path)


def of_trunk(trunk: TrunkDescription, digest: Callable[[], str]) -> HypercolumnPCA:
    """Returns the projections that are used for a trunk if none are given.

    Args:
        trunk: The trunk.
        digest: Returns what identifies its weights.

    Raises:
        ValueError: If none come with the package and none were fitted on this machine.
    """
    if trunk == registry.find(registry.DEFAULT):
        return shipped()
    path = fitted_place(trunk, digest())
    if not path.is_file():
        raise ValueError(
            f"Expected a PCA of the taps of {trunk.name}; none comes with the package. Fit one "
            "first, on your images or on drawn ones, which takes minutes: `python -m "
            f"trainers.fit_pca --trunk={_spelled(trunk)}`, with the --weights that you use. It is "
            f"found from then on. Received: no file {path}"
        )
    return HypercolumnPCA.load(path)


def fitted_place(trunk: TrunkDescription, digest: str) -> pathlib.Path:
    """Returns where the projections of a trunk with these weights are kept once they are fitted."""
    taps = hashlib.sha256(json.dumps(trunk.to_json()["taps"]).encode()).hexdigest()[:8]
    return files.cache_folder() / "pca" / f"{safe_name(trunk.name)}-{digest}-{taps}.npz"


def _spelled(trunk: TrunkDescription) -> str:
    """Returns a trunk as it is written for programs."""
    usual = registry.short_form(trunk)
    return usual if isinstance(usual, str) else f"{trunk.name}/{'+'.join(trunk.tap_names)}"


def _taps(names, channels) -> str:
    return ", ".join(
        f"{name} ({count} channels)" for name, count in zip(names, channels, strict=False)
    )


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

    @property
    def channels(self) -> int:
        """Length of the vectors."""
        return len(self._sum)

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns what it knows as arrays, for a file; `from_arrays` takes them back."""
        return {"count": np.array(self.count), "sum": self._sum, "products": self._products}

    @classmethod
    def from_arrays(cls, arrays) -> "StreamingMoments":
        """Returns what gave these arrays."""
        moments = cls(len(arrays["sum"]))
        moments.count = int(arrays["count"])
        moments._sum, moments._products = arrays["sum"], arrays["products"]
        return moments

    def merge(self, other: "StreamingMoments") -> None:
        """Adds all vectors that another one was given.

        Raises:
            ValueError: If they have another length.
        """
        if len(other._sum) != len(self._sum):
            raise ValueError(
                f"Expected moments of {len(self._sum)} channels. Received: {len(other._sum)}"
            )
        self.count += other.count
        self._sum += other._sum
        self._products += other._products

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


def sampled_cells(numbers, tap: np.ndarray, depth: int, positions: int, seed: int) -> np.ndarray:
    """Returns the random positions of each image that count, `(n, channels)`.

    Args:
        numbers: `(images,)`. They and the seed decide which positions count.
        tap: `(images, h, w, channels)`.
        depth: int. Which of the taps it is, from 0 for the finest.
        positions: int. How many of each image; all where it has fewer.
        seed: int.
    """
    cells = np.reshape(tap, (len(numbers), -1, tap.shape[-1]))
    chosen = [
        np.random.default_rng((seed, int(number), depth)).permutation(cells.shape[1])[:positions]
        for number in numbers
    ]
    return np.concatenate([image[rows] for image, rows in zip(cells, chosen, strict=True)])


def fit(taps_of_batches, *, dimensions: int = DIMENSIONS, positions: int = 60, seed: int = 0):
    """Fits the projections of all taps in one pass over batches of activations.

    Which positions of an image count depends on the seed and the image's number alone, so batch
    size and order do not change the result.

    Args:
        taps_of_batches: iterable of `(image_numbers, taps)`: the numbers `(n,)` and one `(n, h, w,
            channels)` array a tap, finest first.
        dimensions: int. Components kept of each tap, or all where it has fewer channels.
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
            moment.update(sampled_cells(numbers, tap, depth, positions, seed))
    if not moments:
        raise ValueError("Expected at least one batch of images. Received: none")
    return tuple(moment.fit(min(dimensions, moment.channels)) for moment in moments)
