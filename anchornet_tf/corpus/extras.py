"""Packages that only corpora need: imported when they are used, with a hint where they are not."""

import importlib
from types import ModuleType

_EXTRA_OF = {"apache_beam": "beam", "faiss": "search", "pyarrow": "beam"}


def need(name: str) -> ModuleType:
    """Imports a module of an extra.

    Args:
        name: The module, such as `"apache_beam"` or `"pyarrow.parquet"`.

    Raises:
        ImportError: If it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        top = name.split(".")[0]
        extra = _EXTRA_OF[top]
        raise ImportError(
            f"Expected the package {top}: pip install 'anchornet_tf[{extra}]'. Received: {error}"
        ) from error
