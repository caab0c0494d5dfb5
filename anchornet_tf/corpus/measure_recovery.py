r"""Kills corpus.describe at random, runs it again, and compares with a run that was not disturbed.

    python -m anchornet_tf.corpus.measure_recovery --images=photos --limit=5000 --workers=2

The images are copied, and --broken of them are broken on the way: cut short, emptied, or replaced
by text. The killed runs have --workers processes and the undisturbed one has one. Prints where they
were killed, what became of every image, and how much memory all processes used. The exit code is 1
where a shard differs, an image is missing or there twice, a process lived on, or the images that
failed are not those that were broken.
"""

import collections
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from absl import flags

from anchornet_tf.command_line import config_flags, program
from anchornet_tf.corpus.config import DescribeConfig
from anchornet_tf.corpus.process_usage import of_session, usage, watched

_KINDS = ("cut short", "empty", "text")
# Kills fall into this share of the shards, so that the last run is long enough to see its memory.
_LATEST = 0.6
_AFTER_A_SHARD = 3.0  # Seconds.
_LOOK_EVERY = 0.05
_TO_END = 10.0


def main(argv):
    program.flags_only(argv)
    config = _CONFIG.config()
    import dataclasses

    chosen = random.Random(flags.FLAGS.seed)
    with tempfile.TemporaryDirectory() as scratch:
        images = os.path.join(scratch, "images")
        broken = copy_and_break(config, images, flags.FLAGS.broken, chosen)
        kinds = collections.Counter(broken.values())
        print(
            f"{len(os.listdir(images))} images, {len(broken)} of them broken: "
            + ", ".join(f"{kinds[kind]} {kind}" for kind in _KINDS),
            flush=True,
        )
        given = dataclasses.replace(config, images=images, limit=None)
        killed = dataclasses.replace(given, output=os.path.join(scratch, "killed"))
        whole = dataclasses.replace(given, output=os.path.join(scratch, "whole"))
        wrong = _kill(killed, chosen)
        _to_the_end("After the kills", killed, flags.FLAGS.workers)
        _to_the_end("Undisturbed", whole, 1)
        wrong += differences(str(killed.output), str(whole.output), broken)
    if wrong:
        raise ValueError(
            f"Expected the same corpus in spite of kills. Received: {'; '.join(wrong)}"
        )
    print("The same shards, every image once, and the failed ones are those that were broken.")


def copy_and_break(
    config: DescribeConfig, folder: str, share: float, chosen: random.Random
) -> dict[str, str]:
    """Links images into a new folder, some of them broken.

    Args:
        config: Which images.
        folder: Where to.
        share: float. How many are broken.
        chosen: Chooses which, and how.

    Returns:
        In what way each broken file is broken, by its name.
    """
    from anchornet_tf.corpus import storage
    from anchornet_tf.corpus.listing import list_images

    listing = list_images(config.images, config.shard_size, config.limit)
    keys = listing.contents.decode().splitlines()
    sick = set(chosen.sample(range(len(keys)), round(share * len(keys))))
    os.makedirs(folder)
    broken = {}
    for number, key in enumerate(keys):
        source = pathlib.Path(storage.join(os.path.abspath(listing.root), key))
        target = pathlib.Path(folder, f"{number:06d}{source.suffix}")
        if number not in sick:
            target.symlink_to(source)
            continue
        kind = broken[target.name] = _KINDS[len(broken) % len(_KINDS)]
        raw = source.read_bytes()
        target.write_bytes(
            {
                "cut short": raw[: int(chosen.uniform(0.05, 0.9) * len(raw))],
                "empty": b"",
                "text": f"This is no picture of {key}.\n".encode(),
            }[kind]
        )
    return broken


