"""The features of many images, each computed once, in limited memory."""

import collections
import dataclasses
import itertools
import pathlib
from collections.abc import Callable, Hashable, Iterable

import numpy as np

from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.utils.array_archive import open_archive
from anchornet_tf.utils.unfinished import ScratchFolder


@dataclasses.dataclass(frozen=True, eq=False)
class Described:
    """An image with its features.

    Attributes:
        image: uint8 array `(height, width, 3)`.
        features: Its feature map.
    """

    image: np.ndarray
    features: FeatureMap

    @property
    def num_bytes(self) -> int:
        """The memory that both take."""
        arrays = [self.image, *(value for _, value in self._fields() if _is_array(value))]
        return sum(array.nbytes for array in arrays)

    def _fields(self):
        return [
            (field.name, getattr(self.features, field.name))
            for field in dataclasses.fields(self.features)
        ]

    def to_file(self, path: pathlib.Path) -> "_OnDisk":
        """Writes the arrays to a file and returns an object that reads them back."""
        arrays = {name: value for name, value in self._fields() if _is_array(value)}
        with path.open("wb") as file:
            np.savez(file, _image=self.image, **arrays)
        others = {name: value for name, value in self._fields() if name not in arrays}
        return _OnDisk(path, type(self.features), others)


def _is_array(value) -> bool:
    return isinstance(value, np.ndarray)


@dataclasses.dataclass(frozen=True, eq=False)
class _OnDisk:
    """A `Described` whose arrays are in a file.

    Attributes:
        path: The file.
        kind: Class of the feature map: subclasses hold more than values.
        fields: The fields that are not arrays, such as statistics that all maps share.
    """

    path: pathlib.Path
    kind: type[FeatureMap]
    fields: dict

    def read(self) -> Described:
        with open_archive(self.path) as archive:
            arrays = dict(archive)
        image = arrays.pop("_image")
        return Described(image, self.kind(**arrays, **self.fields))


class FeatureCache:
    """Computes the features of images in batches and keeps them as long as they are needed.

    The most recently used features stay in memory; the others are kept in a temporary folder.

    Args:
        read: Callable from a key to its image.
        describe: Callable from a list of images to their feature maps.
        uses: The keys of all coming calls of `take`, in their order. They tell what to compute next
            and when an image is no longer needed.
        memory_limit: int. Bytes to keep in memory; the latest entry is kept whatever its size.
        batch_size: int. Images to describe at a time.
    """

    def __init__(
        self,
        read: Callable[[Hashable], np.ndarray],
        describe: Callable[[list[np.ndarray]], list[FeatureMap]],
        uses: Iterable[Hashable],
        memory_limit: int,
        batch_size: int = 8,
    ):
        self._read = read
        self._describe = describe
        self._remaining_uses = collections.Counter(uses)
        self._waiting = collections.deque(self._remaining_uses)  # In the order of first use.
        self._memory_limit = memory_limit
        self._batch_size = batch_size
        self._memory: collections.OrderedDict[Hashable, Described] = collections.OrderedDict()
        self._bytes = 0
        self._files: dict[Hashable, _OnDisk] = {}
        # File names are never reused: a file may outlive entries that were dropped after it.
        self._numbers = itertools.count()
        self._folder = ScratchFolder("anchornet-features")

    def __enter__(self) -> "FeatureCache":
        return self

    def __exit__(self, *_) -> None:
        self._memory.clear()
        self._folder.cleanup()

    def take(self, key: Hashable) -> Described:
        """Returns the image and features of a key, which are dropped after its last use.

        Raises:
            KeyError: If the key has no use left.
        """
        if not self._remaining_uses[key]:
            raise KeyError(f"Expected a key with a use left in `uses`. Received: {key!r}")
        if key not in self._memory and key not in self._files:
            self._compute_until(key)
        entry = self._memory.pop(key, None)
        if entry is None:
            entry = self._files[key].read()
        else:
            self._bytes -= entry.num_bytes
        self._remaining_uses[key] -= 1
        if self._remaining_uses[key]:
            self._keep(key, entry)
        elif key in self._files:
            self._files.pop(key).path.unlink()
        return entry

    def _compute_until(self, key):
        while key not in self._memory and key not in self._files:
            count = min(self._batch_size, len(self._waiting))
            keys = [self._waiting.popleft() for _ in range(count)]
            images = [self._read(key) for key in keys]
            for each, image, features in zip(keys, images, self._describe(images), strict=True):
                self._keep(each, Described(image, features))

    def _keep(self, key, entry):
        self._memory[key] = entry
        self._bytes += entry.num_bytes
        while self._bytes > self._memory_limit and len(self._memory) > 1:
            oldest, evicted = self._memory.popitem(last=False)
            self._bytes -= evicted.num_bytes
            if oldest not in self._files:
                path = self._folder.path / f"{next(self._numbers)}.npz"
                self._files[oldest] = evicted.to_file(path)
