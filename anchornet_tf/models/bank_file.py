"""The trained bank of one class, as a file."""

import dataclasses
import json
import os
import pathlib
from collections.abc import Callable, Sequence

import numpy as np

from anchornet_tf.layers.anchor_bank import VARIANCE_FLOOR, AnchorBank
from anchornet_tf.layers.equalizer import Equalizer
from anchornet_tf.trunks import registry
from anchornet_tf.trunks.description import TrunkDescription
from anchornet_tf.utils import files
from anchornet_tf.utils.array_archive import reading
from anchornet_tf.utils.safe_names import safe_name

_ARRAYS = ("kernel", "bias", "running_mean", "running_square")
_EQUALIZER = "equalizer"
_SHOWN = 10


@dataclasses.dataclass(frozen=True)
class BankFile:
    """The filters of one class, their statistics, and a record of how they were trained.

    Attributes:
        class_name: str.
        arrays: `kernel` `(3, 3, depth, filters)`, `bias`, `running_mean` and `running_square`
            `(filters,)`.
        pca_digest: str. Identifies the projections that the filters expect.
        record: dict. The configuration of the training.
        equalizer: `(filters, filters)` map that evens out the whitened responses (see `Equalizer`),
            or None for the identity.
        trunk: dict. `name`, the trunk as in `registry.short_form`, and `digest`, which identifies
            its weights; None for files from before there were several trunks.
    """

    class_name: str
    arrays: dict[str, np.ndarray]
    pca_digest: str
    record: dict
    equalizer: np.ndarray | None = None
    trunk: dict | None = None

    @classmethod
    def of(
        cls,
        bank: AnchorBank,
        class_name: str,
        pca_digest: str,
        record: dict,
        trunk: dict | None = None,
    ) -> "BankFile":
        """Returns a bank with the values of a layer."""
        arrays = {name: np.asarray(getattr(bank, name)) for name in _ARRAYS}
        return cls(class_name, arrays, pca_digest, record, trunk=trunk)

    @property
    def trunk_description(self) -> TrunkDescription:
        """The trunk that the filters expect."""
        return registry.find(self.trunk["name"] if self.trunk else registry.DEFAULT)

    def check_trunk(self, digest: Callable[[], str]) -> None:
        """Checks that a trunk is the one that the filters were trained on.

        Args:
            digest: Returns what identifies its weights.

        Raises:
            ValueError: If it is another.
        """
        if self.trunk is not None and self.trunk["digest"] != digest():
            raise ValueError(
                f"Expected the weights {self.trunk['digest']} of {self.trunk_description.name}, "
                f"which the bank of {self.class_name} was trained on (--weights="
                f"{self.record.get('weights')}). Received: a trunk with weights {digest()}"
            )

    def calibrated(self, mean: np.ndarray, covariance: np.ndarray) -> "BankFile":
        """Returns the bank with statistics and an equalizer that fit images of its class.

        Args:
            mean: `(filters,)` mean of its linear responses to such images.
            covariance: `(filters, filters)` covariance of these responses.
        """
        variance = np.diag(covariance)
        deviation = np.sqrt(np.maximum(variance, VARIANCE_FLOOR))
        equalizer = Equalizer()
        equalizer.fit(covariance / np.outer(deviation, deviation))
        arrays = self.arrays | {
            "running_mean": np.float32(mean),
            "running_square": np.float32(variance + np.square(mean)),
        }
        return dataclasses.replace(self, arrays=arrays, equalizer=np.asarray(equalizer.matrix))

    def bank(self, response: str = "whitened") -> AnchorBank:
        """Returns a layer with these values."""
        depth, filters = self.arrays["kernel"].shape[2:]
        bank = AnchorBank(filters, response, name=f"bank_{self._layer_name}")
        bank.build([(None, None, None, depth)])
        bank.built = True
        for name in _ARRAYS:
            getattr(bank, name).assign(self.arrays[name])
        return bank

    @property
    def _layer_name(self) -> str:
        return safe_name(self.class_name, ascii_only=True)

    def equalizer_layer(self, strength: float | None = None) -> Equalizer | None:
        """Returns the layer that equalizes whitened responses, or None for the identity.

        Args:
            strength: float. Strength of the equalizer, see `Equalizer`; None for the one that the
                bank was saved with.

        Raises:
            ValueError: If `strength` is out of range.
        """
        if self.equalizer is None:
            return None
        equalizer = Equalizer(name=f"equalizer_{self._layer_name}")
        equalizer.build((None, len(self.equalizer)))
        equalizer.built = True
        equalizer.matrix.assign(self.equalizer)
        if strength is not None:
            equalizer.change_strength(strength)
        return equalizer

    def save(self, path: str | os.PathLike) -> None:
        """Writes the bank to a `.npz` file, which appears only when it is complete."""
        about = {
            "class_name": self.class_name,
            "pca_digest": self.pca_digest,
            "record": self.record,
            "trunk": self.trunk,
        }
        arrays = dict(self.arrays)
        if self.equalizer is not None:
            arrays[_EQUALIZER] = self.equalizer
        with files.atomic_file(path) as temporary:
            np.savez(temporary, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "BankFile":
        """Reads a file that `save` wrote.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it is something else.
        """
        path = pathlib.Path(path)
        if not path.is_file():
            there = [other.name for other in sorted(path.parent.glob("*.npz"))]
            hint = f"; there are {', '.join(there[:_SHOWN])}" if there else ""
            raise FileNotFoundError(
                "Expected a bank that `python -m trainers.stage1` wrote, a file that exists"
                f"{hint}. Received: {path}"
            )
        with reading(path, "Expected a bank that `python -m trainers.stage1` wrote") as archive:
            about = json.loads(archive["about"].tobytes())
            arrays = {name: archive[name] for name in _ARRAYS}
            equalizer = archive[_EQUALIZER] if _EQUALIZER in archive.files else None
            _check_shapes(arrays, equalizer)
            return cls(arrays=arrays, equalizer=equalizer, **about)


def _check_shapes(arrays: dict[str, np.ndarray], equalizer: np.ndarray | None) -> None:
    """Raises ValueError for arrays that are not those of one bank."""
    kernel = arrays["kernel"].shape
    if len(kernel) != 4 or not all(kernel):
        raise ValueError(f"its kernel has the shape {kernel}")
    expected = {name: kernel[-1:] for name in _ARRAYS if name != "kernel"}
    found = {name: arrays[name].shape for name in expected}
    if equalizer is not None:
        arrays = arrays | {_EQUALIZER: equalizer}
        expected[_EQUALIZER], found[_EQUALIZER] = kernel[-1:] * 2, equalizer.shape
    if found != expected:
        raise ValueError(f"its arrays have the shapes {found} beside a kernel of {kernel}")
    for name, array in arrays.items():
        if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
            raise ValueError(f"`{name}` holds something else than finite numbers")


def check_together(banks: Sequence[BankFile], pca_digest: str) -> None:
    """Checks that banks can be those of one model.

    Args:
        banks: The banks.
        pca_digest: str. Identifies the PCA of the model.

    Raises:
        ValueError: If there is no bank, two are of the same class, or their shapes or PCAs differ.
    """
    if not banks:
        raise ValueError("Expected the bank of at least one class. Received: none")
    names = [file.class_name for file in banks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Expected one bank per class. Received: several of {', '.join(twice)}")
    shapes = {file.class_name: file.arrays["kernel"].shape for file in banks}
    if len(set(shapes.values())) > 1:
        raise ValueError(
            f"Expected banks whose filters have the same shape and number. Received: {shapes}"
        )
    trunks = {file.class_name: file.trunk["digest"] for file in banks if file.trunk}
    if len(set(trunks.values())) > 1:
        raise ValueError(f"Expected banks trained on one trunk. Received: weights {trunks}")
    others = {file.class_name: file.pca_digest for file in banks if file.pca_digest != pca_digest}
    if others:
        raise ValueError(
            f"Expected banks trained on the PCA {pca_digest}; pass their own PCA as `projections`. "
            f"Received: {others}"
        )
