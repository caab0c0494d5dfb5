"""tf.distribute with one and two worker processes on this machine."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

from benchmarks.results import Curve, Line, Results, Row
from benchmarks.settings import Settings
from benchmarks.start_up import ROOT

_TIMEOUT_SECONDS = 900


def local_workers(settings: Settings) -> Results:
    """Stage 1 with the live trunk; the workers of a machine share its cores."""
    cores = os.cpu_count() or 1
    half = max(1, cores // 2)
    # Two workers with half of the cores each, against one with as many and against one with all of
    # them.
    one_half, two_halves, one_whole = (
        images_per_second(settings, workers, threads)
        for workers, threads in ((1, half), (2, half), (1, cores))
    )
    rows = (
        Row(f"1 worker with {half} of {cores} cores", "images/s", one_half),
        Row(f"2 workers with {half} of {cores} cores each", "images/s", two_halves),
        Row(f"1 worker with all {cores} cores", "images/s", one_whole),
    )
    line = Line(f"{half} core(s) per worker", (1, 2), (one_half, two_halves))
    curve = Curve("Local workers", "workers", "images/s", (line,), logarithmic=False)
    return Results(rows, (curve,))


def images_per_second(settings: Settings, workers: int, threads: int) -> tuple[float, ...]:
    """Returns the images per second of all workers together, step by step.

    Raises:
        RuntimeError: If a worker failed.
    """
    with tempfile.TemporaryDirectory(prefix="anchornet-bench-") as name:
        folder = pathlib.Path(name)
        output = folder / "figures.json"
        command = [
            *(sys.executable, "-m", "benchmarks.worker_program", f"--output={output}"),
            *(f"--threads={threads}", f"--steps={settings.repeats}"),
            f"--batch_size={settings.choose(16, 4)}",
            f"--image_size={settings.choose(224, 64)}",
        ]
        cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(workers)]}
        environments = [_environment(cluster, index) for index in range(workers)]
        _run(command, environments, folder)
        figures = json.loads(output.read_text())
    if figures["replicas"] != workers:
        raise RuntimeError(f"Expected {workers} replicas. Received: {figures['replicas']}")
    return tuple(figures["images_per_second"])


def _environment(cluster: dict, index: int) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    if len(cluster["worker"]) > 1:
        task = {"type": "worker", "index": index}
        environment["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": task})
    return environment


def _run(command: list[str], environments: list[dict[str, str]], folder: pathlib.Path) -> None:
    """Runs a process for each environment until all have ended."""
    # Files, because a worker whose messages nobody reads would stop at a full pipe, and the others
    # with it.
    logs = [folder / f"worker{index}.log" for index in range(len(environments))]
    processes = []
    try:
        for environment, log in zip(environments, logs, strict=True):
            with log.open("w") as messages:
                processes.append(
                    subprocess.Popen(
                        command, cwd=ROOT, env=environment, stdout=messages, stderr=messages
                    )
                )
        for process, log in zip(processes, logs, strict=True):
            if process.wait(timeout=_TIMEOUT_SECONDS):
                raise RuntimeError(
                    f"Expected a worker to finish. Received: {log.read_text()[-2000:]}"
                )
    finally:
        # The others of a failed worker would wait for it forever.
        for process in processes:
            process.kill()
            process.wait()


def free_ports(count: int) -> list[int]:
    """Returns ports of this machine that nothing listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
