"""What a program stands on fails: the disk, its rights, the clock, files that others damaged."""

import contextlib
import ctypes
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator

from tests.chaos import launcher, trees
from tests.chaos.campaign import Campaign, Row
from tests.chaos.cases import Case

_NOBODY = 65534
_DAY = 86400
_MEGABYTE = 2**20


def two_at_once(campaign: Campaign, case: Case) -> str:
    """Starts a program twice in one folder: one works while the other waits, or both are right."""
    place = campaign.place(case.name)
    runs = [campaign.start(case, place) for _ in range(2)]
    ends = [run.wait() for run in runs]
    for run, ended in zip(runs, ends, strict=True):
        campaign.check_stopped(case, run, ended)
        if ended.code and not (case.already and case.already in ended.text):
            campaign.found(f"{case.name}, two at once: exit code {ended.code}: {ended.text[-600:]}")
    campaign.compare(case, place, "two at once")
    return "one waited" if any("waiting until" in ended.text for ended in ends) else "both worked"


def full_disk(campaign: Campaign, case: Case) -> str:
    """Runs a program on a disk that is too small, and then on one that was made larger."""
    whole = campaign.whole(case)
    used = sum(path.stat().st_size for path in whole.rglob("*") if path.is_file())
    size = int(campaign.random.uniform(0.05, 0.9) * used) // 4096 * 4096 + 4096
    with _disk(campaign.place(case.name), f"size={size}") as place:
        ended = campaign.start(case, place).wait()
        _check_refusal(campaign, case, ended, f"a disk of {size:,} bytes", may_succeed=True)
        _mount("-o", f"remount,size={4 * used + 64 * _MEGABYTE}", str(place))
        campaign.finish(case, place, f"after a disk of {size:,} bytes")
    return "said so, then the same bytes" if ended.code else "had room enough"


def read_only(campaign: Campaign, case: Case) -> str:
    """Runs a program in a folder that cannot be written to."""
    with _disk(campaign.place(case.name), "size=1m") as place:
        (place / "tmp").mkdir()
        _mount("-o", "remount,ro", str(place))
        ended = campaign.start(case, place).wait()
        _check_refusal(campaign, case, ended, "a folder that is read-only")
    return "said so"


def no_permission(campaign: Campaign, case: Case) -> str:
    """Runs a program as a user who may not write in the folder."""
    place = campaign.place(case.name)
    (place / "tmp").mkdir()
    os.chown(place, _NOBODY, _NOBODY)
    ended = campaign.start(case, place, inside=_drop_rights).wait()
    _check_refusal(campaign, case, ended, "no permission")
    return "said so"


