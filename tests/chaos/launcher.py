"""Starts programs many times at little cost: TensorFlow is imported once, and every run is a fork.

A fork of a process that has imported TensorFlow but never used it is as good as a new process, and
starts in a hundredth of the time. The trunk is one of three small convolutions with seeded weights:
what is stopped, starved or cut here is the writing and reading of files, not the network.
"""

import atexit
import collections
import contextlib
import dataclasses
import importlib
import os
import pathlib
import runpy
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence

import numpy as np

# Everything heavy that the programs import, so that no fork has to.
_HEAVY = (
    "matplotlib.pyplot",
    "tensorflow",
    "anchornet_tf.runner.evaluation",
    "anchornet_tf.tasks.align_run",
    "anchornet_tf.tasks.transfer_run",
    "anchornet_tf.training.fit_pca",
    "anchornet_tf.training.recipe",
    "anchornet_tf.studio.app",
    "anchornet_tf.studio.studio_state",
    "export.archive",
    "export.bundle",
)
# The recipe in seconds: the same steps in the same order, fewer and smaller.
_SMALL = {"steps": 4, "batch_size": 4, "heldout_fraction": 0.3, "views": 1}
_SHORT_RECIPE = {
    "stage1": {**_SMALL, "num_filters": 4},
    "stage2": {**_SMALL, "latent_filters": 6, "calibration_images": 8, "freeze_trunk": True},
}
# What Python reports before it changes something on disk.
_CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link")


@dataclasses.dataclass
class Ended:
    """How a run ended.

    Attributes:
        code: int. The exit code; negative for a signal.
        text: All that it printed.
        seconds: float.
        changes: int. How often it changed something on disk.
    """

    code: int
    text: str
    seconds: float
    changes: int


class Run:
    """A program that was started."""

    def __init__(self, pid: int, place: pathlib.Path, output: pathlib.Path):
        self.pid, self.place, self._output = pid, place, output
        self._started = time.monotonic()

    def signal(self, number: int) -> None:
        """Sends a signal, unless the run has ended."""
        os.kill(self.pid, number)

    def signal_all(self, number: int) -> None:
        """Sends a signal to the run and to all processes that it has started."""
        os.killpg(self.pid, number)

    def wait(self, limit: float = 240.0) -> Ended:
        """Waits for the end; a run that takes longer than `limit` seconds is killed and says so."""
        end = time.monotonic() + limit
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return self._ended(-int(signal.SIGKILL), f"\nHung for {limit:g} s.")
            time.sleep(0.005)
        return self._ended(os.waitstatus_to_exitcode(status), "")

    def _ended(self, code: int, more: str) -> Ended:
        count = self._output.with_suffix(".changes")
        changes = int(count.read_text() or 0) if count.exists() else 0
        text = self._output.read_text(errors="replace") + more
        return Ended(code, text, time.monotonic() - self._started, changes)

    def text(self) -> str:
        """Returns what was printed so far."""
        # The run opens its output itself, a moment after it was started.
        return self._output.read_text(errors="replace") if self._output.exists() else ""

    def family(self) -> list[int]:
        """Returns the processes of this run's session that are alive."""
        alive = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (OSError, ValueError):
                continue
            if fields[0] != "Z" and int(fields[3]) == self.pid:
                alive.append(int(entry.name))
        return alive


def prepare() -> None:
    """Imports what the programs need, and puts the small trunk in place of ResNet50."""
    from anchornet_tf.command_line import start

    start.prepare()
    for name in _HEAVY:
        importlib.import_module(name)
    import keras

    from anchornet_tf.training import recipe_config
    from anchornet_tf.trunks import pretrained
    from anchornet_tf.trunks.backbone import TAP_CHANNELS, TAP_LAYERS
    from tests.export.small_model import small_trunk

    rng, depth, weights = np.random.default_rng(5), 3, {}
    for name, channels in zip(TAP_LAYERS, TAP_CHANNELS, strict=True):
        kernel = rng.normal(0, (2 / depth) ** 0.5, (1, 1, depth, channels))
        weights[f"{name}/kernel"] = kernel.astype(np.float32)
        weights[f"{name}/bias"] = rng.normal(0, 0.1, channels).astype(np.float32)
        depth = channels
    keras.applications.ResNet50 = small_trunk
    pretrained.load_imagenet = lambda: weights
    recipe_config.SETTINGS["short"].update(_SHORT_RECIPE)


def start(
    module: str,
    arguments: Sequence[str],
    place: pathlib.Path,
    *,
    strike: tuple[int, int] | None = None,
    inside: Callable[[], None] = lambda: None,
    environment: dict[str, str] | None = None,
) -> Run:
    """Starts `python -m module arguments` in a folder, whose `cache` is its cache folder.

    Args:
        module: The program.
        arguments: Its flags.
        place: The folder that it is started in.
        strike: `(n, signal)`: the run sends itself the signal before the n-th change on disk.
        inside: Called in the new process before the program starts.
        environment: Further variables.
    """
    output = place.with_name(f"{place.name}.{time.monotonic_ns()}.log")
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return Run(pid, place, output)
    code = 70
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        handle = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.close(handle)
        os.chdir(place)
        os.environ["ANCHORNET_CACHE"] = str(place / "cache")
        os.environ["TMPDIR"] = str(place / "tmp")
        tempfile.tempdir = None
        (place / "tmp").mkdir(exist_ok=True)
        os.environ.update(environment or {})
        inside()
        count = _watch(place, strike)
        sys.argv = [module, *arguments]
        code = _call(module)
        output.with_suffix(".changes").write_text(str(count["changes"]))
    except BaseException:
        traceback.print_exc()
    finally:
        _leave(code)


def _call(module: str) -> int:
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _leave(code: int) -> None:
    """Ends as a process of its own does, without going back to what was forked."""
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        code = code or 1
    os._exit(code)


def _watch(place: pathlib.Path, strike: tuple[int, int] | None) -> collections.Counter:
    """Counts changes on disk below a folder, and strikes before one of them."""
    count, root = collections.Counter(), str(place)

    def hook(event, details):
        if event == "open":
            path, mode, flags = details
            changes = any(letter in (mode or "") for letter in "wax+")
            changes = changes or (mode is None and bool((flags or 0) & os.O_ACCMODE))
        elif event in _CHANGES:
            path, changes = details[0], True
        else:
            return
        if not changes or not isinstance(path, str | os.PathLike):
            return
        if os.path.abspath(os.fspath(path)).startswith(root):
            count["changes"] += 1
            if strike is not None and count["changes"] == strike[0]:
                os.kill(os.getpid(), strike[1])

    sys.addaudithook(hook)
    return count


def end(pid: int) -> None:
    """Kills a process of ours, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
