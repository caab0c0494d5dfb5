r"""Measures what Beam costs: images per second through corpus.describe against a plain loop.

    python -m anchornet_tf.corpus.measure_throughput --images=photos --limit=256 --workers=2

Both describe the same images in the same shards, in turn, --rounds times. The loop is one process
whose TensorFlow uses all cores; Beam has --workers processes of one thread each. The time to start
is left out: it is counted from the first shard of every worker on, and printed beside. On a busy
machine, compare the seconds of a core per image. The memory of all processes is printed as it was
after a quarter of the time, and at the end.
"""

import os
import subprocess
import sys
import tempfile
import time

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.corpus.config import DescribeConfig
from anchornet_tf.corpus.process_usage import watched


def main(argv):
    program.flags_only(argv)
    config = _CONFIG.config()
    if flags.FLAGS.loop:
        _loop(config)
        return
    import dataclasses
    import statistics

    rates: dict[str, list] = {"loop": [], "beam": []}
    for number in range(flags.FLAGS.rounds):
        for kind in ("loop", "beam") if number % 2 == 0 else ("beam", "loop"):
            with tempfile.TemporaryDirectory() as scratch:
                own = dataclasses.replace(config, output=os.path.join(scratch, "corpus"))
                rates[kind].append(_measured(kind, own))
    (loop, loop_core), (beam, beam_core) = (
        [statistics.median(each) for each in zip(*rates[kind], strict=True)]
        for kind in ("loop", "beam")
    )
    print(
        f"Images per second: loop {loop:.2f}, Beam with {flags.FLAGS.workers} workers {beam:.2f}: "
        f"ratio {beam / loop:.2f}. Images per second of a core: loop {1 / loop_core:.2f}, Beam "
        f"{1 / beam_core:.2f}: ratio {loop_core / beam_core:.2f}"
    )


def _measured(kind: str, config: DescribeConfig) -> tuple[float, float]:
    """Runs one of the two; returns its images per second and the core's seconds per image."""
    from anchornet_tf.corpus.corpus_folder import CorpusFolder

    workers = flags.FLAGS.workers if kind == "beam" else 1
    what = "describe" if kind == "beam" else "measure_throughput"
    more = [f"--workers={workers}"] if kind == "beam" else ["--loop"]
    command = [sys.executable, "-m", f"anchornet_tf.corpus.{what}"]
    command += [*config_flags.arguments(config), *more]
    begun = time.time()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with watched(process) as seen:
        _, errors = process.communicate()
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
    first, last = times[workers - 1], times[-1]
    while_working = [usage for usage in seen if first <= usage.when <= last]
    early, late = while_working[len(while_working) // 4], while_working[-1]
    share = (last - first) / max(late.when - while_working[0].when, 1e-9)
    seconds = (late.seconds - while_working[0].seconds) * share / images
    print(
        f"{kind}: {images / (last - first):.2f} images per second, {seconds:.3f} seconds of a core "
        f"per image, after {times[0] - begun:.0f} s for the first shard; memory "
        f"{early.resident / 1e9:.2f} GB after a quarter, {late.resident / 1e9:.2f} GB at the end",
        flush=True,
    )
    return images / (last - first), seconds


def _loop(config: DescribeConfig) -> None:
    """Describes all shards one after the other, without Beam."""
    from anchornet_tf.corpus.corpus_folder import CorpusFolder
    from anchornet_tf.corpus.describer import AnchorDescriber
    from anchornet_tf.corpus.listing import list_images
    from anchornet_tf.corpus.shard_work import write_shard

    listing = list_images(config.images, config.shard_size, config.limit)
    folder = CorpusFolder(str(config.output))
    folder.start(config, listing)
    describe = AnchorDescriber(
        config.model, config.peaks, config.dense, config.image_size, config.blur
    )
    size = describe.directions.shape[1]
    for shard in listing.shards:
        write_shard(folder, shard, listing.root, config, describe, describe.classes, size)


if __name__ == "__main__":
    _CONFIG = config_flags.define(DescribeConfig, shard_size=16, limit=256)
    flags.DEFINE_integer("workers", 2, "Processes of Beam.", 1)
    flags.DEFINE_integer("rounds", 2, "How often each of the two is run.", 1)
    flags.DEFINE_bool("loop", False, "Only run the loop; the program calls itself with it.")
    program.run(main)
