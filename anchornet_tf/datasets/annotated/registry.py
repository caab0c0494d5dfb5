"""Benchmarks by name."""

import os

from anchornet_tf.utils.lazy_registry import LazyRegistry

BENCHMARKS = LazyRegistry(
    "benchmark",
    {
        "pf_willow": "anchornet_tf.datasets.annotated.pf_willow:read",
        "pf_pascal": "anchornet_tf.datasets.annotated.pf_pascal:read",
        "pascal_parts": "anchornet_tf.datasets.annotated.pascal_parts:read",
        "animal_parts": "anchornet_tf.datasets.annotated.animal_parts:read",
        "spair": "anchornet_tf.datasets.annotated.spair:read",
        "cub": "anchornet_tf.datasets.annotated.cub:read",
        "parts_world": "anchornet_tf.datasets.annotated.embedded:read",
    },
)

# What numbers and names that make no sense lead to, beyond what the readers check themselves.
_DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def open_benchmark(name: str, data_dir: str | os.PathLike | None = None, **options):
    """Reads a benchmark from the folder that its makers publish.

    Args:
        name: `"pf_willow"`, `"pf_pascal"`, `"pascal_parts"`, `"animal_parts"`, `"spair"`, `"cub"`
            or `"parts_world"` (embedded: needs no folder).
        data_dir: the folder.
        **options: arguments of the benchmark's `read`, e.g. `subset="tune"` of PF-WILLOW.

    Returns:
        `anchornet_tf.datasets.annotated.annotation.Benchmark`.

    Raises:
        FileNotFoundError: If data is missing; the message says what was expected, and where to get
            it.
        ValueError: If a name or an option is unknown, or an annotation is malformed.

    Example:

    ```python
    from anchornet_tf import match_pair
    from anchornet_tf.datasets.annotated.registry import open_benchmark

    pair = open_benchmark("parts_world", num_pairs=1).pairs[0]
    flow = match_pair(
        pair.source.read_image(), pair.target.read_image(), features="sift", matcher="none"
    )
    ```
    """
    try:
        return BENCHMARKS.create(name, data_dir=data_dir, **options)
    except _DAMAGE as error:
        if "Received: " in str(error):
            raise
        reason = " ".join(str(error).split())
        raise ValueError(
            f"Expected the files of {name} as their makers publish them "
            f"({type(error).__name__}: {reason}). Received: {data_dir}"
        ) from error
