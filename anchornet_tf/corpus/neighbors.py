"""Nearest descriptors among very many, by faiss: exact for small sets, IVF-PQ for large ones.

Both compare by the cosine. IVF-PQ keeps 32 bytes of a descriptor in memory and looks into a few of
many lists; what it finds is compared again with the 8-bit descriptors on disk, so that its order is
that of the exact search wherever it finds the right ones.
"""

import os

import numpy as np

from anchornet_tf.corpus.extras import need
from anchornet_tf.corpus.quantization import unit_vectors

FLAT_UP_TO = 200_000
# Chosen on real descriptors for a recall of at least 0.95; see docs/scale.md.
PROBED_LISTS = 48
_AGAIN = 10
_LEAST_AGAIN = 200
_LISTS_PER_ROOT = 4
_MOST_LISTS = 65_536
_TRAINED_PER_LIST = 64
_LEAST_TRAINED = 10_000
_BITS = 8
_AT_ONCE = 100_000


def build(vectors: np.ndarray, kind: str = "auto", seed: int = 0, lists: int | None = None):
    """Returns a faiss index of descriptors.

    Args:
        vectors: `(n, directions)`, int8 or float, in memory or mapped; of any length but zero.
        kind: `"flat"`, `"ivfpq"`, or `"auto"` for what fits the number.
        seed: int. Chooses what the lists are learnt from.
        lists: int. How many lists IVF-PQ has; None for `num_lists`.

    Raises:
        ImportError: If faiss is not installed.
        ValueError: If there are too few descriptors for ivfpq.
    """
    faiss = need("faiss")
    count, depth = vectors.shape
    if kind == "auto":
        kind = "flat" if count <= FLAT_UP_TO else "ivfpq"
    if kind == "flat":
        index = faiss.IndexFlatIP(depth)
    else:
        index = _learnt(faiss, vectors, seed, lists or num_lists(count))
    for start in range(0, count, _AT_ONCE):
        index.add(unit_vectors(vectors[start : start + _AT_ONCE]))
    return index


def num_lists(count: int) -> int:
    """Returns how many lists IVF-PQ has for so many descriptors."""
    return int(min(max(_LISTS_PER_ROOT * np.sqrt(count), 1), count / 39, _MOST_LISTS))


def _learnt(faiss, vectors: np.ndarray, seed: int, lists: int):
    count, depth = vectors.shape
    smallest = 39 * 2**_BITS
    if count < smallest:
        raise ValueError(
            f"Expected at least {smallest} places for --kind=ivfpq; flat is better below. "
            f"Received: {count}"
        )
    sampled = min(count, max(_TRAINED_PER_LIST * lists, _LEAST_TRAINED))
    rows = np.sort(np.random.default_rng(seed).choice(count, sampled, replace=False))
    quantizer = faiss.IndexFlatIP(depth)
    index = faiss.IndexIVFPQ(
        quantizer, depth, lists, max(depth // 2, 1), _BITS, faiss.METRIC_INNER_PRODUCT
    )
    # The lists' centres are learnt on the sphere that the descriptors lie on.
    index.cp.spherical = True
    index.cp.max_points_per_centroid = _TRAINED_PER_LIST
    index.cp.seed = seed
    index.train(unit_vectors(vectors[rows]))
    index.own_fields = True
    quantizer.this.disown()
    return index


def write(index, path: str | os.PathLike) -> None:
    """Writes an index to a file."""
    need("faiss").write_index(index, os.fspath(path))


def read(path: str | os.PathLike):
    """Reads an index that `write` wrote."""
    return need("faiss").read_index(os.fspath(path))


def nearest(
    index, vectors: np.ndarray, queries: np.ndarray, count: int, probed: int = PROBED_LISTS
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the nearest descriptors of each query, best first.

    Args:
        index: What `build` returned.
        vectors: `(n, directions)` that it was built from; some of its rows are read.
        queries: `(m, directions)`.
        count: int. How many of each; fewer where there are fewer.
        probed: int. How many lists of IVF-PQ to look into.

    Returns:
        Rows `(m, count)` of `vectors`, -1 where there are no more, and cosines `(m, count)`.
    """
    queries = unit_vectors(queries)
    count = min(count, index.ntotal)
    if hasattr(index, "nprobe"):
        index.nprobe = min(probed, index.nlist)
        more = min(max(_AGAIN * count, _LEAST_AGAIN), index.ntotal)
        _, rows = index.search(queries, more)
    else:
        cosines, rows = index.search(queries, count)
        return rows, cosines
    cosines = np.full(rows.shape, -np.inf, np.float32)
    for number, (query, found) in enumerate(zip(queries, rows, strict=True)):
        there = found >= 0
        cosines[number, there] = unit_vectors(vectors[found[there]]) @ query
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(rows, order, 1), np.take_along_axis(cosines, order, 1)
