"""The part-like channels of one class, as a file."""

import dataclasses
import json
import os
import pathlib

import numpy as np

from anchornet_tf.utils import files
from anchornet_tf.utils.array_archive import reading

_ARRAYS = ("channels", "shifts", "variances", "visibility", "weights")
_SHOWN = 10


@dataclasses.dataclass(frozen=True, eq=False)
class ConstellationFile:
    """Which channels of the trunk act as parts of a class, and where they are in each aspect.

    An aspect is a view of the objects, such as from the left. Lengths are shares of the image's
    sides.

    Attributes:
        class_name: str.
        channels: int `(aspects, parts, 2)`: the tap and the channel of each part.
        shifts: float `(aspects, parts, 2)`: (y, x) from the object's anchor to the part. They have
            mean zero over the parts of an aspect.
        variances: float `(aspects, parts)`: mean square distance from that place, per axis.
        visibility: float `(aspects, parts)`: share of the aspect's images that show the part.
        weights: float `(aspects,)`: share of all images that have the aspect.
        trunk_digest: str. Identifies the trunk whose channels they are.
        record: dict. The configuration of the run.

    Raises:
        ValueError: If the arrays do not go together.
    """

    class_name: str
    channels: np.ndarray
    shifts: np.ndarray
    variances: np.ndarray
    visibility: np.ndarray
    weights: np.ndarray
    trunk_digest: str
    record: dict

    def __post_init__(self):
        channels = np.asarray(self.channels, np.int32)
        object.__setattr__(self, "channels", channels)
        for name in _ARRAYS[1:]:
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float32))
        shapes = [getattr(self, name).shape for name in _ARRAYS]
        parts = channels.shape[:2]
        expected = [(*parts, 2), (*parts, 2), parts, parts, parts[:1]]
        if len(parts) < 2 or not channels.size or shapes != expected:
            raise ValueError(
                "Expected channels and shifts (aspects, parts, 2), variances and visibility "
                f"(aspects, parts), weights (aspects,). Received: {', '.join(map(str, shapes))}"
            )
        numbers = np.concatenate([getattr(self, name).ravel() for name in _ARRAYS])
        if not np.isfinite(numbers).all() or (channels < 0).any():
            raise ValueError(
                "Expected finite numbers, and channels from 0. Received: NaN, infinity or a "
                "negative channel"
            )

    @property
    def num_aspects(self) -> int:
        """Number of aspects."""
        return len(self.weights)

    def union(self, most: int | None = None) -> list[tuple[int, int]]:
        """Returns the tap and channel of all parts of all aspects, each once.

        Those that are visible in the most training images come first.

        Args:
            most: int. Only this many; None for all.

        Raises:
            ValueError: If `most` is not positive.
        """
        if most is not None and most < 1:
            raise ValueError(f"Expected a positive number of channels. Received: {most}")
        seen: dict[tuple[int, int], float] = {}
        shares = self.visibility * self.weights[:, np.newaxis]
        for channel, share in zip(self.channels.reshape(-1, 2), shares.ravel(), strict=True):
            key = (int(channel[0]), int(channel[1]))
            seen[key] = seen.get(key, 0.0) + float(share)
        # Equal shares are ordered by number, so that the descriptor does not depend on chance.
        return sorted(seen, key=lambda key: (-seen[key], key))[:most]

    def check_trunk(self, digest: str) -> None:
        """Raises ValueError unless the channels are those of the trunk with this digest."""
        if digest != self.trunk_digest:
            raise ValueError(
                f"Expected the trunk {self.trunk_digest}, whose channels these are; name its "
                f"weights by weights=FILE. Received: the trunk {digest}"
            )

    def save(self, path: str | os.PathLike) -> None:
        """Writes a `.npz` file, which appears only when it is complete."""
        about = {
            "class_name": self.class_name,
            "trunk_digest": self.trunk_digest,
            "record": self.record,
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        with files.atomic_file(path) as temporary:
            np.savez(temporary, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "ConstellationFile":
        """Reads a file that `save` wrote.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it is something else.
        """
        path = pathlib.Path(path)
        if not path.is_file():
            folder = path if path.is_dir() else path.parent
            there = [other.name for other in sorted(folder.glob("*.npz"))]
            hint = f"; there are {', '.join(there[:_SHOWN])}" if there else ""
            raise FileNotFoundError(
                "Expected parts that `python -m trainers.constellation` wrote, a file that exists"
                f"{hint}. Received: {path}"
            )
        expected = "Expected parts that `python -m trainers.constellation` wrote"
        with reading(path, expected) as archive:
            about = json.loads(archive["about"].tobytes())
            arrays = {name: archive[name] for name in _ARRAYS}
            return cls(**arrays, **about)
