"""Fetches an npm package as it was published, with a bar that shows how far it is."""

import os
import pathlib
import shutil
import subprocess
import time

from tqdm import tqdm

_TIMEOUT_SECONDS = 600.0


def pack(package: str, folder: pathlib.Path, size: int, what: str) -> pathlib.Path:
    """Downloads the archive of a package.

    Args:
        package: Name and version, such as `left-pad@1.3.0`.
        folder: Where the archive and npm's own files go; it is for this call alone.
        size: Bytes of the archive, as far as known, for the bar.
        what: What the bar says.

    Returns:
        Path of the `.tgz` file. Whoever asked for it checks what is in it.

    Raises:
        OSError: If npm is missing, fails or takes too long.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise OSError("npm is not installed")
    # npm says nothing while it downloads; a cache of its own lets us watch the bytes arrive.
    cache = folder / "npm-cache"
    command = [npm, "pack", package, "--pack-destination", str(folder), "--cache", str(cache)]
    command += ["--silent", "--no-update-notifier", "--fetch-retries=1", "--fetch-timeout=60000"]
    with open(folder / "npm.log", "w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        try:
            with progress(what, size) as bar:
                while process.poll() is None:
                    if time.monotonic() > deadline:
                        raise OSError(f"npm pack took longer than {_TIMEOUT_SECONDS:.0f} s")
                    time.sleep(0.2)
                    bar.update(min(_bytes_below(cache), size) - bar.n)
                if process.returncode == 0:
                    bar.update(size - bar.n)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        archives = sorted(folder.glob("*.tgz"))
        if process.returncode != 0 or not archives:
            log.seek(0)
            message = " ".join(log.read().split())[-300:] or "no network?"
            raise OSError(f"npm pack ended with code {process.returncode}: {message}")
    return archives[0]


def progress(what: str, total: int | None) -> tqdm:
    """Returns a bar of bytes that arrive; `total` is None where nobody said how many."""
    return tqdm(desc=what, total=total, unit="B", unit_scale=True, unit_divisor=1024)


def _bytes_below(folder: pathlib.Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.path.getsize(os.path.join(root, name))
            except OSError:  # npm renames its temporary files while we look.
                continue
    return total
