"""Tells a process that was forked after TensorFlow had started: there, TensorFlow waits for ever.

The threads of TensorFlow do not exist in a forked process, but what they had locked stays locked.
"""

import os
import sys

_state = {"runs": False, "lost": False}


def check_not_forked() -> None:
    """Raises RuntimeError in a process in which TensorFlow can no longer work."""
    if _state["lost"]:
        raise RuntimeError(
            "Expected a process that was started by itself, such as those of "
            "`multiprocessing.get_context('spawn')`: TensorFlow does not survive a fork. "
            f"Received: process {os.getpid()}, forked from one that had used TensorFlow"
        )


def _runs() -> bool:
    """Returns whether TensorFlow has started its threads, which it does at its first operation."""
    module = sys.modules.get("tensorflow.python.eager.context")
    context = getattr(module, "_context", None)
    return getattr(context, "_context_handle", None) is not None


def _before() -> None:
    _state["runs"] = _runs()


def _after() -> None:
    _state["lost"] = _state["lost"] or _state["runs"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_after)