def clock_back(campaign: Campaign, case: Case) -> str:
    """Stops a program, sets the clock back by a day and runs the program again."""
    place = campaign.place(case.name)
    half = max(1, campaign.undisturbed(case).changes // 2)
    campaign.start(case, place, strike=(half, signal.SIGKILL)).wait()

    def set_back():
        now, started = time.time(), time.monotonic()
        time.time = lambda: now - _DAY + time.monotonic() - started

    ended = campaign.start(case, place, inside=set_back).wait()
    if ended.code and not (case.already and case.already in ended.text):
        campaign.found(f"{case.name}, clock set back: {ended.text[-600:]}")
    campaign.compare(case, place, "clock set back")
    return "the same bytes"


def cut_cache(campaign: Campaign, case: Case) -> str:
    """Cuts a file of the cache in half and runs a program that needs it."""
    whole, place = campaign.whole(case), campaign.place(case.name)
    if not (whole / "cache").is_dir():
        return "has no cache"
    shutil.copytree(whole / "cache", place / "cache")
    found = sorted(path for path in (place / "cache").rglob("*") if path.is_file())
    found = [path for path in found if path.stat().st_size > 1]
    if not found:
        return "has no cache"
    chosen = campaign.random.choice(found)
    trees.halve(chosen)
    campaign.finish(case, place, f"{chosen.relative_to(place)} cut in half")
    return "the same bytes"


def flipped_bit(campaign: Campaign, case: Case) -> str:
    """Stops a training, flips a bit of its checkpoint and lets it go on."""
    place = campaign.place(case.name)
    run = campaign.start(case, place)
    checkpoint, previous = (place / "out" / f"checkpoint{name}.npz" for name in ("", ".previous"))
    end = time.monotonic() + 200
    while not previous.exists() and time.monotonic() < end:
        time.sleep(0.002)
    run.signal(signal.SIGKILL)
    run.wait()
    if not checkpoint.exists():
        # It was killed while the last one became the one before.
        shutil.copy(previous, checkpoint)
    at = campaign.random.random()
    trees.flip_bit(checkpoint, at)
    ended = campaign.start(case, place).wait()
    if ended.code:
        campaign.found(f"{case.name}, bit flipped at {at:.4f}: {ended.text[-600:]}")
    campaign.compare(case, place, f"bit flipped at {at:.4f}")
    return "the same bytes" + (", from the one before" if "one before" in ended.text else "")


def many_files(campaign: Campaign, case: Case) -> str:
    """Runs a program in a process that has 1,100 files open."""

    def open_many():
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
        for _ in range(1100):
            os.open(os.devnull, os.O_RDONLY)

    place = campaign.place(case.name)
    ended = campaign.start(case, place, inside=open_many).wait()
    if ended.code:
        campaign.found(f"{case.name}, 1,100 open files: {ended.text[-600:]}")
    campaign.compare(case, place, "1,100 open files")
    return "the same bytes"


def no_files_left(campaign: Campaign, case: Case) -> str:
    """Runs a program that may open few further files, and then one that may open more."""
    allowed = campaign.random.randint(24, 60)

    def limit():
        held = len(os.listdir("/proc/self/fd"))
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (held + allowed, most))

    place = campaign.place(case.name)
    ended = campaign.start(case, place, inside=limit).wait()
    _check_refusal(campaign, case, ended, f"{allowed} files", may_succeed=True)
    campaign.finish(case, place, f"after {allowed} files")
    return "said so, then the same bytes" if ended.code else "needed no more"


FAULTS = {
    "two in one folder": two_at_once,
    "full disk": full_disk,
    "read-only folder": read_only,
    "no permission": no_permission,
    "clock set back": clock_back,
    "cache file cut in half": cut_cache,
    "bit flipped in checkpoint": flipped_bit,
    "1,100 open files": many_files,
    "few files left to open": no_files_left,
}
# Those that only some programs can meet, and those that need the rights of root.
OF_TRAINING = ("bit flipped in checkpoint",)
OF_ROOT = ("full disk", "read-only folder", "no permission")


def apply(campaign: Campaign, fault: str, case: Case) -> None:
    """Lets a program meet a fault, and adds a line to the table."""
    campaign.undisturbed(case)
    began, known = time.monotonic(), len(campaign.findings)
    if fault in OF_ROOT and not _can_mount(campaign):
        campaign.note(Row(fault, case.name, 0, "left out: needs the rights of root", 0.0))
        return
    outcome = FAULTS[fault](campaign, case)
    if len(campaign.findings) > known:
        outcome = "NOT AS IT SHOULD BE"
    campaign.note(Row(fault, case.name, 1, outcome, time.monotonic() - began))


def _drop_rights() -> None:
    """Takes from this process what lets root write everywhere (capset, with nothing in it)."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "Expected to give up rights")


def _check_refusal(campaign, case, ended: launcher.Ended, about: str, may_succeed=False) -> None:
    """Notes an end that is not one line which says what was expected and received."""
    if ended.code == 0 and may_succeed:
        return
    lines = [line for line in ended.text.splitlines() if line.startswith("Error: ")]
    is_right = ended.code == 1 and len(lines) == 1 and "Received: " in lines[0]
    if not is_right or "Traceback" in ended.text:
        campaign.found(f"{case.name}, {about}: exit code {ended.code}: {ended.text[-900:]}")


@contextlib.contextmanager
def _disk(place: pathlib.Path, options: str) -> Iterator[pathlib.Path]:
    """Yields a folder that is a small disk of its own."""
    _mount("-t", "tmpfs", "-o", options, "tmpfs", str(place))
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def _can_mount(campaign: Campaign) -> bool:
    if os.geteuid() or shutil.which("mount") is None:
        return False
    try:
        with _disk(campaign.place("disk"), "size=1m"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False
