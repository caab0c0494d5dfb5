"""The machine and the settings that figures were measured on."""

import os
import pathlib
import platform
from importlib import metadata

_PACKAGES = ("tensorflow", "keras", "numpy", "scipy")
_VARIABLES = ("TF_ENABLE_ONEDNN_OPTS", "TF_XLA_FLAGS", "XLA_FLAGS", "OMP_NUM_THREADS")
_VECTOR_FLAGS = ("avx2", "fma", "avx512f", "avx512_vnni", "amx_tile")


def describe() -> dict:
    """Returns a description as JSON values; imports TensorFlow."""
    import tensorflow as tf

    cpu = _cpu()
    return {
        "processor": cpu.get("model name", platform.processor()),
        "cores": os.cpu_count(),
        "vector_instructions": [f for f in _VECTOR_FLAGS if f in cpu.get("flags", "").split()],
        "memory_gb": round(_memory_bytes() / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in _PACKAGES},
        "one_dnn": _one_dnn_is_on(),
        "xla_auto_clustering": tf.config.optimizer.get_jit() or False,
        "gpus": len(tf.config.list_physical_devices("GPU")),
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        # Figures of a machine that does other things too are to be taken with care.
        "load_average": round(os.getloadavg()[0], 2),
    }


def summary(description: dict) -> str:
    """Returns a description in one sentence."""
    versions = ", ".join(f"{name} {version}" for name, version in description["versions"].items())
    return (
        f"{description['cores']} cores of {description['processor']} "
        f"({', '.join(description['vector_instructions']) or 'no vector instructions known'}), "
        f"{description['memory_gb']:g} GB, Python {description['python']}, {versions}; "
        f"oneDNN {'on' if description['one_dnn'] else 'off'}, "
        f"XLA auto-clustering {'on' if description['xla_auto_clustering'] else 'off'}; "
        f"load average at the start {description['load_average']:g}"
    )


def _one_dnn_is_on() -> bool:
    from tensorflow.python.framework import test_util

    return bool(test_util.IsMklEnabled())


def _cpu() -> dict[str, str]:
    """Returns what Linux says of the first core; nothing elsewhere."""
    path = pathlib.Path("/proc/cpuinfo")
    if not path.is_file():
        return {}
    pairs = (line.partition(":") for line in path.read_text().split("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
