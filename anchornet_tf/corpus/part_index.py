"""The index of a corpus on disk: places by what they look like, and images by filter.

```text
index/index.json    how it was made
index/keys.txt      the images
index/vectors.npy   (places, directions) int8, what the places look like
index/places.npy    (places,) image, x, y
index/faiss.index   the nearest-neighbour index over the vectors
index/firing.npy    (peaks,) image, x, y, strength: filter after filter, strongest first
index/filters.npy   (filters + 1,) where each filter begins in it
```
"""

import dataclasses
import json
import os
import pathlib
import shutil
import tempfile

import numpy as np
import tqdm

from anchornet_tf.corpus import neighbors
from anchornet_tf.corpus.anchors import classes_of
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.corpus.shard_reader import SparseShard, read_sparse
from anchornet_tf.utils import files

FORMAT = "anchornet_tf.PartIndex/1"
_PLACE = np.dtype([("image", "<i4"), ("x", "<f4"), ("y", "<f4")])
_FIRING = np.dtype([*_PLACE.descr, ("strength", "<f4")])
_RECORD, _KEYS, _FAISS = "index.json", "keys.txt", "faiss.index"


@dataclasses.dataclass(frozen=True, eq=False)
class PartIndex:
    """An index that is open for searching; arrays are mapped, not read.

    Attributes:
        record: How it was made.
        keys: The images.
        vectors: `(places, directions)` int8.
        places: `(places,)` with fields image, x and y.
        firing: `(peaks,)` with fields image, x, y and strength.
        filters: `(filters + 1,)`, where each filter begins in `firing`.
        faiss: The index over the vectors.
    """

    record: dict
    keys: list[str]
    vectors: np.ndarray
    places: np.ndarray
    firing: np.ndarray
    filters: np.ndarray
    faiss: object

    @classmethod
    def open(cls, folder: str | os.PathLike) -> "PartIndex":
        """Opens what `write_index` wrote.

        Raises:
            FileNotFoundError: If there is no index.
        """
        folder = pathlib.Path(folder)
        if not (folder / _RECORD).is_file():
            raise FileNotFoundError(
                f"Expected a folder that corpus.index wrote. Received: {folder}"
            )
        arrays = (
            np.lib.format.open_memmap(folder / f"{name}.npy", "r")
            for name in ("vectors", "places", "firing", "filters")
        )
        return cls(
            json.loads((folder / _RECORD).read_text()),
            (folder / _KEYS).read_text().splitlines(),
            *arrays,
            neighbors.read(folder / _FAISS),
        )

    def firing_of(self, class_name: str, filter_number: int) -> np.ndarray:
        """Returns where a filter fires, strongest first: image, x, y and strength.

        Raises:
            ValueError: If the model has no such filter.
        """
        classes, each = self.record["classes"], self.record["num_filters"]
        number = classes_of(classes, class_name) * each + filter_number
        if filter_number >= each:
            raise ValueError(
                f"Expected a filter from 0 to {each - 1}. Received: {class_name}:{filter_number}"
            )
        return self.firing[self.filters[number] : self.filters[number + 1]]


def write_index(
    corpus: CorpusFolder,
    output: str | os.PathLike,
    kind: str = "auto",
    seed: int = 0,
    progress: bool = True,
) -> dict:
    """Makes the index of a finished corpus, whole or not at all; replaces one that is there.

    Args:
        corpus: The corpus.
        output: Folder to write.
        kind: As in `neighbors.build`.
        seed: int. As in `neighbors.build`.
        progress: bool. Whether to show a progress bar.

    Returns:
        The contents of index.json.

    Raises:
        ValueError: If shards are missing, or there are too few places.
    """
    record = corpus.record()
    finished = sorted(corpus.finished())
    if len(finished) < record["shards"]:
        raise ValueError(
            "Expected a finished corpus: the command that began it continues it. "
            f"Received: {len(finished)} of {record['shards']} shards"
        )
    output = pathlib.Path(output)
    files.make_folder(output.parent)
    temporary = pathlib.Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        made = _fill(temporary, corpus, record, finished, kind, seed, progress)
        shutil.rmtree(output, ignore_errors=True)
        temporary.chmod(0o755)
        os.rename(temporary, output)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return made


def _fill(folder, corpus, record, finished, kind, seed, progress) -> dict:
    classes = record["classes"]
    num_filters = record["num_filters"]

    def shards(purpose: str):
        bar = tqdm.tqdm(finished, desc=purpose, unit=" shards", disable=not progress)
        return (read_sparse(corpus, number) for number in bar)

    # Twice through the shards: first to know how long the arrays are, then to fill them.
    counts = np.zeros(len(classes) * num_filters, np.int64)
    num_places, depth = 0, 0
    for shard in shards("Counting"):
        counts += np.bincount(_filters(shard, classes, num_filters), minlength=len(counts))
        num_places += len(shard.place_x)
        depth = shard.descriptors.shape[1]
    if not num_places:
        raise ValueError("Expected a corpus with images. Received: none that could be described")
    starts = np.concatenate([[0], np.cumsum(counts)])
    vectors = _mapped(folder, "vectors", (num_places, depth), np.int8)
    places = _mapped(folder, "places", (num_places,), _PLACE)
    firing = _mapped(folder, "firing", (int(starts[-1]),), _FIRING)
    np.save(folder / "filters.npy", starts)
    keys: list[str] = []
    filled, next_free = 0, starts[:-1].copy()
    for shard in shards("Filling"):
        end = filled + len(shard.place_x)
        vectors[filled:end] = shard.descriptors
        places["image"][filled:end] = shard.place_image + len(keys)
        places["x"][filled:end], places["y"][filled:end] = shard.place_x, shard.place_y
        numbers = _filters(shard, classes, num_filters)
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        # Behind the entries that its filter already has: the how-manyth of its filter it is here.
        rank = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)
        rows = next_free[numbers] + rank
        firing["image"][rows] = shard.peak_image[order] + len(keys)
        for name in ("x", "y", "strength"):
            firing[name][rows] = getattr(shard, f"peak_{name}")[order]
        next_free += np.bincount(numbers, minlength=len(counts))
        keys += shard.keys
        filled = end
    for first, last in zip(starts[:-1], starts[1:], strict=True):
        part = np.array(firing[first:last])
        firing[first:last] = part[np.argsort(-part["strength"], kind="stable")]
    index = neighbors.build(vectors, kind, seed)
    neighbors.write(index, folder / _FAISS)
    (folder / _KEYS).write_text("".join(f"{key}\n" for key in keys))
    made = {
        "format": FORMAT,
        "kind": "ivfpq" if hasattr(index, "nprobe") else "flat",
        "images": len(keys),
        "places": num_places,
        **{name: record[name] for name in ("root", "model", "model_digest", "image_size", "blur")},
        "classes": classes,
        "num_filters": num_filters,
    }
    for array in (vectors, places, firing):
        array.flush()
    (folder / _RECORD).write_text(json.dumps(made, indent=1) + "\n")
    return made


def _filters(shard: SparseShard, classes: list[str], num_filters: int) -> np.ndarray:
    """Returns the number of each peak's filter over all banks."""
    names, inverse = np.unique(shard.peak_class.astype(str), return_inverse=True)
    numbers = np.array([classes_of(classes, name) for name in names], np.int64)
    if not len(numbers):
        return np.zeros(0, np.int64)
    return numbers[inverse] * num_filters + shard.peak_filter


def _mapped(folder: pathlib.Path, name: str, shape: tuple, dtype) -> np.memmap:
    return np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype, shape)
