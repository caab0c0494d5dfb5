r"""Measures the index at scale: recall of IVF-PQ, its speed and its size, on synthetic descriptors.

    python -m anchornet_tf.corpus.measure_index --index=corpus/index --count=1000000

Takes the real descriptors of an index, draws more like them up to --count, and compares IVF-PQ with
the exact search for the ten nearest of --queries real descriptors that are not in the set.
"""

import time

from absl import flags

from anchornet_tf.command_line import program

_INDEX = flags.DEFINE_string("index", "corpus/index", "Folder that corpus.index wrote.")
_COUNT = flags.DEFINE_integer("count", 1_000_000, "Descriptors in all.", 10_000)
_QUERIES = flags.DEFINE_integer("queries", 200, "How many to ask for.", 1)
_LISTS = flags.DEFINE_integer("lists", 0, "Lists of IVF-PQ; 0 for 4 times the root of count.", 0)
_PROBED = flags.DEFINE_list("probed", ["16", "48", "128"], "Numbers of lists to look into.")
_SEED = flags.DEFINE_integer("seed", 0, "Of what is drawn.", 0)
_TOP = 10


def main(argv):
    program.flags_only(argv)
    import numpy as np

    from anchornet_tf.corpus import neighbors, synthetic
    from anchornet_tf.corpus.part_index import PartIndex

    opened = PartIndex.open(_INDEX.value)
    images = np.asarray(opened.places["image"])
    chosen = np.random.default_rng(_SEED.value).permutation(len(opened.keys))
    # Whole images are held out: places of one image are alike.
    held_out = np.isin(images, chosen[: max(len(chosen) // 10, 1)])
    real = np.asarray(opened.vectors[~held_out])
    queries = np.asarray(opened.vectors[held_out], np.float32)
    queries = np.random.default_rng(_SEED.value).permutation(queries)[: _QUERIES.value]
    vectors = synthetic.enlarged(real, _COUNT.value, _SEED.value)
    print(f"{len(vectors)} descriptors, {min(len(real), len(vectors))} of them real", flush=True)
    begun = time.perf_counter()
    index = neighbors.build(vectors, "ivfpq", _SEED.value, _LISTS.value or None)
    spent = time.perf_counter() - begun
    size = index.pq.M + 8
    print(
        f"built in {spent:.0f} s: {index.nlist} lists, {size} bytes of memory and "
        f"{vectors.shape[1]} of disk per place",
        flush=True,
    )
    exact = synthetic.exact_search(vectors, queries, _TOP)
    print(f"exact: {exact.seconds * 1e3:.2f} ms per query ({len(queries)} together)", flush=True)
    for probed in map(int, _PROBED.value):
        found = synthetic.measured(index, vectors, queries, exact, probed)
        print(
            f"{probed:4} lists: recall at {_TOP} {found.recall:.3f}, {found.seconds * 1e3:.2f} ms "
            f"per query, {exact.seconds / found.seconds:.1f} times as fast",
            flush=True,
        )


if __name__ == "__main__":
    program.run(main)
