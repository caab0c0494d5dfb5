"""One group of pairs: features read from the shards, matched, and written as a Parquet file."""

import io
import itertools
import json
import operator
from collections.abc import Sequence

import numpy as np

from anchornet_tf.corpus import storage
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.corpus.extras import need
from anchornet_tf.corpus.listing import Shard, shard_keys
from anchornet_tf.corpus.shard_reader import read_dense
from anchornet_tf.features.feature_map import FeatureMap, cell_centers
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.matcher import Matcher

_AT_ONCE = 8
_MOST_CELLS = 64


def match_group(
    corpus: CorpusFolder,
    directions: np.ndarray,
    matcher: Matcher,
    pairs: str,
    group: Shard,
    carries_points: bool,
    output: str,
) -> int:
    """Matches the pairs of a group, and writes them to a file, whole or not at all.

    Args:
        corpus: Where the features are.
        directions: Of the corpus.
        matcher: One that works on a grid.
        pairs: The file that holds `PairGroups.contents`.
        group: Which of them.
        carries_points: As in `PairGroups`.
        output: The file to write.

    Returns:
        How many pairs were matched.
    """
    entries = [json.loads(line) for line in shard_keys(pairs, group)]
    wanted = {source for _, source, _, _ in entries}
    sources = dict(read_dense(corpus, group.number, directions, wanted))
    rows = []
    for number, some in itertools.groupby(entries, operator.itemgetter(0)):
        some = list(some)
        targets = dict(read_dense(corpus, number, directions, {entry[2] for entry in some}))
        for start in range(0, len(some), _AT_ONCE):
            batch = some[start : start + _AT_ONCE]
            flows = _flows(
                matcher,
                [sources[source] for _, source, _, _ in batch],
                [targets[target] for _, _, target, _ in batch],
            )
            for (_, source, target, points), flow in zip(batch, flows, strict=True):
                row = {"source": source, "target": target}
                rows.append(row | (_carried(flow, points) if carries_points else _cells(flow)))
    pa, parquet = need("pyarrow"), need("pyarrow.parquet")
    contents = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, _schema(carries_points)), contents)
    storage.write_bytes(output, contents.getvalue())
    return len(rows)


def flow_of(row: dict) -> Flow:
    """Returns the flow of a row that `match_group` wrote without points.

    Args:
        row: Values by column.
    """
    grid = row["grid_height"], row["grid_width"]
    displacement = np.frombuffer(row["displacement"], "<f4").reshape(*grid, 2)
    return Flow.from_grid(
        np.nan_to_num(displacement),
        (row["source_height"], row["source_width"]),
        (row["target_height"], row["target_width"]),
        np.isfinite(displacement).all(axis=-1),
        np.frombuffer(row["confidence"], "<f4").reshape(grid),
    )


def _flows(
    matcher: Matcher, sources: Sequence[FeatureMap], targets: Sequence[FeatureMap]
) -> list[Flow]:
    # A short last batch is filled up: the last bits of a flow depend on the size of its batch.
    missing = _AT_ONCE - len(sources)
    filled = [[*maps, *[maps[-1]] * missing] for maps in (sources, targets)]
    unknown = [None] * _AT_ONCE
    return matcher.match_maps(*filled, unknown, unknown)[: len(sources)]


def _carried(flow: Flow, points: list) -> dict:
    moved, confidence = flow.transfer_with_confidence(np.float64(points), outside="nan")
    return {
        "points": [
            {
                "x": x,
                "y": y,
                "target_x": None if np.isnan(there[0]) else float(there[0]),
                "target_y": None if np.isnan(there[1]) else float(there[1]),
                "confidence": None if np.isnan(sure) else float(sure),
            }
            for (x, y), there, sure in zip(points, moved, confidence, strict=True)
        ]
    }


def _cells(flow: Flow) -> dict:
    positions, valid, confidence = flow.cells(_MOST_CELLS)
    sides = zip(positions.shape[:2], flow.shape, strict=True)
    centers = np.meshgrid(*(cell_centers(*each) for each in sides), indexing="ij")
    displacement = positions - np.stack(centers, axis=-1)
    displacement = np.where(valid[..., np.newaxis], displacement, np.nan)
    return {
        "source_height": flow.shape[0],
        "source_width": flow.shape[1],
        "target_height": flow.target_size[0],
        "target_width": flow.target_size[1],
        "grid_height": displacement.shape[0],
        "grid_width": displacement.shape[1],
        "displacement": displacement.astype("<f4").tobytes(),
        "confidence": confidence.astype("<f4").tobytes(),
    }


def _schema(carries_points: bool):
    pa = need("pyarrow")
    keys = [("source", pa.string()), ("target", pa.string())]
    if carries_points:
        numbers = ("x", "y", "target_x", "target_y", "confidence")
        point = pa.struct([(name, pa.float32()) for name in numbers])
        return pa.schema([*keys, ("points", pa.list_(point))])
    sides = [
        f"{what}_{side}" for what in ("source", "target", "grid") for side in ("height", "width")
    ]
    arrays = [("displacement", pa.binary()), ("confidence", pa.binary())]
    return pa.schema([*keys, *((name, pa.int32()) for name in sides), *arrays])
