"""A campaign of faults: programs are killed, starved and fed damaged files, and must not mind.

    python -m tests.chaos                                # everything, about half an hour
    python -m tests.chaos --short --seed=1               # a fixed selection of two minutes
    python -m tests.chaos --programs=stage1 --kills=20 --faults=

Prints a table, and what was found; the exit code is 1 where something was. docs/faults.md says what
is checked.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from tests.chaos import kills, launcher, surroundings
from tests.chaos.campaign import Campaign, DoesNotRun, Row
from tests.chaos.cases import BY_NAME
from tests.chaos.studio import stop_studio

_STUDIO = "studio"
# A look at most things in two minutes: the program, and the fault or signal that it meets.
_SHORT = (
    ("stage1", "kill -9"),
    ("stage1", "bit flipped in checkpoint"),
    ("stage1", "two in one folder"),
    ("stage1", "full disk"),
    ("stage1", "cache file cut in half"),
    ("stage1", "no permission"),
    ("stage2", "SIGTERM"),
    ("transfer", "SIGINT"),
    ("transfer", "clock set back"),
    ("bundle", "kill -9"),
    (_STUDIO, "kill -9"),
)


def main() -> int:
    """Runs the campaign; returns the exit code."""
    names = [*BY_NAME, _STUDIO]
    parser = argparse.ArgumentParser("tests.chaos", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="chooses moments and sizes")
    parser.add_argument("--short", action="store_true", help="a fixed selection")
    parser.add_argument("--kills", type=int, default=4, help="per program and signal")
    parser.add_argument("--programs", default=",".join(names), help="some of " + ", ".join(names))
    parser.add_argument(
        "--faults",
        default=";".join(surroundings.FAULTS),
        help="separated by semicolons, of: " + "; ".join(surroundings.FAULTS),
    )
    parser.add_argument("--minutes", type=float, default=40, help="no new fault after this time")
    values = parser.parse_args()
    root = pathlib.Path(tempfile.mkdtemp(prefix="chaos-"))
    forks = _fork_with_threads(1 if values.short else 5)
    launcher.prepare()
    campaign = Campaign(root, values.seed)
    began = time.monotonic()
    _note_forks(campaign, forks)
    for program, fault in _plan(values):
        if time.monotonic() - began > 60 * values.minutes:
            print(f"No time left for {fault} of {program}", flush=True)
        else:
            _meet(campaign, program, fault, 1 if values.short else values.kills)
    return _report(campaign, values.seed, time.monotonic() - began)


def _plan(values) -> list[tuple[str, str]]:
    if values.short:
        return list(_SHORT)
    programs = [name for name in values.programs.split(",") if name]
    faults = [name for name in values.faults.split(";") if name]
    plan = [(name, signal) for signal in kills.SIGNALS for name in programs]
    for fault in faults:
        trained = fault in surroundings.OF_TRAINING
        plan += [
            (name, fault)
            for name in programs
            if name != _STUDIO and (not trained or name in ("stage1", "stage2"))
        ]
    return plan


def _meet(campaign: Campaign, program: str, fault: str, times: int) -> None:
    try:
        if fault not in kills.SIGNALS:
            surroundings.apply(campaign, fault, BY_NAME[program])
        elif program == _STUDIO:
            stop_studio(campaign, fault, times)
        else:
            kills.stop_often(campaign, BY_NAME[program], fault, times)
    except DoesNotRun as error:
        # One program that fails undisturbed does not end the campaign for the others.
        campaign.found(f"{program}, {fault}: {error}")


def _fork_with_threads(times: int) -> tuple[list[str], float]:
    # In a process of its own: the campaign forks too, and must not have used TensorFlow.
    began = time.monotonic()
    command = [sys.executable, "-m", "tests.chaos.forked", str(times)]
    result = subprocess.run(command, capture_output=True, text=True)
    return result.stdout.splitlines()[-times:], time.monotonic() - began


def _note_forks(campaign: Campaign, forks: tuple[list[str], float]) -> None:
    ends, seconds = forks
    wrong = [end for end in ends if end not in ("right", "refused")]
    if wrong or not ends:
        campaign.found(f"fork with threads: {', '.join(ends) or 'no answer'}")
    campaign.note(Row("fork with threads", "match", len(ends), ", ".join(sorted({*ends})), seconds))


def _report(campaign: Campaign, seed: int, seconds: float) -> int:
    stops = sum(row.times for row in campaign.rows if row.fault in kills.SIGNALS)
    others = sum(row.times for row in campaign.rows) - stops
    print(f"\n{stops} times stopped, {others} other faults, {seconds:.0f} s, seed {seed}")
    if campaign.findings:
        print(f"Found {len(campaign.findings)}:")
        print("\n".join(f"- {text}" for text in campaign.findings))
        print(f"The folders are in {campaign.root}")
        return 1
    shutil.rmtree(campaign.root)
    print("Found nothing.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
