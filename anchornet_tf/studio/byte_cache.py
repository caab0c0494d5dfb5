"""A cache that never holds more than so many bytes."""

import collections
import threading
from collections.abc import Hashable


class ByteCache:
    """Keeps what was used last, within a number of bytes. Any thread may use it.

    Args:
        limit: int, bytes. An entry that is larger by itself is not kept at all.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self._entries: collections.OrderedDict[Hashable, tuple[object, int]] = (
            collections.OrderedDict()
        )
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def num_bytes(self) -> int:
        """The bytes of all entries."""
        return self._bytes

    def get(self, key: Hashable):
        """Returns an entry, or None."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value, num_bytes: int) -> None:
        """Keeps an entry, and forgets those that were not used for longest."""
        with self._lock:
            if key in self._entries:
                self._bytes -= self._entries.pop(key)[1]
            if num_bytes > self.limit:
                return
            self._entries[key] = value, num_bytes
            self._bytes += num_bytes
            while self._bytes > self.limit:
                _, (_, freed) = self._entries.popitem(last=False)
                self._bytes -= freed
