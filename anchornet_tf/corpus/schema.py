"""What a row of a shard is: one image, as Apache Parquet that other tools read.

| column | type | what it is |
|---|---|---|
| key | string | the image, relative to the root of the corpus |
| height, width | int32 | its size in pixels |
| peaks | list of struct | the anchors, strongest first |
| peaks.class | string | the class of the anchor's bank |
| peaks.filter | int16 | the number of the filter in its bank, from 0 |
| peaks.x, peaks.y | float | where it fires strongest, in pixels |
| peaks.strength | float | its response, in deviations from its mean |
| peaks.place | int16 | which entry of `places` describes this place, from 0 |
| places | list of struct | the distinct places of the peaks |
| places.x, places.y | float | in pixels |
| places.scale | float | the descriptor is `descriptor * scale` |
| places.descriptor | fixed-size binary | int8 of each direction |
| grid_height, grid_width | int16 | the cells of `dense`; null without --dense |
| dense | binary | int8 `(grid_height, grid_width, directions)`, rows first |
| dense_scales | binary | little-endian float32 `(grid_height, grid_width)` |
"""

import io
from collections.abc import Sequence

import numpy as np

from anchornet_tf.corpus.anchors import DescribedImage
from anchornet_tf.corpus.extras import need

_COMPRESSION = "zstd"


def schema(directions: int):
    """Returns the Arrow schema of a shard.

    Args:
        directions: int. Length of the descriptors.
    """
    pa = need("pyarrow")
    peak = pa.struct(
        [
            ("class", pa.string()),
            ("filter", pa.int16()),
            ("x", pa.float32()),
            ("y", pa.float32()),
            ("strength", pa.float32()),
            ("place", pa.int16()),
        ]
    )
    place = pa.struct(
        [
            ("x", pa.float32()),
            ("y", pa.float32()),
            ("scale", pa.float32()),
            ("descriptor", pa.binary(directions)),
        ]
    )
    return pa.schema(
        [
            ("key", pa.string()),
            ("height", pa.int32()),
            ("width", pa.int32()),
            ("peaks", pa.list_(peak)),
            ("places", pa.list_(place)),
            ("grid_height", pa.int16()),
            ("grid_width", pa.int16()),
            ("dense", pa.binary()),
            ("dense_scales", pa.binary()),
        ]
    )


def table(keys: Sequence[str], images: Sequence[DescribedImage], classes, directions: int):
    """Returns described images as an Arrow table.

    Args:
        keys: Of the images.
        images: What is known of each.
        classes: Names of the model's classes.
        directions: int. Length of the descriptors.
    """
    pa = need("pyarrow")
    types = schema(directions)
    names = np.array(classes, object)
    peaks = [image.peaks for image in images]
    places = [image.places for image in images]
    peak_columns = {
        "class": names[_joined([each.class_index for each in peaks], np.int64)],
        "filter": _joined([each.filter for each in peaks], np.int16),
        "x": _joined([each.x for each in peaks], np.float32),
        "y": _joined([each.y for each in peaks], np.float32),
        "strength": _joined([each.strength for each in peaks], np.float32),
        "place": _joined([each.place for each in peaks], np.int16),
    }
    descriptors = _joined([each.descriptors for each in places], np.int8, directions)
    place_columns = {
        "x": _joined([each.x for each in places], np.float32),
        "y": _joined([each.y for each in places], np.float32),
        "scale": _joined([each.scales for each in places], np.float32),
        "descriptor": pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(directions), len(descriptors), [None, pa.py_buffer(descriptors.tobytes())]
        ),
    }
    grids = [image.dense for image in images]
    columns = [
        list(keys),
        [image.size[0] for image in images],
        [image.size[1] for image in images],
        _lists(peak_columns, [len(each.x) for each in peaks], types.field("peaks").type),
        _lists(place_columns, [len(each.x) for each in places], types.field("places").type),
        [None if grid is None else grid.values.shape[0] for grid in grids],
        [None if grid is None else grid.values.shape[1] for grid in grids],
        [None if grid is None else grid.values.tobytes() for grid in grids],
        [None if grid is None else grid.scales.astype("<f4").tobytes() for grid in grids],
    ]
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns, types, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=types)


def as_parquet(rows) -> bytes:
    """Returns the bytes of a Parquet file: the same for the same table."""
    parquet = need("pyarrow.parquet")
    contents = io.BytesIO()
    # Groups of few rows: who wants one image need not read its neighbours' dense descriptors.
    parquet.write_table(rows, contents, row_group_size=8, compression=_COMPRESSION)
    return contents.getvalue()


def _joined(arrays: list[np.ndarray], dtype, width: int | None = None) -> np.ndarray:
    if arrays:
        return np.ascontiguousarray(np.concatenate(arrays), dtype)
    return np.zeros((0,) if width is None else (0, width), dtype)


def _lists(columns: dict, lengths: list[int], kind):
    """Returns one list of structs per image out of columns that hold all images in turn."""
    pa = need("pyarrow")
    fields = [kind.value_type.field(name) for name in columns]
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns.values(), fields, strict=True)
    ]
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(arrays, fields=fields))
