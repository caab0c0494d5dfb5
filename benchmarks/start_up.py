"""How long programs take before they do anything, each time in a new process."""

import pathlib
import subprocess
import sys

from benchmarks.results import Goal, Results, Row
from benchmarks.settings import Settings
from benchmarks.timing import MATMUL, in_turn

ROOT = pathlib.Path(__file__).resolve().parents[1]
_HELP = ("-m", "trainers.stage1", "--help")
_EVERY_NAME = "import anchornet_tf; [getattr(anchornet_tf, name) for name in anchornet_tf.__all__]"


def help_text(settings: Settings) -> Results:
    """`--help` of a trainer, which should not need TensorFlow."""
    timed = in_turn({"help": lambda: run_python(*_HELP)}, settings.repeats)
    imported = run_python("-X", "importtime", *_HELP).stderr.splitlines()
    count = sum(line.rpartition("|")[2].strip() == "tensorflow" for line in imported)
    command = "python -m trainers.stage1 --help"
    seconds = timed.seconds["help"]
    return Results(
        (
            Row(command, "s", seconds, Goal(2), "", "", seconds, timed.seconds[MATMUL]),
            Row(f"{command}: imports of TensorFlow", "times", (float(count),), Goal(0)),
        )
    )


def imports(settings: Settings) -> Results:
    """`import anchornet_tf`, and all of its names, against TensorFlow's own import."""
    programs = {
        "TensorFlow's import": "import tensorflow",
        "bare": "import anchornet_tf",
        "every name": _EVERY_NAME,
    }
    works = {name: (lambda text=text: run_python("-c", text)) for name, text in programs.items()}
    timed = in_turn(works, settings.repeats)
    unit = "TensorFlow's import"
    return Results(
        (
            timed.row("bare", "import anchornet_tf", per=unit, goal=Goal(1.1)),
            timed.row("every name", "all public names of anchornet_tf", per=unit),
        )
    )


def run_python(*arguments: str) -> subprocess.CompletedProcess:
    """Runs Python in a process of its own.

    Raises:
        RuntimeError: If it fails.
    """
    result = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise RuntimeError(f"Expected {arguments} to run. Received: {result.stderr[-2000:]}")
    return result
