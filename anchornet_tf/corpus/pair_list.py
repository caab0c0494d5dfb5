"""Which pairs of a corpus to match, in the order in which the fewest images are read.

Pairs are grouped by the shard of their source. A worker that has such a group reads its sources
once, and then, one shard after the other, the targets. An image is therefore read at most once as a
source, and as a target at most once for every shard that holds sources of it: however many pairs
there are, no image is read more often than there are shards, plus one.
"""

import csv
import io
import json
import os
from typing import NamedTuple

from anchornet_tf.corpus import storage
from anchornet_tf.corpus.corpus_folder import CorpusFolder
from anchornet_tf.corpus.listing import Shard

_COLUMNS = ("source", "target")
_POINT = ("x", "y")


class PairGroups(NamedTuple):
    """All pairs, one line of JSON each: target shard, source, target, points.

    Attributes:
        contents: The lines, group by group.
        groups: Where the groups are in them; their numbers are those of the sources' shards.
        count: int. How many pairs there are.
        carries_points: bool. Whether points are to be carried.
    """

    contents: bytes
    groups: tuple[Shard, ...]
    count: int
    carries_points: bool


def read_pairs(path: str | os.PathLike, corpus: CorpusFolder) -> PairGroups:
    """Reads a .csv file of pairs and groups them.

    Args:
        path: The file, with columns source and target, and x and y where points are carried.
            Several lines of one pair are several points.
        corpus: The corpus, whose listing says in which shard a key is.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a column is missing, a number is none, there is no pair, or a key is not in
            the corpus or could not be described.
    """
    if not storage.exists(path):
        raise FileNotFoundError(f"Expected a .csv file of pairs. Received: {path}")
    rows = csv.DictReader(io.StringIO(storage.read_bytes(path).decode("utf-8-sig")))
    names = tuple(rows.fieldnames or ())
    carries = set(_POINT) <= set(names)
    if not set(_COLUMNS) <= set(names) or (not carries and set(_POINT) & set(names)):
        raise ValueError(
            "Expected columns source and target, and both x and y or neither. "
            f"Received: {path} with {', '.join(names) or 'no header'}"
        )
    pairs: dict[tuple[str, str], list] = {}
    for row in rows:
        points = pairs.setdefault((row["source"], row["target"]), [])
        if carries:
            points.append(_point(row, path))
    if not pairs:
        raise ValueError(f"Expected at least one pair. Received: none in {path}")
    shards = _shards_of({key for pair in pairs for key in pair}, corpus)
    ordered = sorted(
        (shards[source], shards[target], source, target, points)
        for (source, target), points in pairs.items()
    )
    lines = io.BytesIO()
    starts: dict[int, int] = {}
    for number, *rest in ordered:
        starts.setdefault(number, lines.tell())
        lines.write(json.dumps(rest, ensure_ascii=False).encode() + b"\n")
    ends = [*list(starts.values())[1:], lines.tell()]
    groups = tuple(
        Shard(number, start, end - start)
        for (number, start), end in zip(starts.items(), ends, strict=True)
    )
    return PairGroups(lines.getvalue(), groups, len(pairs), carries)


def _point(row: dict, path) -> tuple[float, float]:
    try:
        return float(row["x"]), float(row["y"])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Expected x and y in pixels on every line of {path}. Received: {row}"
        ) from error


def _shards_of(keys: set[str], corpus: CorpusFolder) -> dict[str, int]:
    """Returns the shard of each key."""
    size = corpus.record()["shard_size"]
    listed = storage.read_bytes(corpus.listing).decode().splitlines()
    found = {key: number // size for number, key in enumerate(listed) if key in keys}
    unknown = sorted(keys - set(found))
    if unknown:
        raise ValueError(
            f"Expected keys of the corpus, such as {listed[0]!r}. Received: {unknown[0]!r}"
        )
    failed = corpus.failed()
    broken = sorted(keys & set(failed))
    if broken:
        raise ValueError(
            f"Expected images that could be described. Received: {broken[0]} ({failed[broken[0]]})"
        )
    return found
