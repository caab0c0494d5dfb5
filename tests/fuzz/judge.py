"""Whether an input was taken or refused as it should be, and what to say where it was not."""

import contextlib
import dataclasses
import hashlib
import pathlib
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator

import numpy as np

# Of this process's own time: other programs on the machine are not an input's fault.
SLOWEST = 10.0
# Of all time, for what waits without doing anything.
_LONGEST = 60.0


class Hung(BaseException):
    """An input took longer than it may."""


@dataclasses.dataclass
class Judge:
    """Counts what becomes of inputs.

    Attributes:
        target: What reads them.
        keep: Folder for inputs that something was found with.
        refusals: The exceptions that stand for a refusal.
        names_file: bool. Whether a refusal has to name the file.
        taken: int. Inputs that were read.
        refused: int. Inputs that were refused in one line.
        findings: What should not be, once per kind and place.
    """

    target: str
    keep: pathlib.Path
    refusals: tuple[type[BaseException], ...] = (ValueError, OSError)
    names_file: bool = True
    taken: int = 0
    refused: int = 0
    findings: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def count(self) -> int:
        """Inputs in all."""
        return self.taken + self.refused

    def hear(self, read: Callable[[], object], name: str, content) -> None:
        """Reads an input.

        Args:
            read: Reads it.
            name: Of its file.
            content: What is kept where something is found.
        """
        try:
            with _patience():
                read()
            self.taken += 1
        except self.refusals as error:
            self.refused += 1
            text = str(error)
            if "\n" in text.strip():
                self._find("a refusal of several lines", error, content)
            elif "Received: " not in text:
                self._find("a refusal without `Received: `", error, content)
            elif self.names_file and name not in text:
                self._find("a refusal that does not name the file", error, content)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self.refused += 1
            self._find(type(error).__name__, error, content)

    def _find(self, what: str, error: BaseException, content) -> None:
        places = traceback.extract_tb(error.__traceback__)
        ours = [each for each in places if "/anchornet_tf/" in each.filename] or places
        where = f"{pathlib.Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
        key = f"{self.target}: {what} at {where}"
        if key in self.findings:
            return
        raw = content if isinstance(content, bytes) else repr(content).encode()
        path = self.keep / f"{self.target}-{hashlib.sha256(raw).hexdigest()[:12]}"
        path.write_bytes(raw)
        self.findings[key] = f"{type(error).__name__}: {str(error)[:300]} (input: {path})"
        print(f"  FOUND  {key}: {self.findings[key]}", flush=True)


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    began, worked = time.monotonic(), time.process_time()

    def stop(*_):
        passed, own = time.monotonic() - began, time.process_time() - worked
        if own >= SLOWEST or passed >= _LONGEST:
            raise Hung(f"longer than {passed:.0f} s, {own:.0f} s of them its own")
        signal.setitimer(signal.ITIMER_REAL, max(SLOWEST - own, 0.1))

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SLOWEST)
    try:
        # Numbers out of range are the business of the checks, not of warnings.
        with np.errstate(all="ignore"):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peak_megabytes() -> float:
    """Returns the most memory that this process has held."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
