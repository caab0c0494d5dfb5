"""Feeds damaged inputs to everything that reads files from elsewhere.

    python -m tests.fuzz                       # 100,000 inputs
    python -m tests.fuzz --inputs=5000 --seed=3 --targets='bank files;flows'

An input must be read, or refused in one line that names its file; within 10 s and 2 GiB. Prints a
table, and what was found; the exit code is 1 where something was.
"""

import argparse
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time
import warnings

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from tests.fuzz.array_targets import archive_targets, folder_targets, server_targets
from tests.fuzz.judge import Judge, peak_megabytes
from tests.fuzz.targets import Target, text_targets

# Beyond what the process holds before the first input.
_MEMORY = 2 * 2**30


def targets() -> list[Target]:
    """Returns everything that is fed."""
    return [*text_targets(), *archive_targets(), *folder_targets(), *server_targets()]


def feed(target: Target, count: int, seed: int, keep: pathlib.Path) -> Judge:
    """Feeds a target with inputs, in this process.

    Args:
        target: What reads them.
        count: int. How many; there may be fewer different ones.
        seed: int. Chooses them.
        keep: Folder for inputs that something was found with.
    """
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fuzz-"))
    judge = Judge(target.name, keep, names_file=target.names_file)
    strategy, prepare = target.make(folder)
    current = keep / f"{target.name}-current"

    @seeded(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def one(value):
        read, name, raw = prepare(value)
        # What ends the process can be found here afterwards.
        current.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
        judge.hear(read, name, raw)

    one()
    current.unlink(missing_ok=True)
    shutil.rmtree(folder)
    return judge


def main() -> int:
    """Runs all targets, each in a process of its own; returns the exit code."""
    parser = argparse.ArgumentParser("tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", default="", help="separated by semicolons; all by default")
    values = parser.parse_args()
    chosen = [name for name in values.targets.split(";") if name]
    there = [target for target in targets() if not chosen or target.name in chosen]
    shares = sum(target.share for target in there)
    keep = pathlib.Path(tempfile.mkdtemp(prefix="fuzz-found-"))
    print(f"{'target':<24}{'inputs':>8}{'read':>8}{'refused':>9}{'found':>7}{'s':>7}{'MB':>7}")
    began, wrong, total = time.monotonic(), 0, 0
    for target in there:
        count = round(values.inputs * target.share / shares)
        wrong += bool(_in_own_process(target, count, values.seed, keep))
        total += count
    seconds = time.monotonic() - began
    print(f"\n{total:,} inputs in {seconds:.0f} s with seed {values.seed}")
    print(f"Found something: {keep}" if wrong else "Found nothing.")
    return int(bool(wrong))


def _in_own_process(target: Target, count: int, seed: int, keep: pathlib.Path) -> int:
    """Returns how the process ended: 0 where nothing was found."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code < 0:
            print(f"  FOUND  {target.name}: ended by signal {-code}; see {keep}", flush=True)
        return code
    code = 2
    try:
        began = time.monotonic()
        # Damaged files make libraries warn, thousands of times.
        warnings.simplefilter("ignore")
        _bound_memory()
        judge = feed(target, count, seed, keep)
        print(
            f"{target.name:<24}{judge.count:>8,}{judge.taken:>8,}{judge.refused:>9,}"
            f"{len(judge.findings):>7}{time.monotonic() - began:>7.0f}{peak_megabytes():>7.0f}",
            flush=True,
        )
        code = int(bool(judge.findings))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _bound_memory() -> None:
    status = pathlib.Path("/proc/self/statm")
    if status.exists():
        held = int(status.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + _MEMORY, resource.RLIM_INFINITY))


if __name__ == "__main__":
    sys.exit(main())
