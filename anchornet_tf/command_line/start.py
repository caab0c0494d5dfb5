"""A quiet start: TensorFlow without the notes that it writes on every machine without a GPU.

`TF_CPP_MIN_LOG_LEVEL` is not enough: TensorFlow writes its first notes before it reads that
variable, and reports a missing GPU as an error. They are dropped by what they say, and only while
TensorFlow is imported. Anything else that is written meanwhile is passed on.
"""

import contextlib
import glob
import importlib.abc
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator

_NOTES = (
    r"^WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR",
    r"^I\d{4} ",
    r"oneDNN supports \w+ only on platforms with AVX-512",
)
_MISSING_GPU = r"^E\d{4} .*\bcuInit\b"


def prepare() -> None:
    """Sets what TensorFlow reads at its start, and makes its import quiet wherever that happens.

    Call it before anything imports TensorFlow. Environment variables that the user has set win;
    with `TF_CPP_MIN_LOG_LEVEL=0` nothing is dropped.
    """
    wants_everything = os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "0"
    set_environment()
    if wants_everything or "tensorflow" in sys.modules:
        return
    if not any(isinstance(finder, _QuietImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _QuietImport())


def set_environment() -> None:
    """Sets the environment variables of all programs, where the user has not."""
    # Errors are shown, notes and warnings of TensorFlow's own are not.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # TensorFlow leaves oneDNN off on processors without AVX-512, where it still makes the trunk
    # about 1.2 times and a step of a bank about 1.5 times as fast.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")


@contextlib.contextmanager
def without_notes() -> Iterator[None]:
    """Holds back what is written to the standard error, and passes on all but TensorFlow's notes.

    The file descriptor itself is redirected, since TensorFlow writes past `sys.stderr`.
    """
    with tempfile.TemporaryFile() as held:
        sys.stderr.flush()
        try:
            original = os.dup(2)
        except OSError:  # There is no standard error: nothing can be seen.
            yield
            return
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)
            held.seek(0)
            news = [line for line in held if not _is_note(line.decode(errors="replace"))]
            if news:
                os.write(2, b"".join(news))


def _is_note(line: str) -> bool:
    patterns = _NOTES if _has_gpu() else (*_NOTES, _MISSING_GPU)
    return any(re.search(pattern, line) for pattern in patterns)


def _has_gpu() -> bool:
    """Tells whether a GPU of this machine should work, so that an error about it matters."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    return bool(glob.glob("/dev/nvidia[0-9]*") or glob.glob("/dev/dxg"))


class _QuietImport(importlib.abc.MetaPathFinder):
    """Imports TensorFlow without its notes: once, when somebody asks for it."""

    def find_spec(self, name, path, target=None):
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_quietly(module):
            with without_notes():
                execute(module)
                _provoke_notes(module)

        spec.loader.exec_module = execute_quietly
        return spec


def _provoke_notes(tensorflow) -> None:
    """Makes TensorFlow write now, while it is not seen, what it writes once in every process."""
    tensorflow.config.list_physical_devices()
    # Several workers must be set up before anything is computed.
    if not os.environ.get("TF_CONFIG"):
        with tensorflow.device("CPU:0"):
            halves = tensorflow.zeros((2, 1, 1, 1), tensorflow.float16)
            tensorflow.slice(halves, (0, 0, 0, 0), (1, 1, 1, 1))
