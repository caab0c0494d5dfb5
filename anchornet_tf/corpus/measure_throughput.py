r"""Measures what Beam costs: images per second through corpus.describe against a plain loop.

    python -m anchornet_tf.corpus.measure_throughput --images=photos --limit=256 --workers=2

Both describe the same images in the same shards, in turn, --rounds times. The loop is one process
whose TensorFlow uses all cores; Beam has --workers processes of one thread each. The time to start
is left out: it is counted from the first shard of every worker on, and printed beside. The memory
of all workers is printed as it was after a quarter of the shards, and at the end.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.corpus.config import DescribeConfig

_PAGE = os.sysconf("SC_PAGE_SIZE")
_LOOK_EVERY = 0.5


def main(argv):
    program.flags_only(argv)
    config = _CONFIG.config()
    if flags.FLAGS.loop:
        _loop(config)
        return
    import dataclasses
    import statistics

    rates: dict[str, list[float]] = {"loop": [], "beam": []}
    for number in range(flags.FLAGS.rounds):
        for kind in ("loop", "beam") if number % 2 == 0 else ("beam", "loop"):
            with tempfile.TemporaryDirectory() as scratch:
                own = dataclasses.replace(config, output=os.path.join(scratch, "corpus"))
                rates[kind].append(_measured(kind, own))
    middle = {kind: statistics.median(found) for kind, found in rates.items()}
    print(
        f"Images per second: loop {middle['loop']:.2f}, Beam with {flags.FLAGS.workers} workers "
        f"{middle['beam']:.2f}; ratio {middle['beam'] / middle['loop']:.2f}"
    )


def _measured(kind: str, config: DescribeConfig) -> float:
    """Runs one of the two, and returns its images per second."""
    from anchornet_tf.corpus.corpus_folder import CorpusFolder

    workers = flags.FLAGS.workers if kind == "beam" else 1
    what = "describe" if kind == "beam" else "measure_throughput"
    more = [f"--workers={workers}"] if kind == "beam" else ["--loop"]
    command = [sys.executable, "-m", f"anchornet_tf.corpus.{what}"]
    command += [*config_flags.arguments(config), *more]
    memory: list[tuple[float, float]] = []
    begun = time.time()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    watcher = threading.Thread(target=_watch, args=(process, memory))
    watcher.start()
    _, errors = process.communicate()
    watcher.join()
    if process.returncode:
        raise RuntimeError(errors.decode()[-2000:])
    folder = CorpusFolder(str(config.output))
    times = sorted(os.stat(folder.shard(number)).st_mtime for number in folder.finished())
    if len(times) <= workers:
        raise ValueError(
            f"Expected more shards than workers: a smaller --shard_size. Received: {len(times)}"
        )
    # From when every worker has finished one shard, if they share them evenly.
    images = (len(times) - workers) * config.shard_size
    rate = images / (times[-1] - times[workers - 1])
    quarter = times[len(times) // 4]
    early = max((size for when, size in memory if when <= quarter), default=0)
    late = memory[-1][1] if memory else 0
    print(
        f"{kind}: {rate:.2f} images per second after {times[0] - begun:.0f} s for the first shard; "
        f"memory {early:.2f} GB after a quarter, {late:.2f} GB at the end",
        flush=True,
    )
    return rate


def _watch(process: subprocess.Popen, memory: list[tuple[float, float]]) -> None:
    """Notes the memory of a process and all that it started, until it ends."""
    while process.poll() is None:
        size = _resident(process.pid)
        if size:
            memory.append((time.time(), size / 1e9))
        time.sleep(_LOOK_EVERY)


def _resident(root: int) -> int:
    """Returns the resident bytes of a process and its descendants; 0 where /proc is not there."""
    parents, sizes = {}, {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/statm") as file:
                sizes[int(name)] = int(file.read().split()[1]) * _PAGE
        except (OSError, ValueError):
            continue  # It ended meanwhile.
    total = 0
    for own in sizes:
        ancestor = own
        while ancestor in parents and ancestor != root:
            ancestor = parents[ancestor]
        total += sizes[own] if ancestor == root else 0
    return total


def _loop(config: DescribeConfig) -> None:
    """Describes all shards one after the other, without Beam."""
    from anchornet_tf.corpus.corpus_folder import CorpusFolder
    from anchornet_tf.corpus.describer import AnchorDescriber
    from anchornet_tf.corpus.listing import list_images
    from anchornet_tf.corpus.shard_work import write_shard

    listing = list_images(config.images, config.shard_size, config.limit)
    folder = CorpusFolder(str(config.output))
    folder.start(config, listing)
    describe = AnchorDescriber(config.model, config.peaks, config.dense, config.image_size)
    size = describe.directions.shape[1]
    for shard in listing.shards:
        write_shard(folder, shard, listing.root, config, describe, describe.classes, size)


if __name__ == "__main__":
    _CONFIG = config_flags.define(DescribeConfig, shard_size=16, limit=256)
    flags.DEFINE_integer("workers", 2, "Processes of Beam.", 1)
    flags.DEFINE_integer("rounds", 2, "How often each of the two is run.", 1)
    flags.DEFINE_bool("loop", False, "Only run the loop; the program calls itself with it.")
    program.run(main)
