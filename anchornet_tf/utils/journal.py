"""Results that survive an interruption: one line of JSON per pair, appended as it finishes."""

import json
import os
import pathlib
from collections.abc import Mapping

from anchornet_tf.utils import files


class Journal:
    """The notes of one cell of the grid, by pair.

    The first line holds the configuration, so that notes of another configuration are never mixed
    in. A last line that was cut short when a process ended is removed.

    Args:
        path: The file; it is created, with its folder, if it does not exist.
        header: dict. The configuration that the notes depend on.

    Attributes:
        records: The notes of each pair, by its name.

    Raises:
        ValueError: If the file holds notes of another configuration, or is not a journal.
    """

    def __init__(self, path: str | os.PathLike, header: Mapping):
        self._path = pathlib.Path(path)
        self._header = json.loads(json.dumps(header))
        self.records: dict[str, dict] = {}
        files.make_folder(self._path.parent)
        if self._path.is_file():
            self._load()
        else:
            self._append(self._header)

    def _load(self) -> None:
        raw = self._path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):
            os.truncate(self._path, len(whole))
        try:
            header, *records = [json.loads(line) for line in whole.splitlines()] or [self._header]
            if not isinstance(header, dict):
                raise ValueError("its first line is no object")
            for record in records:
                self._merge(record["pair"], record["notes"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"Expected a journal of results ({error}). Received: {self._path}"
            ) from error
        if not whole:
            self._append(self._header)
        if header != self._header:
            differing = sorted(
                key for key in header | self._header if header.get(key) != self._header.get(key)
            )
            raise ValueError(
                "Expected results of the same configuration in the output folder; choose another "
                f"folder, or remove the file to start again. Received: {self._path} with "
                + ", ".join(
                    f"{key}={header.get(key)!r} instead of {self._header.get(key)!r}"
                    for key in differing
                )
            )

    def add(self, pair: str, notes: Mapping) -> None:
        """Stores notes of a pair, beside those that it already has."""
        self._append({"pair": pair, "notes": dict(notes)})
        self._merge(pair, notes)

    def has(self, pair: str, keys) -> bool:
        """Returns whether a pair has all of these notes."""
        return all(key in self.records.get(pair, {}) for key in keys)

    def _merge(self, pair, notes) -> None:
        self.records.setdefault(pair, {}).update(notes)

    def _append(self, entry) -> None:
        with open(self._path, "a") as file:
            file.write(json.dumps(entry, allow_nan=False) + "\n")
