"""What a campaign knows: its seed, its folders, the undisturbed runs, what it has found."""

import dataclasses
import pathlib
import random
import re
import shutil
import time

from tests.chaos import launcher, trees
from tests.chaos.cases import BY_NAME, Case, write_inputs

# A program that was told to stop may finish what it is in the middle of.
_LAST_WORDS = 20.0
# TensorFlow prints one of its own where a signal meets its C++ code.
_OUR_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\):.*/(anchornet_tf|trainers|export)/", re.DOTALL
)


class DoesNotRun(RuntimeError):
    """A program fails before anything was done to it."""


@dataclasses.dataclass
class Row:
    """A line of the table.

    Attributes:
        fault: What was done.
        program: To which.
        times: int. How often.
        outcome: What came of it.
        seconds: float.
    """

    fault: str
    program: str
    times: int
    outcome: str
    seconds: float


def before_the_program(ended: launcher.Ended) -> bool:
    """Tells whether Ctrl-C came while Python imported the program, before anything could be done.

    That is a tenth of a second, in which Python itself answers, with a traceback.
    """
    began = "command_line/program.py" in ended.text and ", in run\n" in ended.text
    return not ended.changes and not began and ended.text.rstrip().endswith("KeyboardInterrupt")


class Campaign:
    """Runs programs undisturbed, once each, and compares disturbed ones with them.

    Args:
        root: An empty folder for everything.
        seed: int. Chooses moments, signals and sizes.
    """

    def __init__(self, root: pathlib.Path, seed: int):
        self.root, self.random = root, random.Random(seed)
        self.findings: list[str] = []
        self.rows: list[Row] = []
        self._places = {"inputs": write_inputs(root / "inputs")}
        self._whole: dict[str, launcher.Ended] = {}
        self._number = 0

    def arguments(self, case: Case) -> list[str]:
        """Returns the arguments of a case with the folders filled in."""
        for name in BY_NAME:
            if any(f"{{{name}}}" in argument for argument in case.arguments):
                self.undisturbed(BY_NAME[name])
        return [argument.format(**self._places) for argument in case.arguments]

    def undisturbed(self, case: Case) -> launcher.Ended:
        """Runs a case to its end, the first time that it is asked for."""
        if case.name not in self._whole:
            arguments = self.arguments(case)
            place = self._places[case.name] = self.place(case.name)
            ended = launcher.start(case.module, arguments, place).wait(900)
            if ended.code:
                raise DoesNotRun(
                    f"Expected {case.name} to run undisturbed. Received: {ended.text[-900:]}"
                )
            self._whole[case.name] = ended
        return self._whole[case.name]

    def whole(self, case: Case) -> pathlib.Path:
        """Returns the folder of the undisturbed run."""
        self.undisturbed(case)
        return self._places[case.name]

    def place(self, name: str) -> pathlib.Path:
        """Returns a new folder."""
        self._number += 1
        place = self.root / f"{self._number:04d}-{name}"
        place.mkdir()
        return place

    def start(self, case: Case, place: pathlib.Path, **options) -> launcher.Run:
        """Starts a case in a folder."""
        return launcher.start(case.module, self.arguments(case), place, **options)

    def found(self, text: str) -> None:
        """Notes something that should not be."""
        print(f"  FOUND  {text}", flush=True)
        self.findings.append(text)

    def note(self, row: Row) -> None:
        """Adds a line to the table."""
        print(
            f"{row.fault:<26} {row.program:<10} {row.times:>5}  {row.outcome:<44} "
            f"{row.seconds:>6.1f} s",
            flush=True,
        )
        self.rows.append(row)

    def check_stopped(self, case: Case, run: launcher.Run, ended: launcher.Ended) -> None:
        """Notes processes that outlive a run, and tracebacks."""
        end = time.monotonic() + _LAST_WORDS
        while (alive := run.family()) and time.monotonic() < end:
            time.sleep(0.05)
        if alive:
            self.found(f"{case.name}: {len(alive)} processes outlive the one that was stopped")
            for pid in alive:
                launcher.end(pid)
        if _OUR_TRACEBACK.search(ended.text) and not before_the_program(ended):
            self.found(f"{case.name}: a traceback: {ended.text[-600:]}")

    def finish(self, case: Case, place: pathlib.Path, about: str) -> None:
        """Runs a case again and notes where it does not end as if nothing had happened."""
        ended = self.start(case, place).wait()
        if ended.code and not (case.already and case.already in ended.text):
            self.found(f"{case.name}, {about}: the next run failed: {ended.text[-600:]}")
            return
        self.compare(case, place, about)

    def compare(self, case: Case, place: pathlib.Path, about: str) -> None:
        """Notes where a folder is not that of the undisturbed run, and clears it otherwise."""
        whole, known = self.whole(case), len(self.findings)
        if case.versions:
            differs = trees.difference(*map(trees.newest_version, (place, whole)), case.free)
        else:
            differs = trees.difference(place / "out", whole / "out", case.free)
        if differs:
            self.found(f"{case.name}, {about}: {differs}")
        left = trees.temporary(place)
        if left:
            self.found(f"{case.name}, {about}: half-written files remain: {', '.join(left[:3])}")
        if len(self.findings) == known:
            shutil.rmtree(place, ignore_errors=True)