def differences(killed: str, whole: str, broken: dict[str, str]) -> list[str]:
    """Says what of two corpora is not as it should be.

    Args:
        killed: The folder of a corpus.
        whole: That of the one that it must equal.
        broken: The images that must have failed, and no others.
    """
    import pyarrow.parquet

    from anchornet_tf.corpus.corpus_folder import CorpusFolder

    wrong = []
    ours, theirs = (
        {
            str(path.relative_to(root)): path.read_bytes()
            for path in sorted(pathlib.Path(root).rglob("*"))
            if path.is_file() and path.name != "corpus.json"
        }
        for root in (killed, whole)
    )
    differing = [name for name in sorted(ours | theirs) if ours.get(name) != theirs.get(name)]
    if differing:
        wrong.append(f"{len(differing)} files differ, such as {differing[0]}")
    folder = CorpusFolder(killed)
    found = collections.Counter(list(folder.failed()))
    if sorted(found) != sorted(broken):
        wrong.append(f"{len(found)} images failed instead of {len(broken)}")
    for number in folder.finished():
        table = pyarrow.parquet.read_table(folder.shard(number), columns=["key"])
        found.update(table.column("key").to_pylist())
    with open(folder.listing) as file:
        keys = file.read().splitlines()
    twice = [key for key, count in found.items() if count > 1]
    lost = [key for key in keys if key not in found]
    wrong += [f"{len(twice)} images twice, such as {twice[0]}"] if twice else []
    wrong += [f"{len(lost)} images lost, such as {lost[0]}"] if lost else []
    reasons = collections.Counter(_kind_of(reason) for reason in folder.failed().values())
    print(
        f"{len(keys)} images: {len(keys) - len(folder.failed())} described, "
        f"{len(folder.failed())} failed; {len(ours)} files compared, {len(differing)} differ"
    )
    for reason, count in reasons.most_common():
        print(f"  {count} failed: {reason}")
    return wrong


def _kind_of(reason: str) -> str:
    return reason.partition(" Received: ")[0]


def _command(config: DescribeConfig, workers: int) -> list[str]:
    command = [sys.executable, "-m", "anchornet_tf.corpus.describe"]
    return [*command, *config_flags.arguments(config), f"--workers={workers}"]


def _kill(config: DescribeConfig, chosen: random.Random) -> list[str]:
    """Starts a run as often as it is to be killed; says what was wrong."""
    from anchornet_tf.corpus.corpus_folder import CorpusFolder
    from anchornet_tf.corpus.listing import list_images

    folder, wrong = CorpusFolder(str(config.output)), []
    count = len(list_images(config.images, config.shard_size).shards)
    latest = max(int(_LATEST * count), 1)
    moments = sorted(chosen.sample(range(latest), min(flags.FLAGS.kills, latest)))
    for moment in moments:
        process = subprocess.Popen(
            _command(config, flags.FLAGS.workers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            while len(folder.finished()) < moment and process.poll() is None:
                time.sleep(_LOOK_EVERY)
            time.sleep(chosen.uniform(0, _AFTER_A_SHARD))
            memory = usage(process.pid).resident
        except BaseException:
            # A session of its own does not hear the Ctrl-C that stops us.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        if process.poll() is not None:
            wrong.append(f"a run ended by itself, with exit code {process.returncode}")
            continue
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        end = time.monotonic() + _TO_END
        while of_session(process.pid) and time.monotonic() < end:
            time.sleep(_LOOK_EVERY)
        alive = of_session(process.pid)
        wrong += [f"{len(alive)} processes lived on"] if alive else []
        halves = [path for path in pathlib.Path(folder.path).rglob(".*") if path.is_file()]
        print(
            f"Killed with {len(folder.finished())} of {count} shards written, {len(halves)} "
            f"half-written, {memory / 1e9:.2f} GB in use",
            flush=True,
        )
    return wrong


def _to_the_end(about: str, config: DescribeConfig, workers: int) -> None:
    begun = time.monotonic()
    process = subprocess.Popen(
        _command(config, workers), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with watched(process) as seen:
        output, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(errors[-2000:])
    # The model is there after a tenth of the time.
    looks = [seen[int(share / 10 * (len(seen) - 1))].resident / 1e9 for share in range(1, 10)]
    said = next(line for line in output.splitlines() if "images described" in line)
    print(
        f"{about}, {workers} workers: {said}; {time.monotonic() - begun:.0f} s. "
        f"Memory from 10 to 90 % of the time, GB: {' '.join(f'{look:.2f}' for look in looks)}; "
        f"at most {max(each.resident for each in seen) / 1e9:.2f}",
        flush=True,
    )


if __name__ == "__main__":
    _CONFIG = config_flags.define(DescribeConfig)
    flags.DEFINE_integer("workers", 2, "Processes of the runs that are killed.", 1)
    flags.DEFINE_integer("kills", 3, "How often.", 0)
    flags.DEFINE_float("broken", 0.05, "Share of the images that are broken.", 0, 1)
    flags.DEFINE_integer("seed", 0, "Chooses moments and images.", 0)
    program.run(main)
