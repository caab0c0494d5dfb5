"""Runs pipelines so that they end as programs without Beam do.

Beam turns whatever is raised in a worker into a RuntimeError that holds a traceback as text: Ctrl-C
and a full disk too.
"""

import contextlib
import dataclasses
import logging
import os
import pathlib
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import ClassVar

from anchornet_tf.command_line.program import message_of
from anchornet_tf.corpus.process_usage import descendants
from anchornet_tf.trunks.pretrained import WeightsUnavailable

_OPEN, _CLOSE = "<mendable>", "</mendable>"
_WORKER = b"apache_beam.runners.worker.sdk_worker_main"
_TO_END, _LOOK_EVERY = 30.0, 0.2  # Seconds.
_MENDABLE = (OSError, ValueError, ImportError, WeightsUnavailable)
# What Beam sets for the workers that it starts as processes of this machine.
_GIVEN_TO_WORKERS = "CONTROL_API_SERVICE_DESCRIPTOR"


def finish(pipeline) -> None:
    """Runs a pipeline to its end. No process that it started lives on.

    Args:
        pipeline: Of Beam.

    Raises:
        OSError: With the message of what a worker raised within `reporting`.
        KeyboardInterrupt: If a signal came meanwhile.
    """
    _Stopped.forget()
    with _noted_signals() as noted:
        try:
            pipeline.run().wait_until_finish()
        except Exception as error:
            for handler, number in noted:
                handler(number, None)
            found = re.findall(f"{_OPEN}(.*?){_CLOSE}", str(error), re.DOTALL)
            if found:
                raise OSError(found[-1]) from error
            raise


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Lets `finish` say what went wrong in a worker, where that is something the user can mend."""
    is_process = _GIVEN_TO_WORKERS in os.environ
    if is_process:
        # Ctrl-C reaches all processes of a terminal; that which was called answers for all.
        sys.excepthook = _without_interrupts
    try:
        yield
    except _MENDABLE as error:
        if is_process:
            # Beam's worker would print the traceback of what the launcher says in one line.
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        raise RuntimeError(f"{_OPEN}{message_of(error)}{_CLOSE}") from error


@dataclasses.dataclass
class _Stopped:
    """What a run that was stopped leaves in force until the next one of the same process."""

    last: ClassVar["_Stopped | None"] = None

    hook: Callable
    level: int
    over: threading.Event = dataclasses.field(default_factory=threading.Event)

    @classmethod
    def forget(cls) -> None:
        """Lets workers live and threads complain again."""
        if cls.last is not None:
            cls.last.over.set()
            threading.excepthook = cls.last.hook
            logging.getLogger("apache_beam").setLevel(cls.last.level)
            cls.last = None


@contextlib.contextmanager
def _noted_signals() -> Iterator[list]:
    """Yields a list of the handlers that were called, with the signals they were called for."""
    noted: list = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    handlers, hook = {}, threading.excepthook
    log = logging.getLogger("apache_beam")
    stopped = _Stopped(hook, log.level)

    def unless_stopped(arguments):
        # Beam's threads complain of the workers that the same signal has ended.
        if not noted:
            hook(arguments)

    threading.excepthook = unless_stopped
    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if callable(handler):
            handlers[number] = handler

    def note(number, frame):
        # Workers that meet the same signal report it as a failure of theirs.
        log.setLevel(logging.CRITICAL + 1)
        _Stopped.last = stopped
        threading.Thread(target=_end_workers, args=(stopped.over,), daemon=True).start()
        noted.append((handlers[number], number))
        handlers[number](number, frame)

    for number in handlers:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        threading.excepthook = hook if not noted else unless_stopped
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _without_interrupts(kind, error, trace) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def _end_workers(over: threading.Event) -> None:
    """Kills Beam's workers for a while: Beam waits for those that it is just starting, forever."""
    end = time.monotonic() + _TO_END
    while time.monotonic() < end and not over.is_set():
        for each in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                ours = _WORKER in pathlib.Path(f"/proc/{each}/cmdline").read_bytes()
                if ours and not over.is_set():
                    os.kill(each, signal.SIGKILL)
        over.wait(_LOOK_EVERY)
