"""Longer work: one job at a time, told step by step, and stopped when asked."""

import asyncio
import collections
import concurrent.futures
import itertools
import json
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from typing import NamedTuple

from anchornet_tf.studio.refusals import Refusal, expected
from anchornet_tf.studio.security import FAILED

MOST_WAITING = 8
_MOST_KEPT = 32
_MOST_KEPT_BYTES = 128 * 2**20
_HEARTBEAT_SECONDS = 15.0
_LAST = ("done", "failed", "cancelled")


class Event(NamedTuple):
    """Something that happened.

    Attributes:
        kind: str: "progress", "result", "done", "failed" or "cancelled".
        data: str, JSON.
    """

    kind: str
    data: str


# Work is an iterator over results. What it returns is added to the event `done`.
Work = Callable[["Job"], Iterator[dict]]


class Job:
    """One job, with all that happened so far.

    Args:
        identifier: str.
        kind: str.
        total: int, how many results there will be.
        work: What to do.

    Attributes:
        pictures: bytes of pictures by name, which the work adds.
    """

    def __init__(self, identifier: str, kind: str, total: int, work: Work):
        self.id, self.kind, self.total = identifier, kind, total
        self.pictures: dict[str, bytes] = {}
        self._work = work
        self._events: list[Event] = []
        self._bytes = 0
        self._lock = threading.Lock()
        self._listeners: set[Callable[[], None]] = set()

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will happen."""
        return bool(self._events) and self._events[-1].kind in _LAST

    @property
    def num_bytes(self) -> int:
        """The memory of its events and pictures."""
        return self._bytes + sum(map(len, list(self.pictures.values())))

    def add(self, kind: str, data: dict) -> bool:
        """Adds an event, unless the job is finished; returns whether it did."""
        event = Event(kind, json.dumps(data, allow_nan=False))
        with self._lock:
            if self.is_finished:
                return False
            self._events.append(event)
            self._bytes += len(event.data)
            listeners = list(self._listeners)
        for listener in listeners:
            listener()
        return True

    def cancel(self) -> None:
        """Ends the job; the work stops at its next step."""
        self.add("cancelled", {})

    def run(self) -> None:
        """Does the work."""
        start = time.monotonic()
        steps = self._work(self)
        self.add("progress", {"done": 0, "total": self.total, "seconds_left": None})
        try:
            for done in itertools.count(1):
                if self.is_finished:
                    return
                try:
                    result = next(steps)
                except StopIteration as stop:
                    seconds = round(time.monotonic() - start, 3)
                    self.add("done", {"seconds": seconds, **(stop.value or {})})
                    return
                self.add("result", result)
                left = (time.monotonic() - start) / done * max(self.total - done, 0)
                progress = {"done": done, "total": self.total, "seconds_left": round(left, 2)}
                self.add("progress", progress)
        except Refusal as refusal:
            self.add("failed", {"error": str(refusal)})
        except concurrent.futures.CancelledError:
            self.cancel()
        except ImportError as error:
            self.add("failed", {"error": " ".join(str(error).split())})
        except Exception:
            traceback.print_exc(file=sys.stderr)
            self.add("failed", {"error": FAILED})
        finally:
            # Whatever a generator holds is let go, also where the job was cancelled.
            if hasattr(steps, "close"):
                steps.close()

    async def stream(self, after: int = 0) -> AsyncIterator[tuple[int, Event] | None]:
        """Yields events with their numbers from 1, and None now and then while nothing happens.

        Args:
            after: int, the number of the last event that is already known.
        """
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()

        def listener():
            # The loop of a client that left may be closed.
            if not loop.is_closed():
                loop.call_soon_threadsafe(changed.set)

        with self._lock:
            self._listeners.add(listener)
        try:
            while True:
                changed.clear()
                finished = self.is_finished
                events = self._events[after:]
                for event in events:
                    after += 1
                    yield after, event
                if finished and after >= len(self._events):
                    return
                if events:
                    continue
                try:
                    await asyncio.wait_for(changed.wait(), _HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield None
        finally:
            with self._lock:
                self._listeners.discard(listener)


class Jobs:
    """The jobs that wait, the one that runs and the last ones that are finished."""

    def __init__(self):
        self._jobs: collections.OrderedDict[str, Job] = collections.OrderedDict()
        self._waiting: collections.deque[Job] = collections.deque()
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="studio-jobs", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, kind: str, total: int, work: Work) -> Job:
        """Adds a job at the end of the queue.

        Args:
            kind: str, what it does.
            total: int, how many results there will be.
            work: What to do.

        Raises:
            Refusal: If too many wait.
        """
        with self._changed:
            self._waiting = collections.deque(job for job in self._waiting if not job.is_finished)
            if len(self._waiting) >= MOST_WAITING or self._closed:
                raise expected(f"at most {MOST_WAITING} jobs that wait", "one more", 429)
            job = Job(f"j{next(self._numbers)}", kind, total, work)
            self._jobs[job.id] = job
            self._waiting.append(job)
            self._forget()
            self._changed.notify_all()
        return job

    def get(self, identifier: str) -> Job:
        """Returns a job.

        Raises:
            Refusal: If there is none, or no longer.
        """
        job = self._jobs.get(identifier)
        if job is None:
            raise expected("the id of a job, one of the last", identifier, 404)
        return job

    def close(self) -> None:
        """Cancels all jobs and ends the thread."""
        with self._changed:
            self._closed = True
            jobs = list(self._jobs.values())
            self._changed.notify_all()
        for job in jobs:
            job.cancel()

    def _forget(self) -> None:
        """Forgets finished jobs, the oldest first, where they are too many or too large."""
        finished = [job for job in self._jobs.values() if job.is_finished]
        total = sum(job.num_bytes for job in finished)
        while finished and (len(finished) > _MOST_KEPT or total > _MOST_KEPT_BYTES):
            oldest = finished.pop(0)
            total -= oldest.num_bytes
            del self._jobs[oldest.id]

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                job = self._waiting.popleft()
            if not job.is_finished:
                job.run()
            del job
