"""A corpus on disk: what it was made with, its shards, and the images that failed.

```text
corpus/corpus.json              the configuration, the model's digest, classes
corpus/images.txt               the keys of all images, in order
corpus/directions.npz           what descriptors were projected on, (depth, directions)
corpus/shards/shard-00000.parquet
corpus/failed/shard-00000.jsonl keys and reasons, where images of the shard failed
```

A shard's file appears when all of its images are described or noted as failed.
"""

import dataclasses
import io
import json
import os

import numpy as np

from anchornet_tf.corpus import storage
from anchornet_tf.corpus.config import DescribeConfig
from anchornet_tf.corpus.listing import LISTING, Listing
from anchornet_tf.corpus.model_folder import ModelFolder
from anchornet_tf.utils.array_archive import open_archive

FORMAT = "anchornet_tf.Corpus/1"
_RECORD, _DIRECTIONS = "corpus.json", "directions.npz"
_NAME = "directions"
_SHARDS, _FAILED = "shards", "failed"
# What may differ between two runs of one corpus: they do not change its bytes.
_FREE = ("output", "images")


@dataclasses.dataclass(frozen=True)
class CorpusFolder:
    """The folder of a corpus.

    Attributes:
        path: The folder.
    """

    path: str

    @property
    def listing(self) -> str:
        """The file of all keys."""
        return storage.join(self.path, LISTING)

    def shard(self, number: int) -> str:
        """Returns the path of a shard."""
        return storage.join(self.path, f"{_SHARDS}/{_name(number)}.parquet")

    def failures(self, number: int) -> str:
        """Returns the path of what failed in a shard."""
        return storage.join(self.path, f"{_FAILED}/{_name(number)}.jsonl")

    def finished(self) -> set[int]:
        """Returns the numbers of the shards that are there."""
        found = storage.names(storage.join(self.path, _SHARDS), ".parquet")
        return {int(name.removesuffix(".parquet").rpartition("-")[2]) for name in found}

    def failed(self) -> dict[str, str]:
        """Returns the reason of each image that failed, by key."""
        reasons = {}
        folder = storage.join(self.path, _FAILED)
        finished = self.finished()
        for name in storage.names(folder, ".jsonl"):
            # A worker that was killed between its two files will write both again.
            if int(name.removesuffix(".jsonl").rpartition("-")[2]) in finished:
                lines = storage.read_bytes(storage.join(folder, name)).decode().splitlines()
                reasons |= {entry["key"]: entry["reason"] for entry in map(json.loads, lines)}
        return reasons

    def sweep(self) -> None:
        """Removes what workers that were killed left half-written; for a finished corpus."""
        for name in (_SHARDS, _FAILED):
            folder = storage.join(self.path, name)
            if not storage.is_remote(folder) and os.path.isdir(folder):
                for entry in os.scandir(folder):
                    if entry.name.startswith("."):
                        os.remove(entry.path)

    def record(self) -> dict:
        """Returns what the corpus was made with.

        Raises:
            FileNotFoundError: If there is no corpus.
        """
        path = storage.join(self.path, _RECORD)
        if not storage.exists(path):
            raise FileNotFoundError(
                f"Expected a folder that corpus.describe wrote. Received: {self.path}"
            )
        record = json.loads(storage.read_bytes(path))
        if record.get("format") != FORMAT:
            raise ValueError(
                f"Expected a corpus of format {FORMAT}. Received: {record.get('format')}"
            )
        return record

    def directions(self) -> np.ndarray:
        """Returns what descriptors were projected on, `(depth, directions)`."""
        contents = io.BytesIO(storage.read_bytes(storage.join(self.path, _DIRECTIONS)))
        with open_archive(contents) as archive:
            return archive[_NAME]

    def write_directions(self, directions: np.ndarray) -> None:
        """Writes what descriptors are projected on, unless it is there: all workers have the same.

        Args:
            directions: `(depth, directions)`.
        """
        path = storage.join(self.path, _DIRECTIONS)
        if not storage.exists(path):
            contents = io.BytesIO()
            np.savez(contents, **{_NAME: directions})
            storage.write_bytes(path, contents.getvalue())

    def start(self, config: DescribeConfig, listing: Listing) -> None:
        """Begins a corpus, or checks that a corpus that is there was begun in the same way.

        Raises:
            ValueError: If it was begun with other images, another model or other settings.
        """
        record = json.loads(json.dumps(_record_of(config, listing)))
        if storage.exists(storage.join(self.path, _RECORD)):
            kept = self.record()
            differing = [
                f"{name}={record.get(name)!r} instead of {kept.get(name)!r}"
                for name in sorted(record | kept)
                if record.get(name) != kept.get(name)
            ]
            if differing:
                raise ValueError(
                    "Expected what the corpus was begun with; choose another --output for anything "
                    f"else. Received: {'; '.join(differing)}"
                )
            return
        storage.write_bytes(self.listing, listing.contents)
        # Last: a corpus whose record is there has its listing too.
        text = json.dumps(record, indent=1) + "\n"
        storage.write_bytes(storage.join(self.path, _RECORD), text.encode())


def _record_of(config: DescribeConfig, listing: Listing) -> dict:
    settings = {
        name: value for name, value in dataclasses.asdict(config).items() if name not in _FREE
    }
    model = ModelFolder.find(config.model)
    return {
        "format": FORMAT,
        **settings,
        "model": os.fspath(config.model),
        "model_digest": model.digest(),
        "classes": list(model.classes),
        "num_filters": model.num_filters,
        "root": listing.root if storage.is_remote(listing.root) else os.path.abspath(listing.root),
        "count": listing.count,
        "shards": len(listing.shards),
        "listing": listing.digest(),
    }


def _name(number: int) -> str:
    return f"shard-{number:05d}"
