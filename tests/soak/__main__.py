"""Serves an exported model for a long time, to many clients, some of whom send garbage.

    python -m tests.soak --minutes=60                  # the shipped preset
    python -m tests.soak --minutes=0.5 --small         # a network of three convolutions

For the given time eight clients ask without a pause, and a tenth of what they send is broken. Then,
while they go on, new versions of the model appear, and the server is killed and started again.
Every good answer must be that of the model, every broken request must be refused, no request that
the client retries may be lost, and the server's memory must not grow. Prints a table, and what was
found; the exit code is 1 where something was.
"""

import argparse
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from export import archive
from tests.soak import models, report
from tests.soak.load import Load
from tests.soak.process import DoesNotAnswer, Server
from tests.soak.questions import broken_questions, good_questions

_LOOK_EVERY = 1.0
_TELL_EVERY = 60.0
# Answers between one change of the server and the next.
_ANSWERS_BETWEEN = 20
_PATIENCE = 900.0


def main() -> int:
    """Runs the soak; returns the exit code."""
    parser = argparse.ArgumentParser("tests.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60, help="of steady load")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--swaps", type=int, default=6, help="versions that appear under load")
    parser.add_argument("--restarts", type=int, default=6, help="kills of the server under load")
    parser.add_argument("--seed", type=int, default=0, help="chooses the requests")
    parser.add_argument("--small", action="store_true", help="a small network in place of voc20")
    values = parser.parse_args()
    # So that the folder is removed and the server ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    root = pathlib.Path(tempfile.mkdtemp(prefix="soak-"))
    try:
        return _soak(values, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _soak(values, root: pathlib.Path) -> int:
    model = models.small() if values.small else models.shipped()
    folders = models.export_two(model, root)
    trunk = models.trunk_seconds(model)
    good, broken = good_questions(folders, model.classes[:3]), broken_questions()
    served = root / "served"
    _publish(served, folders)
    server = Server(served)
    load = Load(server.grpc, server.rest, good, broken, values.seed)
    memory: list[float] = []
    steady = None
    try:
        server.wait_for(1)
        load.start(values.clients)
        _hold(load, server, 60 * values.minutes, memory)
        steady = report.Steady(*load.so_far())
        _swap(load, server, served, folders, values.swaps)
        after = server.megabytes()
        _restart(load, server, values.restarts)
        load.stop()
    except DoesNotAnswer as error:
        load.wrong.append(str(error))
    finally:
        server.stop()
    if steady is not None:
        report.show_latencies(steady.seconds, trunk)
        report.show_refused(load.refused)
        said, wrong = report.growth(memory)
        load.wrong += [wrong] if wrong else []
        print(
            f"\nMemory of the server: {said}\n"
            f"{values.minutes:g} minutes, {values.clients} clients, seed {values.seed}: "
            f"{steady.right:,} right, {sum(steady.refused.values()):,} refused."
        )
    if not load.wrong:
        print(
            f"Then {values.swaps} new versions ({after:,.0f} MB after them) and {values.restarts} "
            f"restarts: {load.right - steady.right:,} right, "
            f"{sum(load.refused.values()) - sum(steady.refused.values()):,} refused, "
            f"{load.retried:,} times asked again, none lost.\nFound nothing."
        )
        return 0
    print(f"Found {len(load.wrong)}:")
    print("\n".join(f"- {text}" for text in load.wrong[:20]))
    return 1


def _publish(served: pathlib.Path, folders: list) -> int:
    """Adds the next version: odd and even ones are two different models."""
    number = max(archive.versions(served), default=0) + 1
    archive.write_version(
        served, lambda path: shutil.copytree(folders[number % 2], path, dirs_exist_ok=True)
    )
    return number


def _hold(load: Load, server: Server, seconds: float, memory: list[float]) -> None:
    """Waits, and notes the server's memory along the way."""
    began, told = time.monotonic(), 0.0
    while (passed := time.monotonic() - began) < seconds:
        memory.append(server.megabytes())
        if passed - told >= _TELL_EVERY:
            told = passed
            print(
                f"{memory[-1]:,.0f} MB, {load.right:,} right, {sum(load.refused.values()):,} "
                f"refused, {len(load.wrong)} wrong, {seconds - passed:.0f} s left",
                flush=True,
            )
        time.sleep(_LOOK_EVERY)


def _swap(load: Load, server: Server, served: pathlib.Path, folders: list, times: int) -> None:
    for _ in range(times):
        load.versions = (load.versions[0], load.versions[1] + 1)
        version = _publish(served, folders)
        server.wait_for(version)
        # From now on, no answer to a new request may come from the old version.
        load.versions = (version, version)
        _wait_for_answers(load)


def _restart(load: Load, server: Server, times: int) -> None:
    for number in range(times):
        server.stop(signal.SIGKILL if number % 2 == 0 else signal.SIGTERM)
        server.start()
        server.wait_for(load.versions[1])
        _wait_for_answers(load)


def _wait_for_answers(load: Load) -> None:
    goal, end = load.right + _ANSWERS_BETWEEN, time.monotonic() + _PATIENCE
    while load.right < goal:
        if time.monotonic() > end:
            raise DoesNotAnswer(f"fewer than {_ANSWERS_BETWEEN} answers in {_PATIENCE:.0f} s")
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
