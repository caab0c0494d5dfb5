"""Benchmarks by name."""

import os

from anchornet_tf.utils.lazy_registry import LazyRegistry

_HERE = "anchornet_tf.datasets.annotated"

BENCHMARKS = LazyRegistry(
    "benchmark",
    {
        "pf_willow": f"{_HERE}.pf_willow:read",
        "pf_pascal": f"{_HERE}.pf_pascal:read",
        "pascal_parts": f"{_HERE}.pascal_parts:read",
        "animal_parts": f"{_HERE}.animal_parts:read",
        "spair": f"{_HERE}.spair:read",
        "cub": f"{_HERE}.cub:read",
        "parts_world": f"{_HERE}.embedded:read",
    },
)


def open_benchmark(name: str, data_dir: str | os.PathLike | None = None, **options):
    """Reads a benchmark from the folder that its makers publish.

    Args:
        name: `"pf_willow"`, `"pf_pascal"`, `"pascal_parts"`, `"animal_parts"`, `"spair"`, `"cub"` or
            `"parts_world"` (embedded: needs no folder).
        data_dir: the folder.
        **options: arguments of the benchmark's `read`, e.g. `subset="tune"` of PF-WILLOW.

    Returns:
        `anchornet_tf.datasets.annotated.annotation.Benchmark`.

    Raises:
        FileNotFoundError: If data is missing; the message says what was expected, and where to get it.
        ValueError: If a name or an option is unknown, or an annotation is malformed.

    Example:

    ```python
    for pair in open_benchmark("pf_willow", "PF-WILLOW").pairs:
        flow = match_pair(pair.source.read_image(), pair.target.read_image())
    ```
    """
    return BENCHMARKS.create(name, data_dir=data_dir, **options)
