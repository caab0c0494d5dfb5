"""The start of programs: nothing on the standard error but what matters."""

import os
import subprocess
import sys

import pytest

from anchornet_tf.command_line import start
from tests.repository.tree import ROOT

_PROGRAM = """
import logging, os, sys
from absl import flags, logging
from anchornet_tf.command_line import program

def main(argv):
    import tensorflow as tf
    import tensorflow_datasets
    import keras
    taps = tf.zeros((4, 8, 8, 4), tf.float16)
    kernel = tf.zeros((3, 3, 4, 8))
    step = tf.function(lambda x: tf.nn.conv2d(tf.cast(tf.concat([x[:1], x[1:]], 0), "float32"),
                                              kernel, 1, "SAME"))
    step(taps)
    tf.function(step.python_function, jit_compile=True)(taps)
    logging.info("a note of a library")
    {body}

program.run(main)
"""
_CLEARED = ("TF_CPP_MIN_LOG_LEVEL", "TF_ENABLE_ONEDNN_OPTS", "CUDA_VISIBLE_DEVICES", "TF_CONFIG")


def _run(body: str, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in _CLEARED}
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(body=body)],
        cwd=ROOT,
        env={**environment, **variables},
        capture_output=True,
        text=True,
    )


def test_a_program_starts_without_a_word():
    result = _run("print(os.environ['TF_ENABLE_ONEDNN_OPTS'])")
    assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")


def test_what_matters_is_still_said():
    body = "logging.warning('beware'); os.write(2, b'E0000 00:00 a.cc:1] out of memory\\n')"
    result = _run(body)
    lines = result.stderr.splitlines()
    assert result.returncode == 0 and len(lines) == 2
    assert lines[0].endswith("] beware") and lines[1].endswith("out of memory")


def test_what_the_user_has_set_wins():
    result = _run("print(os.environ['TF_ENABLE_ONEDNN_OPTS'])", TF_ENABLE_ONEDNN_OPTS="0")
    assert (result.stdout, result.stderr) == ("0\n", "")
    assert "I0000" in _run("pass", TF_CPP_MIN_LOG_LEVEL="0").stderr


def test_notes_are_dropped_and_the_rest_is_passed_on(capfd):
    with start.without_notes():
        os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called are")
        os.write(2, b" written to STDERR\nI0000 00:00:17.4 7 port.cc:153] oneDNN is on.\n")
        os.write(2, b"E0000 00:00:17.4 7 loader.cc:1] cannot load plugin\n")
        os.write(2, b"half a")
        os.write(2, b" line \xff\n")
    os.write(2, b"afterwards\n")
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "E0000 00:00:17.4 7 loader.cc:1] cannot load plugin"
    assert lines[1].startswith("half a line") and lines[2:] == ["afterwards"]


def test_notes_are_passed_on_when_the_block_fails(capfd):
    with pytest.raises(ZeroDivisionError), start.without_notes():
        os.write(2, b"said before\n")
        1 / 0  # noqa: B018
    assert capfd.readouterr().err == "said before\n"


@pytest.mark.parametrize("has_gpu", [False, True])
def test_a_gpu_that_fails_is_reported_where_there_is_one(has_gpu, monkeypatch, capfd):
    monkeypatch.setattr(start, "_has_gpu", lambda: has_gpu)
    with start.without_notes():
        os.write(2, b"E0000 00:00:17.4 7 cuda_platform.cc:52] failed call to cuInit: UNKNOWN\n")
    assert ("cuInit" in capfd.readouterr().err) == has_gpu
