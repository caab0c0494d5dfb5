"""Reads shards back: places, peaks and dense descriptors as arrays."""

import dataclasses
import io
from collections.abc import Collection, Iterator

import numpy as np

from anchornet_tf.corpus import storage
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.corpus.extras import need
from anchornet_tf.corpus.quantization import dequantize
from anchornet_tf.features.feature_map import FeatureMap


@dataclasses.dataclass(frozen=True, eq=False)
class SparseShard:
    """The anchors of a shard's images, all images in turn.

    Attributes:
        keys: Of the n images.
        sizes: `(n, 2)`, height and width.
        place_image: `(places,)`, which of the images.
        place_x: `(places,)`.
        place_y: `(places,)`.
        descriptors: `(places, directions)` int8.
        peak_image: `(peaks,)`, which of the images.
        peak_class: `(peaks,)` str.
        peak_filter: `(peaks,)`, in the bank of its class.
        peak_x: `(peaks,)`.
        peak_y: `(peaks,)`.
        peak_strength: `(peaks,)`.
    """

    keys: list[str]
    sizes: np.ndarray
    place_image: np.ndarray
    place_x: np.ndarray
    place_y: np.ndarray
    descriptors: np.ndarray
    peak_image: np.ndarray
    peak_class: np.ndarray
    peak_filter: np.ndarray
    peak_x: np.ndarray
    peak_y: np.ndarray
    peak_strength: np.ndarray


def read_sparse(folder: CorpusFolder, number: int) -> SparseShard:
    """Reads everything of a shard but the dense descriptors."""
    columns = ["key", "height", "width", "peaks", "places"]
    rows = _open(folder, number).read(columns=columns).combine_chunks()
    peaks, peak_image = _flat(rows.column("peaks"))
    places, place_image = _flat(rows.column("places"))
    width = places.type.field("descriptor").type.byte_width
    descriptors = places.field("descriptor")
    start = descriptors.offset * width
    raw = np.frombuffer(descriptors.buffers()[1], np.int8)[start : start + len(places) * width]
    return SparseShard(
        rows.column("key").to_pylist(),
        np.stack([rows.column(name).to_numpy() for name in ("height", "width")], axis=1),
        place_image,
        *(places.field(name).to_numpy(zero_copy_only=False) for name in ("x", "y")),
        raw.reshape(-1, width),
        peak_image,
        *(
            peaks.field(name).to_numpy(zero_copy_only=False)
            for name in ("class", "filter", "x", "y", "strength")
        ),
    )


def read_dense(
    folder: CorpusFolder, number: int, directions: np.ndarray, wanted: Collection[str]
) -> Iterator[tuple[str, FeatureMap]]:
    """Yields some images of a shard with their feature maps.

    Args:
        folder: The corpus.
        number: int. Of the shard.
        directions: `(depth, directions)` of the corpus. Maps get their whole depth back, up to what
            lies in no direction, so that everything that was fitted to them still fits.
        wanted: Keys. Groups of rows without any of them are not read.

    Raises:
        ValueError: If the corpus has no dense descriptors.
    """
    file = _open(folder, number)
    wanted = set(wanted)
    columns = ["key", "height", "width", "grid_height", "grid_width", "dense", "dense_scales"]
    for group in range(file.num_row_groups):
        keys = file.read_row_group(group, columns=["key"]).column("key").to_pylist()
        if not wanted.intersection(keys):
            continue
        for row in file.read_row_group(group, columns=columns).to_pylist():
            if row["key"] not in wanted:
                continue
            if row["dense"] is None:
                raise ValueError(
                    "Expected a corpus with dense descriptors: corpus.describe --dense writes one. "
                    f"Received: {folder.path} without them"
                )
            grid = row["grid_height"], row["grid_width"]
            values = np.frombuffer(row["dense"], np.int8).reshape(*grid, -1)
            scales = np.frombuffer(row["dense_scales"], "<f4").reshape(grid)
            maps = dequantize(values, scales) @ directions.T
            yield row["key"], FeatureMap(maps, (row["height"], row["width"]))


def _open(folder: CorpusFolder, number: int):
    parquet = need("pyarrow.parquet")
    path = folder.shard(number)
    if storage.is_remote(path):
        return parquet.ParquetFile(io.BytesIO(storage.read_bytes(path)))
    return parquet.ParquetFile(path, memory_map=True)


def _flat(column):
    """Returns the entries of all lists of a column in turn, and the row of each."""
    pa = need("pyarrow")
    lists = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    lengths = np.diff(lists.offsets.to_numpy())
    return lists.flatten(), np.repeat(np.arange(len(lengths)), lengths)
