"""Descriptors like those of a corpus, in any number: to see what an index does at scale."""

import time
from typing import NamedTuple

import numpy as np

from anchornet_tf.corpus import neighbors
from anchornet_tf.corpus.extras import need
from anchornet_tf.corpus.quantization import quantize, unit_vectors

# How far a synthetic descriptor is from the real one it is made of, in deviations of all of them.
_SPREAD = 0.35
_AT_ONCE = 100_000


def enlarged(real: np.ndarray, count: int, seed: int = 0) -> np.ndarray:
    """Returns descriptors that are spread like real ones, the real ones first.

    Each further one is a real one plus Gaussian noise with the covariance of all of them: a draw
    from the smooth density that the real ones suggest.

    Args:
        real: `(n, directions)` int8.
        count: int. How many to return in all.
        seed: int.

    Returns:
        int8 `(count, directions)`.
    """
    rng = np.random.default_rng(seed)
    units = unit_vectors(real)
    factor = np.linalg.cholesky(np.cov(units.T) + 1e-9 * np.eye(units.shape[1]))
    factor = (_SPREAD * factor.T).astype(np.float32)
    vectors = np.empty((count, real.shape[1]), np.int8)
    vectors[: len(real)] = real[:count]
    for start in range(min(len(real), count), count, _AT_ONCE):
        number = min(_AT_ONCE, count - start)
        noise = rng.standard_normal((number, real.shape[1]), np.float32) @ factor
        drawn = units[rng.integers(len(units), size=number)] + noise
        vectors[start : start + number] = quantize(drawn)[0]
    return vectors


class Exact(NamedTuple):
    """The exact answer.

    Attributes:
        rows: `(m, count)`.
        seconds: float, per query.
    """

    rows: np.ndarray
    seconds: float


def exact_search(vectors: np.ndarray, queries: np.ndarray, count: int) -> Exact:
    """Compares queries with everything, piece by piece, so that nothing need be in memory whole.

    Args:
        vectors: `(n, directions)` int8.
        queries: `(m, directions)`.
        count: int. How many of each query.
    """
    faiss = need("faiss")
    queries = unit_vectors(queries)
    best = np.full((len(queries), count), -np.inf, np.float32)
    rows = np.full((len(queries), count), -1, np.int64)
    spent = 0.0
    for start in range(0, len(vectors), _AT_ONCE):
        piece = unit_vectors(vectors[start : start + _AT_ONCE])
        begun = time.perf_counter()
        cosines, found = faiss.knn(queries, piece, count, metric=faiss.METRIC_INNER_PRODUCT)
        spent += time.perf_counter() - begun
        both = np.concatenate([best, cosines], axis=1)
        order = np.argsort(-both, axis=1, kind="stable")[:, :count]
        best = np.take_along_axis(both, order, 1)
        rows = np.take_along_axis(np.concatenate([rows, found + start], axis=1), order, 1)
    return Exact(rows, spent / len(queries))


class Measured(NamedTuple):
    """What an approximate search does.

    Attributes:
        probed: int. Lists that it looked into.
        recall: float. Share of the exact answers that it found.
        seconds: float, per query.
    """

    probed: int
    recall: float
    seconds: float


def measured(index, vectors, queries, exact: Exact, probed: int) -> Measured:
    """Compares an approximate search with the exact one."""
    count = exact.rows.shape[1]
    begun = time.perf_counter()
    rows, _ = neighbors.nearest(index, vectors, queries, count, probed)
    spent = (time.perf_counter() - begun) / len(queries)
    shared = [len(set(a) & set(b)) / count for a, b in zip(exact.rows, rows, strict=True)]
    return Measured(probed, float(np.mean(shared)), spent)
