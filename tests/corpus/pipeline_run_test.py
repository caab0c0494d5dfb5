"""Pipelines end as programs without Beam do: by signals, and by what the user can mend."""

import errno
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import apache_beam as beam
import pytest

from anchornet_tf.corpus import beam_options, pipeline_run
from anchornet_tf.corpus.pipeline_run import finish, reporting
from anchornet_tf.trunks.pretrained import WeightsUnavailable


class _Raise(beam.DoFn):
    def __init__(self, error):
        self._error = error

    def process(self, element):
        with reporting():
            raise self._error
        yield element


class _Signal(beam.DoFn):
    def process(self, element):
        signal.raise_signal(signal.SIGINT)
        yield element


def _pipeline(work):
    pipeline = beam.Pipeline(options=beam_options.pipeline_options([], 1))
    _ = pipeline | beam.Create([1]) | beam.ParDo(work)
    return pipeline


@pytest.mark.parametrize(
    "error, message",
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a/b"), "device. Received: a/b"),
        (ValueError("Expected\nthat. Received: this"), "Expected\nthat. Received: this"),
        (WeightsUnavailable("Expected weights. Received: none"), "weights. Received: none"),
    ],
)
def test_what_a_worker_says_is_what_the_program_says(error, message):
    with pytest.raises(OSError) as caught:
        finish(_pipeline(_Raise(error)))
    assert str(caught.value).endswith(message)
    assert "Traceback" not in str(caught.value)


def test_a_mistake_in_the_code_keeps_its_traceback():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        finish(_pipeline(_Raise(ZeroDivisionError())))


def test_a_signal_in_a_worker_ends_the_program():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        finish(_pipeline(_Signal()))
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_after_one_that_was_stopped_keeps_its_workers(monkeypatch):
    """In a notebook, the process goes on; what ended the workers of one run must end, too."""
    finish(_pipeline(beam.Map(abs).fn))
    level, hook = logging.getLogger("apache_beam").level, threading.excepthook
    with pytest.raises(KeyboardInterrupt):
        finish(_pipeline(_Signal()))
    finish(_pipeline(beam.Map(abs).fn))
    assert logging.getLogger("apache_beam").level == level and threading.excepthook is hook
    code = "import time; time.sleep(60)"
    monkeypatch.setattr(pipeline_run, "_WORKER", code.encode())
    worker = subprocess.Popen([sys.executable, "-c", code])
    try:
        time.sleep(3 * pipeline_run._LOOK_EVERY)
        assert worker.poll() is None
    finally:
        worker.kill()
        worker.wait()
